"""Views of a console: what is on its screen, and why it is believed to be in its state."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from .console import BackgroundWork, KeptError, LostSay
from .evidence import Source
from .hooks import HooksHeard
from .permission import NeedsInputKind
from .screen_rules import Gate, Sign
from .typing_recipe import Key, TypingBlock

__all__ = [
    "ClaimWeighed",
    "ConsoleExplanation",
    "ConsoleView",
    "CursorView",
    "ForegroundView",
    "PressKeys",
    "ResizeTerminal",
    "RuleTried",
    "ScreenView",
    "StatusRecordView",
]

Side = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class ConsoleView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is believed of a seat's console beside its activity; see `console.ConsoleJudged`.

    Attributes:
        is_ready: A prompt may be typed.
        readiness: Why it is not ready.
        gate: Which dialog of a start-up is up.
        is_drawn: What it waits for is on the screen.
        error: The error that is kept.
        signs: What is seen beside the activity.
        background: Work beside the turn.
        lost: Sources that lost their say.
        can_type: Prompts can be typed into it.
        typing_block: Why nothing may be typed into it now.
        viewers: How many people look on.
        has_writer: Whether one of them may type.
    """

    is_ready: bool
    readiness: str = ""
    gate: Gate | None = None
    is_drawn: bool = False
    error: KeptError | None = None
    signs: tuple[Sign, ...] = ()
    background: tuple[BackgroundWork, ...] = ()
    lost: tuple[LostSay, ...] = ()
    can_type: bool = False
    typing_block: TypingBlock = ""
    viewers: int = 0
    has_writer: bool = False


class CursorView(msgspec.Struct, frozen=True, kw_only=True):
    """Where the cursor is, in cells from 0, and whether it is shown."""

    row: int
    column: int
    is_visible: bool


class ScreenView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a seat's terminal shows. Its text is a secret in logs.

    Attributes:
        seat: The seat.
        columns: Width in cells.
        rows: Height in cells.
        lines: The text of every row from the top, without blanks at its end.
        cursor: The cursor.
        title: The window title.
        progress: The newest progress report, in words.
        is_alternate: Whether the alternate screen is shown.
        modes: The DEC private modes that are set.
        keyboard_flags: The kitty keyboard flags that the program asked for.
        bells: How often the bell rang.
        scrollback: The lines above the screen that were asked for, the oldest first.
        offset: How many bytes the harness has written.
    """

    seat: str
    columns: int
    rows: int
    lines: tuple[str, ...]
    cursor: CursorView
    title: str = ""
    progress: str = ""
    is_alternate: bool = False
    modes: tuple[int, ...] = ()
    keyboard_flags: int = 0
    bells: int = 0
    scrollback: tuple[str, ...] = ()
    offset: int = 0


class ForegroundView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who has the terminal: readiness by process alone says that something runs, not what it talks about.

    Attributes:
        is_harness: Whether the foreground process group is the harness's own; `None` where nobody could tell.
        pid: Its leader.
        name: The leader's program.
    """

    is_harness: bool | None = None
    pid: int | None = None
    name: str = ""


class ClaimWeighed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A claim, and what became of it.

    Attributes:
        source: Its source.
        rule: Its rule.
        says: What it claims.
        outcome: What became of it.
        reason: Why.
        at: When it was said, or seen last.
        age_s: Seconds since then.
        kind: What a person owes.
        gate: Which gate it saw.
        evidence: The text that was matched.
    """

    source: Source
    rule: str
    says: str
    outcome: Literal["believed", "agrees", "outranked", "overruled", "stale", "demoted"]
    reason: str
    at: datetime
    age_s: float
    kind: NeedsInputKind | None = None
    gate: Gate | None = None
    evidence: str = ""


class RuleTried(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A screen rule that was tried.

    Attributes:
        rule: Its name.
        report: What it would say.
        priority: Its priority.
        has_matched: Whether it matched.
        why: What decided it.
        region: The text that it looked at; `None` where the screen has no such region.
    """

    rule: str
    report: str
    priority: int
    has_matched: bool
    why: str
    region: str | None = None


class StatusRecordView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record that the program keeps of itself (OSC 7501); the root has the empty id."""

    id: str
    state: str
    at: datetime
    kind: str = ""
    title: str = ""
    message: str = ""


class ConsoleExplanation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a console is believed to be in its state.

    Attributes:
        claims: Every claim that was weighed, the believed one first.
        rules: Every rule that was tried, first to last.
        records: What the program says of itself.
        suspended: Rules that took too long and are not tried any more.
        discarded_reports: How many status reports broke the protocol's bounds.
        last_discard: Why the newest of them did.
        was_asked: Whether the program asked if status reports are taken, and was told so.
        identity: What the terminal says of itself.
        foreground: Who has the terminal.
        hooks: What came of the harness's hooks; `None` where it has none that are listened to.
    """

    claims: tuple[ClaimWeighed, ...] = ()
    rules: tuple[RuleTried, ...] = ()
    records: tuple[StatusRecordView, ...] = ()
    suspended: tuple[str, ...] = ()
    discarded_reports: int = 0
    last_discard: str = ""
    was_asked: bool = False
    identity: dict[str, str] = {}
    foreground: ForegroundView = ForegroundView()
    hooks: HooksHeard | None = None


class PressKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks for keys to be pressed in a seat's console, by name, for a reason that is recorded first."""

    keys: Annotated[tuple[Key, ...], msgspec.Meta(min_length=1, max_length=64)]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class ResizeTerminal(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Asks for another size of a seat's terminal, in cells."""

    columns: Side
    rows: Side
