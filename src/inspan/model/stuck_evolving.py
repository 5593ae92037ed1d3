"""Evolving of turns that are stuck: errors that ended no turn, restarts that came of them, and the queue's release."""

from __future__ import annotations

import msgspec

from .console import ConsoleJudged, KeptError
from .content import ErrorReported, Retrying
from .delivery import FUTILE_REASONS, HeldReason
from .events import EventDraft
from .state import InFlight, QueuedPrompt, SeatState, Stuck
from .turn import CallError, TurnOutcome
from .turn_events import QueueReleased, TurnStuck

__all__ = ["after_end", "at_launch", "note_shown", "note_told", "note_work", "release", "stick"]

_WELL = (TurnOutcome.COMPLETED, TurnOutcome.REFUSED)

_set = msgspec.structs.replace


def note_told(state: SeatState, draft: EventDraft, event: ErrorReported | Retrying) -> SeatState:
    """The harness told an error in its open turn, or that it will try again, before which nothing is expected."""
    flight = state.in_flight
    if flight is None or event.replay or draft.turn != flight.turn:
        return state
    if isinstance(event, ErrorReported):
        error, at = event.error, draft.at
    else:
        message = event.reason or "The harness said that it would try again."
        error = CallError(code="call_failed", message=message)
        at = max(draft.at, event.retry_at or draft.at)
    return _set(state, in_flight=_set(flight, error=error, errored_at=at))


def note_shown(state: SeatState, draft: EventDraft, event: ConsoleJudged) -> SeatState:
    """A console shows an error in its open turn and nothing else; what it showed before the turn is none of it."""
    flight = state.in_flight
    if flight is None:
        return state
    shown = event.error
    if shown is None or event.activity != "unknown" or _is_same(shown, flight.shown_before):
        return state if flight.errored_at is None else _set(state, in_flight=_forget(state))
    error = CallError(code=shown.code or "call_failed", message=shown.message or shown.rule or "an error")
    at = flight.errored_at if flight.errored_at is not None and flight.error == error else draft.at
    return _set(state, in_flight=_set(flight, error=error, errored_at=at))


def note_work(state: SeatState) -> SeatState:
    """Work goes on: the error was got over."""
    flight = state.in_flight
    if flight is None or (flight.errored_at is None and state.retrying is None):
        return state
    return _set(state, in_flight=_forget(state), retrying=None)


def stick(state: SeatState, draft: EventDraft, event: TurnStuck) -> SeatState:
    """A turn is stuck."""
    launch = state.launch
    return _set(
        state,
        stuck=Stuck(
            turn=event.turn,
            launch="" if launch is None else launch.id,
            reason=event.reason,
            error=event.error,
            action=event.action,
            at=draft.at,
            restarts=event.restarts,
            why_not=event.why_not,
        ),
    )


def after_end(state: SeatState, outcome: TurnOutcome) -> Stuck | None:
    """What is left of a turn that was stuck once another one has ended: nothing, where that ended well."""
    return None if outcome in _WELL else state.stuck


def release(state: SeatState, event: QueueReleased) -> SeatState:
    """Held prompts go on; an operator's word begins the count of restarts anew."""
    reasons = FUTILE_REASONS if event.by == "operator" else {HeldReason.LIMITED}
    queue = tuple(_free(one) if one.held in reasons else one for one in state.queue)
    return _set(state, queue=queue, stuck=None if event.by == "operator" else state.stuck)


def at_launch(state: SeatState, by: str) -> tuple[tuple[QueuedPrompt, ...], Stuck | None]:
    """The queue and what was stuck, once a launch was decided on.

    A launch is a new chance for what waited, but only its operator's word for what would fail again.
    """
    if by == "operator":
        return tuple(_free(one) for one in state.queue), None
    queue = tuple(one if one.held in FUTILE_REASONS else _free(one) for one in state.queue)
    return queue, state.stuck if by == "stuck" else None


def _free(prompt: QueuedPrompt) -> QueuedPrompt:
    return _set(prompt, held=None, held_until=None)


def _forget(state: SeatState) -> InFlight | None:
    flight = state.in_flight
    return None if flight is None else _set(flight, error=None, errored_at=None)


def _is_same(one: KeptError, other: KeptError | None) -> bool:
    return other is not None and (one.code, one.rule, one.message) == (other.code, other.rule, other.message)
