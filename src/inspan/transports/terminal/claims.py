"""Claims: what one source says of a session at one moment, before anybody weighs it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from inspan.model.diagnosis import DiagnosisCode
from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.screen_rules import Gate, Sign

__all__ = ["BackgroundWork", "Claim", "ClaimedActivity", "KeptError"]

ClaimedActivity = Literal["running", "idle", "needs_input"]


class KeptError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error that ended a turn, or that a harness waits to get over; the session is as its activity says.

    Attributes:
        code: What it is, where that is known; `limited` for a usage limit.
        message: The harness's words; a secret in logs.
        rule: The rule that named it; empty where the source itself did.
        resets: When a limit ends, in the harness's words.
    """

    code: DiagnosisCode | None = None
    message: str = ""
    rule: str = ""
    resets: str = ""


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


class BackgroundWork(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sub-agent or another piece of work that goes on beside the session's turn.

    Attributes:
        id: The program's own id of it.
        activity: What it does.
        at: When it was said.
        title: What it is about.
        kind: What it is blocked by, where it needs a person.
    """

    id: str
    activity: ClaimedActivity
    at: datetime
    title: str = ""
    kind: NeedsInputKind | None = None
