"""What happened in the app, in order, for agents that ask now and then."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from .clock import Clock, iso
from .database import Database

__all__ = ["EventLog", "EventRecord"]

_MOST_KEPT = 10_000
_MOST_AT_ONCE = 500


class EventRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One event, as the wire has it."""

    id: str
    app: str
    type: str
    payload: Any
    created_at: str


class EventLog:
    """The newest ten thousand events. A cursor is the position of the last event that was read."""

    def __init__(self, database: Database, app_id: str, clock: Clock) -> None:
        """Works on `database`, for the app of this id."""
        self._database = database
        self._app_id = app_id
        self._clock = clock

    def append(self, event_type: str, payload: Any) -> str:
        """Adds an event, as part of the transaction around it if there is one, and gives its id."""
        event_id = f"evt_{secrets.token_hex(8)}"
        with self._database.writing() as transaction:
            done = transaction.connection.execute(
                "INSERT INTO events (id, type, payload, created_at) VALUES (?, ?, ?, ?)",
                (event_id, event_type, msgspec.json.encode(payload).decode(), iso(self._clock())),
            )
            transaction.connection.execute(
                "DELETE FROM events WHERE position <= ?", ((done.lastrowid or 0) - _MOST_KEPT,)
            )
        return event_id

    def since(self, position: int) -> tuple[list[EventRecord], int]:
        """The events after a position, the oldest first, at most 500; and the position to go on from."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT position, id, type, payload, created_at FROM events WHERE position > ?"
                " ORDER BY position LIMIT ?",
                (position, _MOST_AT_ONCE),
            ).fetchall()
            last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        events = [
            EventRecord(
                id=row[1],
                app=self._app_id,
                type=row[2],
                payload=msgspec.json.decode(row[3]),
                created_at=row[4],
            )
            for row in rows
        ]
        # A cursor from another database must not hide what is new in this one.
        newest = int(last[0]) if last else 0
        return events, int(rows[-1][0]) if rows else min(position, newest)
