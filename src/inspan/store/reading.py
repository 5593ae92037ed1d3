"""Reads of the log and of its projections, on a connection of their own.

Every call sees whatever was committed before it began. Calls are short, and meant for the loop's thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from inspan.model.errors import StoreError
from inspan.model.events import EVENT_VERSIONS, Envelope, EventDraft
from inspan.model.evidence import Source
from inspan.model.state import SeatState
from inspan.model.views import TurnView

from .faults import store_faults
from .records import DeliveryRecord, LaunchCursor, OutboxRow, PermissionRecord, TurnRecord
from .request_records import RequestRecord
from .upcasters import decode_event

__all__ = ["LogReader", "draft_of", "iterate_events", "microseconds_of"]

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_COLUMNS = "position, at, seat, launch, session, turn, source, rule, type, version, body"
_CHUNK_EVENTS = 2000

_SEATS = msgspec.json.Decoder(SeatState)
_DELIVERIES = msgspec.json.Decoder(DeliveryRecord)
_TURNS = msgspec.json.Decoder(TurnRecord)
_REQUESTS = msgspec.json.Decoder(RequestRecord)
_PERMISSIONS = msgspec.json.Decoder(PermissionRecord)


class LogReader:
    """Everything that can be asked of a log. Every call raises `StoreError` where the file cannot be read."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        """Reads through `database`, a connection that nobody else uses."""
        self.path = path
        self._reader = database

    def seat_state(self, name: str) -> SeatState | None:
        """The newest state of a seat of this name, a removed one included."""
        return self._one(_SEATS, "SELECT state FROM seats WHERE name = ?", name)

    def seat_states(self, *, include_removed: bool = False) -> list[SeatState]:
        """The seats, in the order in which they were added."""
        return self._list(
            _SEATS, "SELECT state FROM seats WHERE NOT removed OR ? ORDER BY position", include_removed
        )

    def delivery(self, delivery: str) -> DeliveryRecord | None:
        """One delivery."""
        return self._one(_DELIVERIES, "SELECT record FROM deliveries WHERE id = ?", delivery)

    def deliveries(self, seat: str, limit: int = 100) -> list[DeliveryRecord]:
        """The newest `limit` deliveries of a seat, the oldest first."""
        return self._list(
            _DELIVERIES,
            "SELECT record FROM deliveries WHERE seat = ? ORDER BY position DESC LIMIT ?",
            seat,
            limit,
        )[::-1]

    def turn(self, turn: str) -> TurnView | None:
        """One turn."""
        record = self._one(_TURNS, "SELECT record FROM turns WHERE id = ?", turn)
        return None if record is None else record.view

    def turns(self, seat: str, limit: int = 100) -> list[TurnView]:
        """The newest `limit` turns of a seat, the oldest first."""
        records = self._list(
            _TURNS, "SELECT record FROM turns WHERE seat = ? ORDER BY position DESC LIMIT ?", seat, limit
        )
        return [record.view for record in reversed(records)]

    def permission(self, request: str) -> PermissionRecord | None:
        """One permission request."""
        return self._one(_PERMISSIONS, "SELECT record FROM permissions WHERE id = ?", request)

    def permissions(
        self, seat: str | None = None, *, include_closed: bool = False, limit: int = 100
    ) -> list[PermissionRecord]:
        """The newest `limit` permission requests of a seat or of all, the oldest first."""
        wanted, values = ([], []) if seat is None else (["seat = ?"], [seat])
        if not include_closed:
            wanted.append("is_open")
        where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
        return self._list(
            _PERMISSIONS,
            f"SELECT record FROM permissions {where}ORDER BY position DESC LIMIT ?",  # noqa: S608
            *values,
            limit,
        )[::-1]

    def request(self, request: str) -> RequestRecord | None:
        """One request."""
        return self._one(_REQUESTS, "SELECT record FROM requests WHERE id = ?", request)

    def requests(self, *, include_settled: bool = False, limit: int = 1000) -> list[RequestRecord]:
        """The newest `limit` requests, open or all, the oldest first."""
        where = "" if include_settled else "WHERE is_open "
        return self._list(
            _REQUESTS,
            f"SELECT record FROM requests {where}ORDER BY position DESC LIMIT ?",  # noqa: S608
            limit,
        )[::-1]

    def cursor(self, launch: str) -> LaunchCursor | None:
        """How far a launch was followed; `None` once it was dropped."""
        rows = self._rows(
            "SELECT launch, seat, offset, next_op, snapshot FROM cursors WHERE launch = ?", launch
        )
        return _cursor(rows[0]) if rows else None

    def cursors(self) -> list[LaunchCursor]:
        """The cursors of all launches that were not dropped."""
        rows = self._rows("SELECT launch, seat, offset, next_op, snapshot FROM cursors ORDER BY launch")
        return [_cursor(row) for row in rows]

    def outbox(self, launch: str) -> list[OutboxRow]:
        """The writes to a launch that are not done, in order."""
        rows = self._rows(
            "SELECT launch, op, data, purpose, delivery, request FROM outbox WHERE launch = ? ORDER BY op",
            launch,
        )
        return [
            OutboxRow(launch=a, op=op, data=data, purpose=purpose, delivery=delivery, request=request)
            for a, op, data, purpose, delivery, request in rows
        ]

    def events(
        self,
        *,
        after: int = 0,
        seat: str | None = None,
        types: frozenset[str] | None = None,
        limit: int = 1000,
    ) -> list[Envelope]:
        """The next `limit` events after a position, in order, of one seat and of certain types if asked.

        Raises:
            StoreError: `store_newer` where an event cannot be understood, `store_corrupt` where it is damaged.
        """
        wanted: list[str] = ["position > ?"]
        values: list[Any] = [after]
        if seat is not None:
            wanted.append("seat = ?")
            values.append(seat)
        if types is not None:
            wanted.append(f"type IN ({', '.join('?' * len(types))})")
            values.extend(sorted(types))
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM events WHERE {' AND '.join(wanted)} ORDER BY position LIMIT ?",  # noqa: S608
            *values,
            limit,
        )
        return [_envelope(row) for row in rows]

    def event(self, position: int) -> Envelope | None:
        """The event at a position."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM events WHERE position = ?", position)  # noqa: S608
        return _envelope(rows[0]) if rows else None

    def last_position(self) -> int:
        """The newest position, 0 in an empty log."""
        return int(self._rows("SELECT coalesce(max(position), 0) FROM events")[0][0])

    def _one(self, decoder: msgspec.json.Decoder[T], statement: str, *values: object) -> T | None:
        found = self._list(decoder, statement, *values)
        return found[0] if found else None

    def _list(self, decoder: msgspec.json.Decoder[T], statement: str, *values: object) -> list[T]:
        rows = self._rows(statement, *values)
        try:
            return [decoder.decode(row[0]) for row in rows]
        except msgspec.MsgspecError as error:
            raise StoreError(
                "A projection of the log does not have its shape.",
                code="store_corrupt",
                hint="Run `inspan store rebuild`.",
            ) from error

    def _rows(self, statement: str, *values: object) -> list[Any]:
        # Reading to the end lets the snapshot go, so that the write-ahead log can be cut.
        with store_faults(self.path):
            return self._reader.execute(statement, values).fetchall()


