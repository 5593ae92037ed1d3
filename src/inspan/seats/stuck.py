"""Stuck turns: what does not end by itself is ended, and the harness goes on with the same conversation."""

from __future__ import annotations

from datetime import datetime

from inspan.model.console import ConsoleJudged
from inspan.model.delivery import HeldReason
from inspan.model.events import StopRequested
from inspan.model.evidence import Source
from inspan.model.state import InFlight, LaunchState, SeatState
from inspan.model.turn import CallError
from inspan.model.turn_events import StuckReason, TurnStuck

from .decision import Decision
from .holds import hold_all
from .inputs import TurnFellStuck

__all__ = ["RESTARTS_IN_A_ROW", "is_restarting", "note_refused", "note_shown_wedge", "note_stuck", "silent_s"]

RESTARTS_IN_A_ROW = 3
"""How often a harness is restarted for it, with no turn that ended well in between."""

_PLAIN: dict[str, StuckReason] = {"active_run": "active_run", "wedged": "wedged"}
"""Codes of errors that say by themselves that the harness is stuck."""


def silent_s(state: SeatState, now: datetime, heard_ago_s: float) -> float | None:
    """For how long nothing was heard of an open turn in which an error was seen; `None` where nothing is stuck.

    Quiet alone is never taken for it, nor a turn that waits for a person.

    Args:
        state: The seat.
        now: Aware UTC.
        heard_ago_s: Seconds since the harness last said anything. A console draws all the time, so that its
            judgement counts and this does not.
    """
    flight = state.in_flight
    if flight is None or flight.errored_at is None or _is_waiting(state) or _is_known(state, flight.turn):
        return None
    since_s = (now - flight.errored_at).total_seconds()
    return since_s if state.console is not None else min(since_s, heard_ago_s)


def note_stuck(decision: Decision, seen: TurnFellStuck) -> None:
    """An error was seen in the open turn, and nothing since."""
    flight = decision.flight
    if flight is None or flight.turn != seen.turn or flight.error is None or _is_waiting(decision.seat):
        return
    _settle(decision, flight.turn, flight.delivery, "error_without_end", flight.error, after_s=seen.after_s)


def note_refused(decision: Decision, flight: InFlight, error: CallError | None) -> None:
    """A turn has ended with an error by which the harness is stuck, in spite of that end."""
    reason = None if error is None else _PLAIN.get(error.code)
    if error is None or reason is None or decision.context.is_one_shot or _is_waiting(decision.seat):
        return
    _settle(decision, flight.turn, flight.delivery, reason, error)


def note_shown_wedge(decision: Decision, body: ConsoleJudged) -> None:
    """A console shows in the open turn that it is stuck."""
    flight, shown = decision.flight, body.error
    if flight is None or shown is None or shown == flight.shown_before or _is_waiting(decision.seat):
        return
    reason = None if shown.code is None else _PLAIN.get(shown.code)
    if reason is not None and shown.code is not None:
        error = CallError(code=shown.code, message=shown.message or f"The rule {shown.rule} matches.")
        _settle(decision, flight.turn, flight.delivery, reason, error)


def is_restarting(seat: SeatState, launch: LaunchState) -> bool:
    """Whether the launch is ended so that the next one goes on with its conversation."""
    stuck = seat.stuck
    is_ours = stuck is not None and stuck.launch == launch.id and launch.stopped_by == "core"
    return is_ours and stuck is not None and stuck.action == "restart"


def _settle(
    decision: Decision,
    turn: str,
    delivery: str,
    reason: StuckReason,
    error: CallError,
    *,
    after_s: float | None = None,
) -> None:
    seat, launch = decision.seat, decision.launch
    if launch is None or launch.status == "stopping" or _is_known(seat, turn):
        return
    restarts = 0 if seat.stuck is None else seat.stuck.restarts
    why_not = _why_not_resumed(decision)
    action = "none" if why_not else "restart"
    if not why_not and restarts >= RESTARTS_IN_A_ROW:
        action, why_not = "stop", f"It was restarted {restarts} times in a row, and no turn ended well since."
    decision.emit(
        TurnStuck(
            turn=turn,
            delivery=delivery,
            reason=reason,
            error=error,
            action=action,
            restarts=restarts + (action == "restart"),
            after_s=after_s,
            why_not=why_not,
        ),
        source=Source.CORE,
        rule=f"turn.{reason}",
    )
    if action != "none":
        decision.emit(
            StopRequested(launch=launch.id, by="core", error=error), source=Source.CORE, rule="turn.stuck"
        )
    if action != "restart" and (action == "stop" or decision.flight is None):
        hold_all(decision, HeldReason.STUCK, error)


def _why_not_resumed(decision: Decision) -> str:
    claim = decision.context.capabilities.resume
    if not claim.is_supported:
        return f"Its conversation cannot be resumed in this mode. {claim.note}".rstrip()
    if decision.seat.session is None:
        return "Which session is its conversation is not known, so that it could not be resumed."
    if decision.context.is_wake_expensive:
        return "To start it again is expensive, as its manifest says: `inspan stop` and `inspan start` do it."
    return ""


def _is_waiting(state: SeatState) -> bool:
    return bool(state.permissions or state.questions or state.waiting_since is not None)


def _is_known(state: SeatState, turn: str) -> bool:
    return state.stuck is not None and state.stuck.turn == turn
