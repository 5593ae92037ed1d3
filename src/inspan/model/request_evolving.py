"""Evolving what a seat knows of requests: the handoffs that were declared for its prompts. A part of `evolving`."""

from __future__ import annotations

import msgspec

from .events import EventDraft
from .request_events import HandoffDeclared, RequestHandedOff, RequestSettled
from .state import Handoff, SeatState

__all__ = ["evolve_requests"]

_set = msgspec.structs.replace


def evolve_requests(state: SeatState, draft: EventDraft) -> SeatState:
    """The state after an event of a request; `state` itself for any other."""
    event = draft.event
    match event:
        case HandoffDeclared():
            declared = Handoff(
                request=event.request,
                delivery=event.delivery,
                to_seat=event.to_seat,
                next_delivery=event.next_delivery,
            )
            return _set(state, handoffs=(*_without(state, event.delivery), declared))
        case RequestHandedOff() | RequestSettled():
            rest = _without(state, event.delivery)
            return state if rest == state.handoffs else _set(state, handoffs=rest)
        case _:
            return state


def _without(state: SeatState, delivery: str) -> tuple[Handoff, ...]:
    return tuple(one for one in state.handoffs if one.delivery != delivery)