def iterate_events(database: sqlite3.Connection) -> Iterator[tuple[int, Envelope | StoreError]]:
    """All events in order, each with its position; one that cannot be read gives the reason instead."""
    after = 0
    while True:
        rows: list[Any] = database.execute(
            f"SELECT {_COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ?",  # noqa: S608
            (after, _CHUNK_EVENTS),
        ).fetchall()
        if not rows:
            return
        for row in rows:
            after = int(row[0])
            try:
                found: Envelope | StoreError = _envelope(row)
            except StoreError as error:
                found = error
            yield after, found


def draft_of(envelope: Envelope) -> EventDraft:
    """The draft that an event was appended as."""
    return EventDraft(
        at=envelope.at,
        seat=envelope.seat,
        source=envelope.source,
        rule=envelope.rule,
        event=envelope.event,
        launch=envelope.launch,
        session=envelope.session,
        turn=envelope.turn,
    )


def microseconds_of(moment: datetime) -> int:
    """Microseconds since the epoch, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def _envelope(row: Any) -> Envelope:
    position, at, seat, launch, session, turn, source, rule, type_name, version, body = row
    try:
        event = decode_event(type_name, version, body)
        return Envelope(
            position=position,
            at=_EPOCH + timedelta(microseconds=at),
            seat=seat,
            source=Source(source),
            rule=rule,
            type=type_name,
            version=EVENT_VERSIONS[type_name],
            event=event,
            launch=launch,
            session=session,
            turn=turn,
        )
    except StoreError as error:
        error.detail["position"] = position
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise StoreError(
            f"The event at position {position} is damaged.",
            code="store_corrupt",
            hint="Run `inspan store check`.",
            detail={"position": position},
        ) from error


def _cursor(row: Any) -> LaunchCursor:
    launch, seat, offset, next_op, snapshot = row
    return LaunchCursor(launch=launch, seat=seat, offset=offset, next_op=next_op, snapshot=snapshot)
