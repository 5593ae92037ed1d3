"""Readiness: when a prompt may be typed for the first time in a launch. Pure: the time is an argument.

A prompt line that is drawn is not enough. Programs draw it before they read, draw a dialog over it, and leave it
behind when they are gone. Ready is a composer that is seen, with no dialog, unchanged for a while, on the terminal
of this very launch: the value is thrown away with the launch, and what an earlier one left on a screen is not seen.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from .arbitration import Verdict
from .evaluating import Reading

__all__ = ["NOT_READY", "STABLE_S", "Readiness", "follow_readiness"]

STABLE_S = 1.5
"""How long the composer must have been there."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """How far a launch is.

    Attributes:
        seen_at: Since when the composer is seen without a break.
        rule: The rule that saw it.
        ready_at: When it was ready; a dialog that comes up later takes it away again.
        reason: Why it is not ready; empty where it is.
    """

    seen_at: datetime | None = None
    rule: str = ""
    ready_at: datetime | None = None
    reason: str = "no prompt line has been seen"

    @property
    def is_ready(self) -> bool:
        """Whether a prompt may be typed."""
        return self.ready_at is not None


NOT_READY = Readiness()


def follow_readiness(before: Readiness, reading: Reading, verdict: Verdict, *, now: datetime) -> Readiness:
    """How far a launch is after one more look.

    Args:
        before: How far it was; `NOT_READY` at the beginning of every launch.
        reading: What the screen says.
        verdict: What is believed.
        now: The time of the look.
    """
    if verdict.activity == "needs_input":
        what = verdict.gate or verdict.kind or "a dialog"
        return Readiness(reason=f"{what} waits for a person")
    if reading.is_ignored:
        return before
    if reading.ready is None:
        return Readiness(reason="no prompt line is seen")
    seen_at = before.seen_at or now
    stable_s = (now - seen_at).total_seconds()
    if before.ready_at is None and stable_s < STABLE_S:
        reason = f"the prompt line has been there for {stable_s:.1f} s of {STABLE_S:g}"
        return Readiness(seen_at=seen_at, rule=reading.ready.rule.name, reason=reason)
    return Readiness(
        seen_at=seen_at, rule=reading.ready.rule.name, ready_at=before.ready_at or now, reason=""
    )
