"""The view of a delivery: how far a prompt got, and what goes before it."""

from __future__ import annotations

from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.views import DeliveryView
from inspan.store import DeliveryRecord, Store

from .view import held_hint

__all__ = ["show_delivery"]


def show_delivery(store: Store, record: DeliveryRecord) -> DeliveryView:
    """A delivery as people see it."""
    ahead, hint = 0, "" if record.held is None else held_hint(record.seat, record.held)
    if record.state in (DeliveryState.QUEUED, DeliveryState.HELD):
        state = store.seat_state(record.seat)
        if state is not None:
            waiting = [p.delivery for p in state.queue]
            ahead = waiting.index(record.id) if record.id in waiting else 0
            ahead += state.in_flight is not None
            if (
                not ahead
                and not hint
                and state.console is not None
                and state.console.activity == "needs_input"
            ):
                hint = held_hint(record.seat, HeldReason.NEEDS_INPUT)
    turn = None if record.turn is None else store.turn(record.turn)
    return DeliveryView(
        id=record.id,
        seat=record.seat,
        state=record.state,
        queued_at=record.queued_at,
        text=record.text,
        held=record.held,
        held_until=record.held_until,
        turn=record.turn,
        error=record.error,
        ahead=ahead,
        turn_outcome=None if turn is None else turn.outcome,
        hint=hint,
        request=record.request,
        sender=record.sender,
        signed_by=record.signed_by,
    )
