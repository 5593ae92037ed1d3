"""The view of a delivery: how far a prompt got, and what goes before it."""

from __future__ import annotations

from inspan.model.delivery import DeliveryState
from inspan.model.views import DeliveryView
from inspan.store import DeliveryRecord, Store

from .view import held_hint

__all__ = ["show_delivery"]


def show_delivery(store: Store, record: DeliveryRecord) -> DeliveryView:
    """A delivery as people see it."""
    ahead = 0
    if record.state in (DeliveryState.QUEUED, DeliveryState.HELD):
        state = store.seat_state(record.seat)
        if state is not None:
            waiting = [p.delivery for p in state.queue]
            ahead = waiting.index(record.id) if record.id in waiting else 0
            ahead += state.in_flight is not None
    turn = None if record.turn is None else store.turn(record.turn)
    return DeliveryView(
        id=record.id,
        seat=record.seat,
        state=record.state,
        queued_at=record.queued_at,
        text=record.text,
        held=record.held,
        turn=record.turn,
        error=record.error,
        ahead=ahead,
        turn_outcome=None if turn is None else turn.outcome,
        hint="" if record.held is None else held_hint(record.seat, record.held),
        request=record.request,
        sender=record.sender,
        signed_by=record.signed_by,
    )
