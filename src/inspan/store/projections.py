"""The projections' writer: folded states in memory, changed rows into the open transaction.

Live appends, a rebuild and a check all go through `Projector`, so that they cannot disagree. What was staged
counts from `flush` and `keep` on; `discard` forgets it, as a rollback does.
"""

from __future__ import annotations

import functools
import sqlite3
import zlib
from collections.abc import Mapping
from typing import Generic, TypeVar, get_args

import msgspec

from inspan.model.content import Content
from inspan.model.events import EventDraft, SeatAdded
from inspan.model.evolving import evolve
from inspan.model.state import SeatState

from .folding import Change, fold_records
from .records import DeliveryRecord, PermissionRecord, TurnRecord
from .request_records import RequestRecord
from .schema import PROJECTION_MEANING, PROJECTION_TABLES, read_meta, write_meta

__all__ = [
    "Projector",
    "RecordTable",
    "SeatRow",
    "are_projections_current",
    "load_seats",
    "sign_projections",
    "wipe_projections",
]

T = TypeVar("T", DeliveryRecord, TurnRecord, PermissionRecord, RequestRecord)

_ENCODER = msgspec.json.Encoder()
_STATE_DECODER = msgspec.json.Decoder(SeatState)
_CONTENT_TYPES = frozenset(get_args(Content))
"""What a session says while it works: it can change a seat's state, never a delivery, turn or permission."""


class SeatRow(msgspec.Struct, frozen=True):
    """A seat's state, and the position of the event that began it."""

    position: int
    state: SeatState


class RecordTable(Generic[T]):
    """One table of records by id: reads through to the database, keeps changes until they are flushed."""

    def __init__(self, database: sqlite3.Connection, name: str, record_type: type[T]) -> None:
        """Names the table that holds the records of this type."""
        self._database = database
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(record_type)
        self._staged: dict[str, tuple[str, int, bool, T] | None] = {}
        # The names are ours, from `PROJECTION_TABLES`.
        self._select = f"SELECT seat, position, is_open, record FROM {name} WHERE id = ?"  # noqa: S608
        self._delete = f"DELETE FROM {name} WHERE id = ?"  # noqa: S608
        self._upsert = (
            f"INSERT INTO {name} (id, seat, position, is_open, record) VALUES (?, ?, ?, ?, ?) "  # noqa: S608
            "ON CONFLICT (id) DO UPDATE SET is_open = excluded.is_open, record = excluded.record"
        )

    def get(self, key: str, seat: str) -> T | None:
        """The record of this id, if it is one of this seat."""
        row = self._row(key)
        return row[3] if row is not None and row[0] == seat else None

    def has(self, key: str) -> bool:
        """Whether a record of this id exists, of any seat."""
        return self._row(key) is not None

    def add(self, key: str, record: T, *, seat: str, position: int) -> None:
        """Adds an open record."""
        self._staged[key] = (seat, position, True, record)

    def change(self, key: str, record: T, *, is_open: bool) -> None:
        """Puts `record` in the place of the one that `get` gave."""
        row = self._row(key)
        if row is None:
            raise KeyError(key)
        self._staged[key] = (row[0], row[1], is_open, record)

    def remove(self, key: str) -> None:
        """Removes a record."""
        self._staged[key] = None

    def flush(self) -> None:
        """Writes what is staged."""
        if not self._staged:
            return
        gone = [(key,) for key, row in self._staged.items() if row is None]
        rows = [
            (key, seat, position, is_open, _ENCODER.encode(record))
            for key, (seat, position, is_open, record) in (
                (key, row) for key, row in self._staged.items() if row is not None
            )
        ]
        if gone:
            self._database.executemany(self._delete, gone)
        if rows:
            self._database.executemany(self._upsert, rows)

    def forget(self) -> None:
        """Drops what is staged: it was committed, or rolled back."""
        self._staged.clear()

    def _row(self, key: str) -> tuple[str, int, bool, T] | None:
        if key in self._staged:
            return self._staged[key]
        row = self._database.execute(self._select, (key,)).fetchone()
        return None if row is None else (row[0], row[1], bool(row[2]), self._decoder.decode(row[3]))


class Projector:
    """Folds events into the projections of one database. Not thread-safe."""

    def __init__(self, database: sqlite3.Connection, seats: Mapping[str, SeatRow]) -> None:
        """Begins where the database stands; `seats` are its rows, as `load_seats` gives them."""
        self._database = database
        self._seats = dict(seats)
        self._staged: dict[str, SeatRow] = {}
        self.deliveries = RecordTable(database, "deliveries", DeliveryRecord)
        self.turns = RecordTable(database, "turns", TurnRecord)
        self.permissions = RecordTable(database, "permissions", PermissionRecord)
        self.requests = RecordTable(database, "requests", RequestRecord)

    def stage(self, position: int, draft: EventDraft) -> None:
        """Folds one event.

        Raises:
            ValueError: The seat was never added.
        """
        seat = draft.seat
        row = self._staged.get(seat) or self._seats.get(seat)
        before = None if row is None else row.state
        after = evolve(before, draft)
        if after is not before:
            began = position if row is None or isinstance(draft.event, SeatAdded) else row.position
            self._staged[seat] = SeatRow(began, after)
        if type(draft.event) not in _CONTENT_TYPES:
            fold_records(self, Change(position=position, draft=draft, before=before, after=after))

    def flush(self) -> None:
        """Writes every row that changed, once, into the open transaction."""
        if self._staged:
            self._database.executemany(
                "INSERT OR REPLACE INTO seats (name, position, removed, state) VALUES (?, ?, ?, ?)",
                [
                    (name, row.position, row.state.removed, _ENCODER.encode(row.state))
                    for name, row in self._staged.items()
                ],
            )
        for table in (self.deliveries, self.turns, self.permissions, self.requests):
            table.flush()

    def keep(self) -> None:
        """Says that what was flushed is committed."""
        self._seats.update(self._staged)
        self.discard()

    def discard(self) -> None:
        """Forgets what was staged since the last `keep`."""
        self._staged.clear()
        for table in (self.deliveries, self.turns, self.permissions, self.requests):
            table.forget()


def load_seats(database: sqlite3.Connection) -> dict[str, SeatRow]:
    """All rows of the seats' projection, by name."""
    rows = database.execute("SELECT name, position, state FROM seats").fetchall()
    return {str(name): SeatRow(int(position), _STATE_DECODER.decode(state)) for name, position, state in rows}


def are_projections_current(database: sqlite3.Connection) -> bool:
    """Whether the projections were written with the shapes and the meaning that this program has."""
    return read_meta(database, "projections") == _signature()


def sign_projections(database: sqlite3.Connection) -> None:
    """Notes with which shapes and meaning the projections were written, in the open transaction."""
    write_meta(database, "projections", _signature())


def wipe_projections(database: sqlite3.Connection) -> None:
    """Empties every projection, in the open transaction."""
    for name in PROJECTION_TABLES:
        database.execute(f"DELETE FROM {name}")  # noqa: S608


@functools.cache
def _signature() -> int:
    # Any change of a shape, even of its description, makes another signature: a rebuild too many does no harm.
    shapes = msgspec.json.schema_components(
        [SeatState, DeliveryRecord, TurnRecord, PermissionRecord, RequestRecord], schema_hook=_any_value
    )
    return (PROJECTION_MEANING << 32) | zlib.crc32(repr(shapes).encode())


def _any_value(_type: type) -> dict[str, object]:
    return {"description": "any value"}
