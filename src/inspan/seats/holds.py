"""Holds: prompts that would fail as the one before wait, until their operator or the end of the limit frees them."""

from __future__ import annotations

from datetime import datetime

from inspan.model.delivery import FUTILE_REASONS, HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import DeliveryHeld, DeliveryRefused, TurnEnded
from inspan.model.evidence import Source
from inspan.model.state import QueuedPrompt, SeatState
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.turn_events import QueueReleased

from .decision import Decision
from .limit_times import find_reset_time

__all__ = [
    "hold_after",
    "hold_all",
    "hold_newcomer",
    "is_release_due",
    "note_limit_reset",
    "release_held",
    "release_queue",
    "return_unsent",
]

_CANCELLED = CallError(code="call_failed", message="It was cancelled before any of it was sent.")
_HELD_BY = {"limited": HeldReason.LIMITED, "auth_required": HeldReason.AUTH_REQUIRED}


def return_unsent(
    decision: Decision, why: HeldReason, error: CallError | None = None, *, source: Source, rule: str
) -> None:
    """Returns the prompt in flight, of which certainly nothing was sent, to the queue; one that is being cancelled ends."""
    flight = decision.flight
    if flight is None:
        return
    if not flight.cancel_requested:
        decision.emit(DeliveryHeld(delivery=flight.delivery, why=why, error=error), source=source, rule=rule)
        return
    refused = DeliveryRefused(delivery=flight.delivery, error=_CANCELLED)
    decision.emit(refused, source=source, rule=rule)
    ended = TurnEnded(
        turn=flight.turn, delivery=flight.delivery, outcome=TurnOutcome.CANCELLED, error=_CANCELLED
    )
    decision.emit(ended, source=source, rule=rule)


def hold_after(decision: Decision, error: CallError | None) -> None:
    """Holds the queue where a turn ended with a failure that the next prompts would meet as well.

    A turn that used up a budget of its own, which is no error, holds nothing.
    """
    why = None if error is None else _HELD_BY.get(error.code)
    if error is None or why is None:
        return
    until = find_reset_time(error.message, decision.context.now) if why is HeldReason.LIMITED else None
    hold_all(decision, why, error, until=until)


def hold_all(
    decision: Decision, why: HeldReason, error: CallError | None, *, until: datetime | None = None
) -> None:
    """Every prompt that was not sent waits from here on, and is not held for anything that passes by itself."""
    for prompt in decision.seat.queue:
        if prompt.held not in FUTILE_REASONS:
            _hold(decision, prompt.delivery, why, error, until)


def hold_newcomer(decision: Decision, delivery: str) -> bool:
    """Has a prompt that was just queued wait with those before it, where they are held; whether it does.

    One that is urgent, or is to be typed in any case, is its operator's attempt at it.
    """
    queue = decision.seat.queue
    newcomer = next((one for one in queue if one.delivery == delivery), None)
    first = next((one for one in queue if one.held in FUTILE_REASONS), None)
    if newcomer is None or first is None or first.held is None or newcomer.is_urgent or newcomer.override:
        return False
    _hold(decision, delivery, first.held, None, first.held_until)
    return True


def release_queue(decision: Decision) -> None:
    """Lets held prompts go on, by their operator's word.

    Raises:
        UsageError: `nothing_held`.
    """
    if release_held(decision):
        return
    others = [one.held for one in decision.seat.queue if one.held is not None]
    raise UsageError(
        f"No prompt of {decision.name} is held that a release would send.",
        code="nothing_held",
        hint=f"`inspan start {decision.name}` sends what waits for the harness ({others[0]})."
        if others
        else "",
    )


def release_held(decision: Decision) -> bool:
    """Lets held prompts go on, by their operator's word; whether there were any."""
    if not any(one.held in FUTILE_REASONS for one in decision.seat.queue):
        return False
    decision.emit(QueueReleased(), source=Source.OPERATOR, rule="release", in_turn=False)
    return True


def note_limit_reset(decision: Decision) -> bool:
    """Lets prompts go on once their limit has ended by the harness's own word; whether there were any.

    A seat that its operator stopped, or whose harness is gone, is not started by that; nor is one whose start is
    expensive.
    """
    is_dear = decision.context.is_wake_expensive
    if not is_release_due(decision.seat, decision.context.now, is_wake_expensive=is_dear):
        return False
    decision.emit(
        QueueReleased(by="limit_reset"), source=Source.CORE, rule="queue.limit_reset", in_turn=False
    )
    return True


def is_release_due(state: SeatState, now: datetime, *, is_wake_expensive: bool = False) -> bool:
    """Whether prompts are held for a limit that has ended, in a seat that works.

    One that would have to be started for it is not, where a start is expensive.
    """
    if state.live_launch is None and (
        is_wake_expensive or state.launch is None or state.launch.reason != "done"
    ):
        return False
    return any(_is_over(one, now) for one in state.queue)


def _is_over(prompt: QueuedPrompt, now: datetime) -> bool:
    return prompt.held is HeldReason.LIMITED and prompt.held_until is not None and prompt.held_until <= now


def _hold(
    decision: Decision, delivery: str, why: HeldReason, error: CallError | None, until: datetime | None
) -> None:
    decision.emit(
        DeliveryHeld(delivery=delivery, why=why, error=error, until=until),
        source=Source.CORE,
        rule="queue.hold",
        in_turn=False,
    )
