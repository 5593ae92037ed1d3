"""Console: what is believed of a harness that is seen through its own console, as events tell it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from .diagnosis import DiagnosisCode
from .evidence import Source
from .permission import NeedsInputKind
from .screen_rules import Gate, Sign
from .typing_recipe import Key

__all__ = [
    "BackgroundWork",
    "ConsoleJudged",
    "ConsoleOpened",
    "KeptError",
    "KeysPressed",
    "LostSay",
]


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
    activity: Literal["running", "idle", "needs_input"]
    at: datetime
    title: str = ""
    kind: NeedsInputKind | None = None


class LostSay(msgspec.Struct, frozen=True, kw_only=True):
    """A source that is not believed until it speaks again, and why."""

    source: Source
    reason: str


class ConsoleOpened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="console_opened"):
    """The harness was given a terminal; what the terminal says of itself belongs to the evidence.

    Attributes:
        columns: Width in cells.
        rows: Height in cells.
        identity: What the terminal answers about itself, by name.
        rules_source: Where the screen rules come from; empty where there are none.
        rules_verified: Date and version that they were checked against.
    """

    columns: int
    rows: int
    identity: dict[str, str] = {}
    rules_source: str = ""
    rules_verified: str = ""


class KeysPressed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="keys_pressed"):
    """An operator has keys pressed in a console, whatever is seen there; recorded before they are.

    Attributes:
        keys: The keys, by name.
        reason: Why, in the operator's words.
    """

    keys: tuple[Key, ...]
    reason: str


class ConsoleJudged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="console_judged"):
    """What is believed of a console from here on; it stands until the next one, and corrects the one before.

    Attributes:
        activity: What the session does; `unknown` where nothing reliable was said.
        at: When the source said it.
        kind: What a person owes; only with `needs_input`.
        gate: Which dialog of a start-up is up.
        is_drawn: The dialog is on the screen, so that an answer can be typed.
        error: The error that is kept.
        signs: What is seen beside the activity.
        is_turn_over: A turn has ended, rather than none having begun.
        background: Work that goes on beside the turn.
        lost: Sources that lost their say.
        is_ready: A prompt may be typed: its line is seen, in this launch, with no dialog, and has been for a while.
        readiness: Why it is not ready; empty where it is.
        evidence: The text that was matched, shortened; a secret in logs.
    """

    activity: Literal["unknown", "running", "idle", "needs_input"]
    at: datetime | None = None
    kind: NeedsInputKind | None = None
    gate: Gate | None = None
    is_drawn: bool = False
    error: KeptError | None = None
    signs: tuple[Sign, ...] = ()
    is_turn_over: bool = False
    background: tuple[BackgroundWork, ...] = ()
    lost: tuple[LostSay, ...] = ()
    is_ready: bool = False
    readiness: str = ""
    evidence: str = ""
