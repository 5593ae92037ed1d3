"""The store: appends that are durable when they return, reads that see them, and subscribers that hear of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import cast

import msgspec

from inspan.model.errors import StoreError
from inspan.model.events import Envelope
from inspan.model.views import StoreReport

from .check import check_store, rebuild_database
from .faults import store_faults
from .lock import LogLock
from .projections import Projector, are_projections_current, load_seats
from .reading import LogReader
from .records import Append
from .schema import (
    BUSY_TIMEOUT_S,
    check_version,
    connect_reader,
    connect_writer,
    lay_out_wal,
    migrate,
)
from .writer import Job, Outcome, Writer, prepare

__all__ = ["Store", "Subscriber", "open_store"]

_log = logging.getLogger(__name__)

Subscriber = Callable[[tuple[Envelope, ...]], None]
"""Hears of every event once it is durable, on the loop's thread; it must return at once."""

_Waiter = asyncio.Future[tuple[Envelope, ...]]


class Store(LogReader):
    """An open log. Belongs to the loop that opened it.

    Attributes:
        path: The file.
        status: `ok`, or the code of what last kept the log from being written; a write that succeeds resets it.
    """

    def __init__(
        self, path: Path, reader: sqlite3.Connection, loop: asyncio.AbstractEventLoop, lock: LogLock | None
    ) -> None:
        """Is called by `open`."""
        super().__init__(reader, path)
        self.status = "ok"
        self._loop = loop
        self._lock = lock
        self._writer: Writer | None = None
        self._subscribers: dict[object, Subscriber] = {}
        self._is_open = True

    @classmethod
    async def open(
        cls, path: Path, *, read_only: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S
    ) -> Store:
        """Opens the log at `path`, for this process alone unless `read_only`.

        A missing file is made (0600, in a 0700 folder), an older one migrated.

        Args:
            path: The file.
            read_only: Open it beside its writer, or without one; nothing is made or changed.
            busy_timeout_s: How long a write waits for a lock that another process has on the file.

        Raises:
            StoreError: `store_locked` where another process writes it (`detail["pid"]`), `store_read_only`,
                `store_full`, `store_newer`, `store_corrupt`, or `store_failed` where there is none to read.
        """
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(_open, path, loop, read_only=read_only, busy_timeout_s=busy_timeout_s)

    async def append(self, request: Append) -> tuple[Envelope, ...]:
        """Makes all of `request` durable, or nothing of it; several requests may share a commit.

        Positions follow the order of the calls. Subscribers have heard of the events when this returns.
        If the caller is cancelled, the request is written all the same.

        Returns:
            The events in the log, in order.

        Raises:
            StoreError: `store_full`, `store_locked`, `store_read_only` or `store_corrupt` where the file
                cannot be written; `store_failed` where this request cannot. Nothing was changed.
        """
        if not self._is_open:
            raise StoreError("The log is closed.", code="store_failed", hint="Open it again.")
        if self._writer is None:
            raise StoreError(
                f"The log {self.path} was opened for reading.",
                code="store_read_only",
                hint="Open it for writing.",
            )
        if request == _NOTHING:
            return ()
        waiter: _Waiter = self._loop.create_future()
        self._writer.submit(prepare(request, waiter))
        return await waiter

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Calls `callback` with the events of every commit from now on, in order of positions.

        It is called on the loop's thread, after they are durable and before their appenders go on. What it
        raises is noted and does not reach anybody else.

        Returns:
            A function that ends the subscription; calling it again does nothing.
        """
        key = object()
        self._subscribers[key] = callback
        return lambda: self._subscribers.pop(key, None) and None

    async def check(self) -> StoreReport:
        """As `check_store`, on this log, while it is being written."""
        return await check_store(self.path)

    async def rebuild(self) -> StoreReport:
        """Builds the projections anew from the events, between two commits.

        Raises:
            StoreError: As `rebuild_store`.
        """
        if self._writer is None or not self._is_open:
            raise StoreError("The log is not open for writing.", code="store_read_only")
        reports: list[StoreReport] = []

        def rebuild(database: sqlite3.Connection) -> Projector:
            projector, report = rebuild_database(database)
            reports.append(report)
            return projector

        waiter: _Waiter = self._loop.create_future()
        self._writer.submit(Job(run=rebuild, token=waiter))
        await waiter
        return reports[0]

    async def close(self) -> None:
        """Writes what was asked for, then closes the file and gives the lock up. Twice is safe."""
        if not self._is_open:
            return
        self._is_open = False
        # The last connection to close folds the write-ahead log into the file, and only a writing one can.
        self._reader.close()
        if self._writer is not None:
            await asyncio.to_thread(self._writer.stop)
        if self._lock is not None:
            self._lock.close()

    def start_writing(self, writer: Writer) -> None:
        """Is called by `open`, once."""
        self._writer = writer
        writer.start()

    def hear(self, outcomes: Sequence[Outcome]) -> None:
        """Is called by the writer, on its thread."""
        # A loop that is closed has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, outcomes)

    def _settle(self, outcomes: Sequence[Outcome]) -> None:
        envelopes = tuple(envelope for outcome in outcomes for envelope in outcome.envelopes)
        if envelopes:
            self._tell(envelopes)
        for outcome in outcomes:
            if outcome.status is not None:
                self.status = outcome.status
            waiter = cast("_Waiter", outcome.token)
            if waiter.done():
                continue  # its appender was cancelled
            if outcome.error is None:
                waiter.set_result(outcome.envelopes)
            else:
                waiter.set_exception(outcome.error)

    def _tell(self, envelopes: tuple[Envelope, ...]) -> None:
        for callback in tuple(self._subscribers.values()):
            try:
                callback(envelopes)
            except Exception as error:  # noqa: BLE001 - one subscriber's fault must not cost another its events
                # Not its text or its frames: they may quote an event.
                _log.error("A subscriber to the log failed with %s.", type(error).__name__)


@contextlib.asynccontextmanager
async def open_store(
    path: Path, *, read_only: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S
) -> AsyncGenerator[Store]:
    """As `Store.open`, and closes it at the end of the block."""
    store = await Store.open(path, read_only=read_only, busy_timeout_s=busy_timeout_s)
    try:
        yield store
    finally:
        await store.close()


_NOTHING = Append()


def _open(path: Path, loop: asyncio.AbstractEventLoop, *, read_only: bool, busy_timeout_s: float) -> Store:
    with store_faults(path), contextlib.ExitStack() as opened:
        if read_only:
            reader = opened.enter_context(contextlib.closing(connect_reader(path)))
            check_version(reader)
            store = Store(path, reader, loop, None)
        else:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = opened.enter_context(contextlib.closing(LogLock(path)))
            database = opened.enter_context(
                contextlib.closing(connect_writer(path, busy_timeout_s=busy_timeout_s))
            )
            projector = _prepare_projections(database)
            lay_out_wal(path)
            reader = opened.enter_context(contextlib.closing(connect_reader(path)))
            store = Store(path, reader, loop, lock)
            store.start_writing(Writer(database, path, projector, store.hear))
        opened.pop_all()
    return store


def _prepare_projections(database: sqlite3.Connection) -> Projector:
    migrate(database)
    if not are_projections_current(database):
        return rebuild_database(database)[0]
    try:
        return Projector(database, load_seats(database))
    except msgspec.MsgspecError as error:
        raise StoreError(
            "The projections of the log do not have their shape.",
            code="store_corrupt",
            hint="Run `inspan store rebuild`.",
        ) from error
