"""The one writer: a thread that takes everything queued and makes it durable in one commit."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import msgspec

from inspan.model.errors import StoreError
from inspan.model.events import EVENT_VERSIONS, Envelope, EventDraft, event_type

from .faults import fault_of, is_fault_of_request
from .projections import Projector
from .reading import microseconds_of
from .records import Append, LaunchCursor
from .upcasters import encode_event

__all__ = ["Job", "Outcome", "Prepared", "Writer", "prepare"]

_GROUP_REQUESTS = 1024
_GROUP_BYTES = 8 * 1024 * 1024
"""How much goes into one commit; what is left waits for the next. Bounds the time that the first one waits."""

_INSERT_EVENT = (
    "INSERT INTO events (position, at, seat, launch, session, turn, source, rule, type, version, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_TYPE, _VERSION = 7, 8
"""Where they stand in a row, whose position is added last."""
# In place: a row that is replaced would leave its index, too, and come back to it.
_UPSERT_CURSOR = (
    "INSERT INTO cursors (launch, seat, offset, next_op, snapshot) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (launch) DO UPDATE SET "
    "seat = excluded.seat, offset = excluded.offset, next_op = excluded.next_op, snapshot = excluded.snapshot"
)
_INSERT_WRITE = "INSERT INTO outbox (launch, op, data, purpose, delivery, request) VALUES (?, ?, ?, ?, ?, ?)"


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """An `Append` whose events are encoded, each once; `token` finds the appender again."""

    append: Append
    drafts: tuple[EventDraft, ...]
    rows: tuple[tuple[Any, ...], ...]
    size_bytes: int
    token: object


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the writer does between commits, on its connection; it gives the projector to go on with."""

    run: Callable[[sqlite3.Connection], Projector]
    token: object


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a request.

    Attributes:
        token: The request's token.
        envelopes: Its events, in the log.
        error: Why it is not in the log.
        status: `ok`, a code of what keeps the log from being written, or `None` where it says neither.
    """

    token: object
    envelopes: tuple[Envelope, ...] = ()
    error: StoreError | None = None
    status: str | None = "ok"


class Writer:
    """Owns the writing connection and the projector, from `start` to `stop`, on a thread of its own.

    The queue is not bounded: every appender waits for its own request, so there are never more than appenders.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        path: Path,
        projector: Projector,
        report: Callable[[Sequence[Outcome]], None],
    ) -> None:
        """`report` is called on the writer's thread, once a commit or failure, in order of positions."""
        self._database = database
        self._path = path
        self._projector = projector
        self._report = report
        self._queue: SimpleQueue[Prepared | Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="inspan-store", daemon=True)
        self._position = int(database.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def submit(self, request: Prepared | Job) -> None:
        """Queues a request; positions follow the order of these calls."""
        self._queue.put(request)

    def stop(self) -> None:
        """Writes what is queued, then ends the thread and closes the connection. Blocks until then."""
        self._queue.put(None)
        self._thread.join()
        self._database.close()

    def _run(self) -> None:
        last: Prepared | Job | None
        while True:
            group, last = self._take()
            if group:
                self._report(self._write(group))
            if isinstance(last, Job):
                self._report([self._do(last)])
            elif last is None:
                return

    def _take(self) -> tuple[list[Prepared], Prepared | Job | None]:
        """Waits for a request and takes what else is queued, up to the first that is no append: the last one."""
        group: list[Prepared] = []
        size_bytes = 0
        following = self._queue.get()
        while isinstance(following, Prepared):
            group.append(following)
            size_bytes += following.size_bytes
            if len(group) >= _GROUP_REQUESTS or size_bytes >= _GROUP_BYTES:
                break
            try:
                following = self._queue.get_nowait()
            except Empty:
                break
        return group, following

    def _write(self, group: list[Prepared]) -> list[Outcome]:
        try:
            return self._commit(group)
        except Exception as error:  # noqa: BLE001 - whatever it is, its appenders must hear of it
            fault = fault_of(error, self._path)
            status = None if is_fault_of_request(error) else fault.code
            if len(group) == 1 or fault.code in _FAULTS_OF_ALL:
                # Each gets an error of its own: a raised one carries its raiser's frames.
                faults = (fault_of(error, self._path) for _ in group)
                return [
                    Outcome(token=one.token, error=own, status=status)
                    for one, own in zip(group, faults, strict=True)
                ]
        # One of them is at fault, or too large for what room there is. The others must not suffer.
        return [outcome for one in group for outcome in self._write([one])]

    def _commit(self, group: list[Prepared]) -> list[Outcome]:
        database, projector = self._database, self._projector
        _roll_back(database)
        database.execute("BEGIN IMMEDIATE")
        try:
            position = self._position
            rows: list[tuple[Any, ...]] = []
            cursors: dict[str, LaunchCursor | None] = {}
            outcomes: list[Outcome] = []
            for request in group:
                envelopes: list[Envelope] = []
                for draft, row in zip(request.drafts, request.rows, strict=True):
                    position += 1
                    rows.append((position, *row))
                    envelopes.append(_envelope(position, draft, row))
                    projector.stage(position, draft)
                self._write_outbox(request.append, cursors)
                outcomes.append(Outcome(token=request.token, envelopes=tuple(envelopes)))
            database.executemany(_INSERT_EVENT, rows)
            self._write_cursors(cursors)
            projector.flush()
            database.execute("COMMIT")
        except BaseException:
            projector.discard()
            _roll_back(database)
            raise
        projector.keep()
        self._position = position
        return outcomes

    def _write_outbox(self, append: Append, cursors: dict[str, LaunchCursor | None]) -> None:
        database = self._database
        if append.cursor is not None:
            cursors[append.cursor.launch] = append.cursor
        if append.outbox:
            database.executemany(
                _INSERT_WRITE,
                [(w.launch, w.op, w.data, w.purpose, w.delivery, w.request) for w in append.outbox],
            )
        if append.outbox_done:
            database.executemany("DELETE FROM outbox WHERE launch = ? AND op = ?", append.outbox_done)
        if append.drop_launch is not None:
            cursors[append.drop_launch] = None
            database.execute("DELETE FROM outbox WHERE launch = ?", (append.drop_launch,))

    def _write_cursors(self, cursors: dict[str, LaunchCursor | None]) -> None:
        moved = [
            (launch, cursor.seat, cursor.offset, cursor.next_op, cursor.snapshot)
            for launch, cursor in cursors.items()
            if cursor is not None
        ]
        gone = [(launch,) for launch, cursor in cursors.items() if cursor is None]
        if moved:
            self._database.executemany(_UPSERT_CURSOR, moved)
        if gone:
            self._database.executemany("DELETE FROM cursors WHERE launch = ?", gone)

    def _do(self, job: Job) -> Outcome:
        try:
            self._projector = job.run(self._database)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must hear of it
            return Outcome(token=job.token, error=fault_of(error, self._path), status=None)
        return Outcome(token=job.token)


def prepare(append: Append, token: object) -> Prepared:
    """Encodes the events of a request.

    Raises:
        StoreError: `store_failed` where a value has no JSON form, or a time has no zone.
    """
    drafts = append.drafts
    if any(draft.at.tzinfo is not UTC for draft in drafts):
        drafts = tuple(map(_in_utc, drafts))
    try:
        rows = tuple(map(_row, drafts))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(
            f"An event cannot be written down ({type(error).__name__}).",
            code="store_failed",
            hint="This is a fault in Inspan; please report it.",
        ) from error
    outbox_bytes = sum(len(write.data) for write in append.outbox) if append.outbox else 0
    return Prepared(
        append=append,
        drafts=drafts,
        rows=rows,
        size_bytes=sum(len(row[-1]) for row in rows) + outbox_bytes,
        token=token,
    )


_FAULTS_OF_ALL = frozenset({"store_locked", "store_read_only", "store_corrupt"})
"""What keeps every request out, so that trying them one by one only takes longer."""


def _in_utc(draft: EventDraft) -> EventDraft:
    if draft.at.tzinfo is UTC:
        return draft
    if draft.at.utcoffset() is None:
        raise StoreError("An event's time has no zone.", code="store_failed", hint="Give an aware time.")
    return msgspec.structs.replace(draft, at=draft.at.astimezone(UTC))


def _row(draft: EventDraft) -> tuple[Any, ...]:
    type_name = event_type(draft.event)
    return (
        microseconds_of(draft.at),
        draft.seat,
        draft.launch,
        draft.session,
        draft.turn,
        draft.source.value,
        draft.rule,
        type_name,
        EVENT_VERSIONS[type_name],
        encode_event(draft.event),
    )


def _envelope(position: int, draft: EventDraft, row: tuple[Any, ...]) -> Envelope:
    return Envelope(
        position=position,
        at=draft.at,
        seat=draft.seat,
        source=draft.source,
        rule=draft.rule,
        type=row[_TYPE],
        version=row[_VERSION],
        event=draft.event,
        launch=draft.launch,
        session=draft.session,
        turn=draft.turn,
    )


def _roll_back(database: sqlite3.Connection) -> None:
    if database.in_transaction:
        database.execute("ROLLBACK")
