"""Claims: what one source says of a session at one moment, before anybody weighs it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from inspan.model.console import BackgroundWork, KeptError
from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.screen_rules import Gate, Sign

__all__ = ["BackgroundWork", "Claim", "ClaimedActivity", "KeptError"]

ClaimedActivity = Literal["running", "idle", "needs_input"]


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one source says.

    Attributes:
        source: Which source.
        rule: How it was read: the rule's name, or the report.
        activity: What the session does.
        at: When it was said, or seen last.
        sequence: Grows with every claim of this source; a claim with a lower one came too late.
        kind: What a person owes, where that is known; only with `needs_input`.
        gate: Which dialog of a start-up it is, where it is one.
        error: The error that is kept.
        signs: What else was seen: a retry that waits, a prompt in the queue, work in the background.
        is_turn_over: A turn has ended, rather than none having begun.
        evidence: The text that was matched, shortened; a secret in logs.
    """

    source: Source
    rule: str
    activity: ClaimedActivity
    at: datetime
    sequence: int
    kind: NeedsInputKind | None = None
    gate: Gate | None = None
    error: KeptError | None = None
    signs: tuple[Sign, ...] = ()
    is_turn_over: bool = False
    evidence: str = ""
