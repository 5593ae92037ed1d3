"""Handoffs: what an attempt's end means for the request that it belongs to, and the way to another seat.

A turn's outcome settles its attempt. It settles the request too where the work is done, or where its person took
it back; otherwise the request stays open, and goes on where a handoff was declared.
"""

from __future__ import annotations

from inspan.model.events import DeliveryHeld, DeliveryRefused, TurnEnded
from inspan.model.evidence import Source
from inspan.model.request_events import HandoffDeclared, HandoffFailed, RequestHandedOff, RequestSettled
from inspan.model.state import Handoff, SeatState
from inspan.model.turn import CallError, TurnOutcome

from .decision import Decision
from .request_inputs import HandOff, NoteHandoffFailed, RequestCommand, SettleRequest

__all__ = ["decide_request", "follow_requests"]

_SETTLING = (TurnOutcome.COMPLETED, TurnOutcome.REFUSED)
"""Outcomes with which the request is answered, whatever was declared."""


def decide_request(decision: Decision, command: RequestCommand) -> None:
    """Carries out a command about a request. A seat that was removed still knows its history."""
    match command:
        case HandOff():
            _hand_off(decision, command)
        case NoteHandoffFailed():
            decision.emit(
                HandoffFailed(
                    request=command.request,
                    next_delivery=command.next_delivery,
                    to_seat=command.to_seat,
                    error=command.error,
                ),
                source=Source.CORE,
                rule="request.handoff_failed",
                in_turn=False,
            )
        case SettleRequest():
            decision.emit(
                RequestSettled(
                    request=command.request,
                    delivery=command.delivery,
                    outcome=command.outcome,
                    by="operator",
                ),
                source=Source.OPERATOR,
                rule="request.settle",
                in_turn=False,
            )


def follow_requests(decision: Decision, before: SeatState | None, first: int) -> None:
    """Says what the newest events, from `first` on, mean for requests. `before` is the state before them."""
    for draft in tuple(decision.drafts[first:]):
        match draft.event:
            case TurnEnded(delivery=delivery, outcome=outcome):
                _note_end(decision, before, delivery, outcome)
            case DeliveryRefused(delivery=delivery) if _is_queued(before, delivery):
                _note_end(decision, before, delivery, None)
            case DeliveryHeld(delivery=delivery) if _handoff_of(decision, delivery) is not None:
                # It will not go out by itself, and was certainly not sent.
                _withdraw(decision, delivery)
                _note_end(decision, decision.state, delivery, None)
            case _:
                pass


def _hand_off(decision: Decision, command: HandOff) -> None:
    state = decision.state
    decision.emit(
        HandoffDeclared(
            request=command.request,
            delivery=command.delivery,
            to_seat=command.to_seat,
            next_delivery=command.next_delivery,
            text=command.text,
        ),
        source=Source.OPERATOR,
        rule="request.handoff",
        in_turn=False,
    )
    if decision.flight is not None and decision.flight.delivery == command.delivery:
        return  # its end, whatever it is, decides
    if _is_queued(state, command.delivery):
        _withdraw(decision, command.delivery)  # `follow_requests` passes it on
    else:
        _pass_on(decision, _handoff_of(decision, command.delivery), command.outcome)


def _note_end(
    decision: Decision, before: SeatState | None, delivery: str, outcome: TurnOutcome | None
) -> None:
    handoff = _handoff_of(decision, delivery)
    request = handoff.request if handoff is not None else _request_of(before, delivery)
    if not request:
        return
    if outcome in _SETTLING or (handoff is None and outcome in (None, TurnOutcome.CANCELLED)):
        decision.emit(
            RequestSettled(request=request, delivery=delivery, outcome=outcome or TurnOutcome.CANCELLED),
            source=Source.CORE,
            rule="request.settled_by_attempt",
            in_turn=False,
        )
    elif handoff is not None:
        _pass_on(decision, handoff, outcome)


def _pass_on(decision: Decision, handoff: Handoff | None, outcome: TurnOutcome | None) -> None:
    if handoff is None:
        return
    decision.emit(
        RequestHandedOff(
            request=handoff.request,
            delivery=handoff.delivery,
            to_seat=handoff.to_seat,
            next_delivery=handoff.next_delivery,
            outcome=outcome,
        ),
        source=Source.CORE,
        rule="request.handoff",
        in_turn=False,
    )


def _withdraw(decision: Decision, delivery: str) -> None:
    handoff = _handoff_of(decision, delivery)
    where = "another seat" if handoff is None else f"the seat {handoff.to_seat}"
    error = CallError(code="handed_off", message=f"It was not sent: its request was handed off to {where}.")
    decision.emit(
        DeliveryRefused(delivery=delivery, error=error),
        source=Source.OPERATOR,
        rule="request.handoff",
        in_turn=False,
    )


def _handoff_of(decision: Decision, delivery: str) -> Handoff | None:
    state = decision.state
    if state is None:
        return None
    return next((one for one in state.handoffs if one.delivery == delivery), None)


def _is_queued(state: SeatState | None, delivery: str) -> bool:
    return state is not None and any(prompt.delivery == delivery for prompt in state.queue)


def _request_of(state: SeatState | None, delivery: str) -> str:
    if state is None:
        return ""
    if state.in_flight is not None and state.in_flight.delivery == delivery:
        return state.in_flight.request
    return next((prompt.request for prompt in state.queue if prompt.delivery == delivery), "")
