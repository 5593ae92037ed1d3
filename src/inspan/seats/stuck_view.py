"""What is said of a turn that was stuck, and of prompts that wait since they would fail as well."""

from __future__ import annotations

from inspan.model.delivery import FUTILE_REASONS, HeldReason
from inspan.model.state import SeatState

__all__ = ["note_held", "note_stuck_turn"]

_HOW = {
    "error_without_end": "showed an error and did not end",
    "active_run": "met an earlier one that still runs in the harness",
    "wedged": "could not end, since the harness is wedged",
}
_HELD = {
    HeldReason.LIMITED: "a usage limit was reached",
    HeldReason.AUTH_REQUIRED: "the harness wants its person to sign in",
    HeldReason.STUCK: "turns do not come to their end",
}


def note_stuck_turn(state: SeatState) -> tuple[str, ...]:
    """The turn that was stuck, with its error and what was done, until a turn ends well again."""
    stuck = state.stuck
    if stuck is None:
        return ()
    done = {
        "restart": f"The harness is restarted on the same conversation (restart {stuck.restarts} in a row).",
        "stop": f"The harness is stopped. {stuck.why_not}",
        "none": f"The harness is left as it is. {stuck.why_not}",
    }[stuck.action]
    return (
        f"The turn {stuck.turn} {_HOW[stuck.reason]} at {stuck.at:%H:%M:%S} UTC: {stuck.error.message} {done}",
    )


def note_held(state: SeatState) -> tuple[str, ...]:
    """How many prompts wait for what, and until when."""
    first = next((one for one in state.queue if one.held in FUTILE_REASONS), None)
    if first is None or first.held is None:
        return ()
    count = sum(one.held in FUTILE_REASONS for one in state.queue)
    until = "" if first.held_until is None else f" until {first.held_until:%Y-%m-%d %H:%M} UTC"
    what = "prompt waits" if count == 1 else "prompts wait"
    return (f"{count} {what}{until}, since {_HELD[first.held]}; `inspan release {state.name}` sends now.",)
