"""Check and rebuild: is the log whole, and do its projections say what its events say?"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from inspan.model.errors import StoreError
from inspan.model.events import Envelope, LaunchRequested
from inspan.model.views import StoreReport

from .faults import fault_of, store_faults
from .lock import LogLock
from .projections import Projector, are_projections_current, sign_projections, wipe_projections
from .reading import draft_of, iterate_events
from .schema import (
    PROJECTION_TABLES,
    check_version,
    connect_reader,
    connect_writer,
    create_tables,
    migrate,
    missing_log,
)

__all__ = ["check_database", "check_store", "rebuild_database", "rebuild_store"]

_MAX_PROBLEMS = 50
_FLUSH_EVENTS = 5000
"""How many events are folded between two flushes, so that a rebuild's memory does not grow with the log."""


async def check_store(path: Path) -> StoreReport:
    """Reads the whole log, beside its writer or without one, and says what is wrong with it.

    Raises:
        StoreError: There is no log, or it cannot be opened.
    """
    return await asyncio.to_thread(_check, path)


async def rebuild_store(path: Path) -> StoreReport:
    """Builds the projections anew from the events; nobody else may have the log open for writing.

    Raises:
        StoreError: `store_locked` while a daemon serves it; `store_newer` or `store_corrupt` where an event
            cannot be read, and then the projections stay as they were.
    """
    return await asyncio.to_thread(_rebuild, path)


def check_database(database: sqlite3.Connection, path: Path) -> StoreReport:
    """`check_store` on an open connection, against one snapshot of the file."""
    problems: list[str] = []
    events = last_position = 0
    try:
        database.execute("BEGIN")
        if check_version(database) is None:
            return StoreReport(ok=True, events=0, last_position=0)
        for (line,) in database.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})"):
            if line != "ok":
                problems.append(f"integrity: {line}")
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            create_tables(copy)
            fold = _Fold(copy)
            is_complete = True
            for position, found in iterate_events(database):
                if position != last_position + 1:
                    problems.append(f"events: positions {last_position + 1} to {position - 1} are missing")
                events, last_position = events + 1, position
                try:
                    fold.take(found)
                except StoreError as error:
                    is_complete = False
                    problems.append(f"event {position}: {error.code}: {error.message}")
            fold.finish()
            if is_complete and are_projections_current(database):
                problems += _differences(database, copy)
            problems += _strays(database, fold.launches)
    except (sqlite3.Error, OSError, StoreError) as error:
        fault = fault_of(error, path)
        problems.append(f"{fault.code}: {fault.message}")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")
    return StoreReport(
        ok=not problems, events=events, last_position=last_position, problems=tuple(problems[:_MAX_PROBLEMS])
    )


def rebuild_database(database: sqlite3.Connection) -> tuple[Projector, StoreReport]:
    """Builds the projections anew, in one transaction; primary data is not touched.

    Returns:
        A projector that stands at the newest event, and what was done.

    Raises:
        StoreError: An event cannot be read or does not fit; the projections are as before.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        wipe_projections(database)
        fold = _Fold(database)
        events = last_position = 0
        for position, found in iterate_events(database):
            fold.take(found)
            events, last_position = events + 1, position
        fold.finish()
        sign_projections(database)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    report = StoreReport(ok=True, events=events, last_position=last_position, rebuilt=True)
    return fold.projector, report


class _Fold:
    """Folds a whole log into the projections of a database, and notes which launches there were."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.projector = Projector(database, {})
        self.launches: set[str] = set()
        self._unflushed = 0

    def take(self, found: Envelope | StoreError) -> None:
        if isinstance(found, StoreError):
            raise found
        if isinstance(found.event, LaunchRequested):
            self.launches.add(found.event.launch)
        try:
            self.projector.stage(found.position, draft_of(found))
        except ValueError as error:
            raise StoreError(
                f"The event at position {found.position} is one of a seat that was never added.",
                code="store_corrupt",
                hint="Restore a copy of the log.",
                detail={"position": found.position},
            ) from error
        self._unflushed += 1
        if self._unflushed >= _FLUSH_EVENTS:
            self.finish()

    def finish(self) -> None:
        self.projector.flush()
        self.projector.keep()
        self._unflushed = 0


def _differences(live: sqlite3.Connection, rebuilt: sqlite3.Connection) -> Iterator[str]:
    for table in PROJECTION_TABLES:
        statement = f"SELECT * FROM {table} ORDER BY 1"  # noqa: S608
        ours, theirs = live.execute(statement), rebuilt.execute(statement)
        while True:
            mine, wanted = ours.fetchone(), theirs.fetchone()
            if mine is None and wanted is None:
                break
            if mine != wanted:
                # Only the key: a row holds prompts.
                key = (wanted if mine is None else mine if wanted is None else min(mine, wanted, key=_key))[0]
                yield f"projections: {table} differs from the events, first at {key}"
                break


def _key(row: tuple[str, ...]) -> str:
    return row[0]


def _strays(database: sqlite3.Connection, launches: set[str]) -> Iterator[str]:
    for table in ("cursors", "outbox"):
        for (launch,) in database.execute(f"SELECT DISTINCT launch FROM {table} ORDER BY launch"):  # noqa: S608
            if launch not in launches:
                yield f"{table}: launch {launch} is in no event"


def _check(path: Path) -> StoreReport:
    with store_faults(path), closing(connect_reader(path)) as database:
        return check_database(database, path)


def _rebuild(path: Path) -> StoreReport:
    if not path.exists():
        raise missing_log(path)
    with store_faults(path), closing(LogLock(path)), closing(connect_writer(path)) as database:
        migrate(database)
        return rebuild_database(database)[1]
