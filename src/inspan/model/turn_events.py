"""Events of turns that came after their end."""

from __future__ import annotations

from typing import Literal

import msgspec

from .turn import CallError, TurnOutcome

__all__ = ["DeliverySigned", "QueueReleased", "StuckAction", "StuckReason", "TurnCorrected", "TurnStuck"]

StuckReason = Literal["error_without_end", "active_run", "wedged"]
"""How a turn is stuck: an error was seen, and no end; the harness says that an earlier turn still runs; or that it
is wedged itself."""

StuckAction = Literal["restart", "stop", "none"]
"""What is done about it: the harness is restarted on the same conversation, or stopped, or it is only said."""


class TurnCorrected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn_corrected"):
    """The harness itself said how a turn ended that had only been seen to end, and otherwise.

    Attributes:
        turn: The turn.
        delivery: Its delivery.
        outcome: How it ended.
        was: How it had seemed to end.
        raw_reason: The harness's own word.
        error: What it ended with.
    """

    turn: str
    delivery: str
    outcome: TurnOutcome
    was: TurnOutcome
    raw_reason: str = ""
    error: CallError | None = None


class TurnStuck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn_stuck"):
    """A turn does not come to its end by itself, and what is done about it. Its prompt is never sent again by that.

    Attributes:
        turn: The turn.
        delivery: Its delivery.
        reason: How it is stuck.
        error: What was seen of it.
        action: What is done; recorded before it is.
        restarts: Which restart in a row this is, counted from 1; without one, how many there were.
        after_s: How long nothing was heard after the error; `None` where it was plain at once.
        why_not: Why there is no restart, where there is none.
    """

    turn: str
    delivery: str
    reason: StuckReason
    error: CallError
    action: StuckAction = "restart"
    restarts: int = 0
    after_s: float | None = None
    why_not: str = ""


class DeliverySigned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_signed"):
    """A prompt came with a signature of one whose key the operator listed: it is surely theirs.

    Attributes:
        delivery: The delivery.
        signer: Whose signature it is, by the name in the operator's list.
    """

    delivery: str
    signer: str


class QueueReleased(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="queue_released"):
    """Prompts that were held since they would have failed as the one before go on.

    `by` is `operator`, or `limit_reset`: the time has come at which the harness said that its limit ends.
    """

    by: Literal["operator", "limit_reset"] = "operator"
