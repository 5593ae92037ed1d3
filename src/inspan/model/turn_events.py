"""Events of turns that came after their end."""

from __future__ import annotations

import msgspec

from .turn import CallError, TurnOutcome

__all__ = ["TurnCorrected"]


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
