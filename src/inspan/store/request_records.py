"""Requests as the projections hold them, and how an event changes them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from inspan.model.events import DeliveryQueued, EventDraft
from inspan.model.request_events import HandoffDeclared, HandoffFailed, RequestHandedOff, RequestSettled
from inspan.model.turn import CallError, TurnOutcome

if TYPE_CHECKING:
    from .projections import Projector

__all__ = ["AttemptRecord", "HandoffRecord", "RequestRecord", "fold_requests"]

_NO_SEAT = ""
"""A request belongs to no seat: its attempts do."""

_set = msgspec.structs.replace


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt at a request; how far it got is its delivery's to say."""

    delivery: str
    seat: str


class HandoffRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A handoff; fields as in `inspan.model.request_views.HandoffView`. `text` is a secret in logs."""

    from_seat: str
    from_delivery: str
    to_seat: str
    delivery: str
    declared_at: datetime
    text: str = ""
    handed_at: datetime | None = None
    error: CallError | None = None

    def __repr__(self) -> str:
        return f"HandoffRecord({self.from_delivery} -> {self.to_seat} {self.delivery}, text=…)"


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request; fields as in `inspan.model.request_views.RequestView`."""

    id: str
    opened_at: datetime
    attempts: tuple[AttemptRecord, ...] = ()
    handoffs: tuple[HandoffRecord, ...] = ()
    outcome: TurnOutcome | None = None
    settled_at: datetime | None = None
    settled_by: str = ""

    @property
    def pending(self) -> tuple[HandoffRecord, ...]:
        """Handoffs that went on, and whose attempt is not there yet."""
        begun = {one.delivery for one in self.attempts}
        return tuple(
            one
            for one in self.handoffs
            if one.handed_at is not None and one.error is None and one.delivery not in begun
        )


def fold_requests(tables: Projector, position: int, draft: EventDraft) -> None:
    """Changes the records as the event says. Called before the event's delivery is recorded."""
    event = draft.event
    match event:
        case DeliveryQueued(request=request) if request and not tables.deliveries.has(event.delivery):
            attempt = AttemptRecord(delivery=event.delivery, seat=draft.seat)
            known = tables.requests.get(request, _NO_SEAT)
            if known is None:
                record = RequestRecord(id=request, opened_at=draft.at, attempts=(attempt,))
                tables.requests.add(request, record, seat=_NO_SEAT, position=position)
            else:
                _change(tables, _set(known, attempts=(*known.attempts, attempt)))
        case HandoffDeclared() | RequestHandedOff() | HandoffFailed() | RequestSettled():
            known = tables.requests.get(event.request, _NO_SEAT)
            if known is not None and known.outcome is None:
                _change(tables, _fold(known, draft, event))
        case _:
            pass


def _fold(
    known: RequestRecord,
    draft: EventDraft,
    event: HandoffDeclared | RequestHandedOff | HandoffFailed | RequestSettled,
) -> RequestRecord:
    match event:
        case HandoffDeclared():
            declared = HandoffRecord(
                from_seat=draft.seat,
                from_delivery=event.delivery,
                to_seat=event.to_seat,
                delivery=event.next_delivery,
                declared_at=draft.at,
                text=event.text,
            )
            # One that did not go on yet is replaced: its person thought better of it.
            kept = (
                one
                for one in known.handoffs
                if one.handed_at is not None or one.from_delivery != event.delivery
            )
            return _set(known, handoffs=(*kept, declared))
        case RequestHandedOff():
            return _set(known, handoffs=_with(known, event.next_delivery, handed_at=draft.at))
        case HandoffFailed():
            return _set(known, handoffs=_with(known, event.next_delivery, error=event.error))
        case RequestSettled():
            return _set(known, outcome=event.outcome, settled_at=draft.at, settled_by=event.delivery)


def _with(known: RequestRecord, delivery: str, **changes: object) -> tuple[HandoffRecord, ...]:
    return tuple(_set(one, **changes) if one.delivery == delivery else one for one in known.handoffs)


def _change(tables: Projector, record: RequestRecord) -> None:
    tables.requests.change(record.id, record, is_open=record.outcome is None)
