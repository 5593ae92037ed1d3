"""Screen: what a terminal shows, and what it answers; the interface that emulators stand behind.

A screen is fed what a program writes and gives back what a terminal would write to it. It is the one writer of
those answers, so that they keep the order of their questions: a program that asks for its terminal's abilities
takes the first answer that comes as the end of the wait for all the others.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from inspan.model.errors import UsageError

__all__ = [
    "MAX_CELLS",
    "MAX_SIDE",
    "CursorPlace",
    "EventHandler",
    "Progress",
    "ProgressState",
    "Screen",
    "ScreenEvent",
    "ScreenReset",
    "ScreenSize",
    "Snapshot",
    "UnknownSequence",
    "ignore_event",
]

MAX_SIDE = 1000
"""The longest side of a screen, in cells."""
MAX_CELLS = 250_000
"""The largest screen, in cells: each cell costs memory for as long as the seat lives."""

ProgressState = Literal["remove", "set", "error", "indeterminate", "pause"]


class ScreenSize(msgspec.Struct, frozen=True, kw_only=True):
    """Height and width in cells."""

    rows: int
    columns: int

    def __post_init__(self) -> None:
        """Refuse what no screen can be.

        Raises:
            UsageError: A side is under 1 or over `MAX_SIDE`, or the whole over `MAX_CELLS`.
        """
        sides = (self.rows, self.columns)
        if min(sides) < 1 or max(sides) > MAX_SIDE or self.rows * self.columns > MAX_CELLS:
            raise UsageError(
                f"a screen of {self.columns} columns and {self.rows} rows is not possible",
                hint=f"give sides from 1 to {MAX_SIDE} and at most {MAX_CELLS} cells in all",
            )


class CursorPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the cursor is, counted in cells from 0, and whether it is shown.

    Programs that draw a cursor of their own hide this one and still keep it where text would be typed.
    """

    row: int
    column: int
    is_visible: bool


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The newest progress report (OSC 9;4): its state, and `percent` where it gave one."""

    state: ProgressState
    percent: int | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What the screen shows at one moment. `None` means that this emulator cannot tell.

    Attributes:
        size: Height and width.
        lines: The text of every row from the top, without blanks at its end; as many as the screen has rows.
        cursor: The cursor.
        title: The window title, at most 1,024 characters, controls removed.
        progress: The newest progress report; `None` also where there was none.
        bells: How often the bell rang since the start.
        is_alternate: Whether the alternate screen is shown.
        modes: The DEC private modes that are set, by number, of those that matter to us.
        keyboard_flags: The kitty keyboard flags that the program asked for.
        is_held: The program is in the middle of a synchronized update: what is shown is half drawn.
        backgrounds: For every row the names of the backgrounds below its characters, as many as it has; `None` also
            where nobody asked for them.
        revision: Grows with every feed and resize.
    """

    size: ScreenSize
    lines: tuple[str, ...]
    cursor: CursorPlace
    revision: int
    title: str | None = None
    progress: Progress | None = None
    bells: int | None = None
    is_alternate: bool | None = None
    modes: frozenset[int] | None = None
    keyboard_flags: int | None = None
    is_held: bool = False
    backgrounds: tuple[tuple[str, ...], ...] | None = None


class UnknownSequence(msgspec.Struct, frozen=True, kw_only=True):
    """A whole sequence that the emulator does not carry out.

    Attributes:
        kind: `osc`, or `apc` for the other strings that a terminal swallows.
        content: What stands between introducer and terminator; for `osc` it begins with the number.
        is_truncated: Whether the end of `content` was cut off.
        terminator: How an `osc` ended; an answer ends the same way.
    """

    kind: Literal["osc", "apc"]
    content: bytes
    is_truncated: bool = False
    terminator: Literal["bel", "st"] | None = None


class ScreenReset(msgspec.Struct, frozen=True, kw_only=True):
    """What a program said of itself before this no longer holds: a full reset (ESC c), or a shell's prompt mark."""

    cause: Literal["full_reset", "shell_prompt"]


ScreenEvent = UnknownSequence | ScreenReset


class EventHandler(Protocol):
    """Takes what the emulator hands out, while it is being fed and in byte order."""

    def __call__(self, event: ScreenEvent) -> bytes:
        """Answer an event; the answer takes its place among the terminal's own. Empty for none."""
        ...


def ignore_event(event: ScreenEvent) -> bytes:
    """An `EventHandler` that answers nothing."""
    del event
    return b""


class Screen(Protocol):
    """A terminal without a window. Not thread-safe: one owner feeds, resizes and looks."""

    @property
    def engine(self) -> str:
        """The name of the emulator."""
        ...

    @property
    def answers(self) -> bool:
        """Whether it answers what programs ask and hands out unknown sequences.

        A screen that does not is good for looking at recordings only.
        """
        ...

    def feed(self, data: bytes) -> bytes:
        """Show what a program wrote; sequences and characters may be cut anywhere between two calls.

        Returns:
            What a terminal would write back, in the order of the questions.

        Raises:
            Exception: What the event handler raised; the whole of `data` was shown all the same.
        """
        ...

    def resize(self, size: ScreenSize) -> bytes:
        """Take another size; as `feed`, gives back what a terminal would write."""
        ...

    def snapshot(self) -> Snapshot:
        """What is shown now. Costs nothing while nothing was fed."""
        ...

    def painted(self) -> Snapshot:
        """What is shown now with its backgrounds, which cost more than all the rest."""
        ...

    @property
    def is_at_ground(self) -> bool:
        """Whether what was fed is known to end between two sequences and two characters."""
        ...

    def scrollback(self, lines: int) -> tuple[str, ...]:
        """The newest rows that scrolled out at the top, oldest first, at most `lines`, without blanks at their ends.

        An alternate screen has none: then it is empty.
        """
        ...

    def dump(self, *, scrollback_lines: int = 1000) -> bytes:
        """The bytes that bring a fresh screen of the same size to what this one shows.

        They hold the text with its colours, up to `scrollback_lines` rows above it, the main screen below an
        alternate one, cursor and saved cursor, modes, keyboard flags, regions, tab stops, title and progress, and at
        the end the beginning of a sequence that is not whole: what follows in the stream goes on from there. They
        ring no bell, reset nothing and mark no prompt. A fresh screen may answer to them; that answer is for nobody.

        What is not in them: bells, addresses of links, prompt marks, images, colours of the palette, saved modes, the
        alternate screen while the main one is shown, and what a program would repeat (REP) after it changed the
        character set or without having written anything. Clusters that were written before clustering (mode 2027) was
        switched are clustered as it is now. A sequence longer than 1 MiB is left out, and then also what
        only a copy of the screen can tell: the main screen below, the saved cursor and the stack of keyboard flags.
        `is_at_ground` is true wherever nothing is left out in this way. The rows above are left out if they hold little
        but marks on marks, megabytes of them.
        """
        ...

    def close(self) -> None:
        """Free the emulator. May be called twice; nothing else may be called after it."""
        ...
