"""Typing: how text is given to a harness's console, and how one of its dialogs is answered, as data."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .permission import OptionKind

__all__ = ["MIN_BY_BACKGROUND", "Choice", "ChoiceList", "Composer", "Key", "TypingBlock", "TypingRecipe"]

Key = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(enter|escape|tab|space|up|down|left|right|backspace|focus-in|ctrl-[a-z]|[!-~])$"
    ),
]
"""A key: a name, `ctrl-` and a letter, or one printable ASCII character."""

Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]

MIN_BY_BACKGROUND = 3
"""Of two answers with two backgrounds nobody can say which one is marked."""

TypingBlock = Literal[
    "",
    "not_ready",
    "foreground",
    "needs_input",
    "running",
    "activity_unknown",
    "draft",
    "person_typing",
    "typing",
    "command",
]
"""Why nothing may be typed now; empty where it may. `command`: of a text that is a command to the console."""


class Composer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How one sees whether something stands in the harness's input line.

    A placeholder or a suggestion does not move the cursor, typed text does, and a further row of a draft looks
    otherwise. So the input line is empty where the cursor stands right behind what `home` matches in its row.

    Attributes:
        home: The beginning of the cursor's row, up to where typed text begins; the row counts as filled up with
            blanks.
        above: What the row above it looks like; empty for any.
    """

    home: Pattern
    above: Annotated[str, msgspec.Meta(max_length=300)] = ""


class TypingRecipe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a prompt is typed, and a turn interrupted.

    Attributes:
        composer: How the input line is read.
        paste: `bracketed` puts the text between paste marks, where the harness asked for them; `plain` types it.
        newline: What stands for a line's end inside a paste.
        text_end: What is typed behind every text. A blank ends a word for which the console would open a list of
            completions, out of which the keys that submit would take one; only for consoles that drop it again.
        chunk_bytes: At most so many bytes are written at once.
        chunk_delay_s: Seconds between two such writes.
        submit: The keys that submit what was typed; always written apart from the text.
        submit_delay_s: Seconds between the text and `submit`; some consoles take an early Enter for a part of
            the paste.
        submit_tries: How often `submit` is pressed at most, while the text is still seen in the input line.
        submit_gap_s: Seconds between two tries.
        is_focused_first: Write a focus-in report before the text, where the harness asked for them.
        interrupt: The keys that interrupt a turn.
        interrupt_gap_s: Seconds between two of them.
        returns_text: An interrupted prompt stands in the input line again.
        clear: The keys that empty an input line that holds nothing but our own text.
        takes_text_while_running: Text that is submitted during a turn is taken, as a next prompt or to steer.
        commands: The characters by which the console knows a text for a command of its own, which no model gets;
            a prompt that begins with one is refused.
        source: Where the facts come from.
        verified: Date and version.
    """

    composer: Composer
    paste: Literal["bracketed", "plain"] = "bracketed"
    newline: Literal["\r", "\n"] = "\r"
    text_end: Literal["", " "] = ""
    chunk_bytes: Annotated[int, msgspec.Meta(ge=1, le=65536)] = 65536
    chunk_delay_s: Annotated[float, msgspec.Meta(ge=0, le=5)] = 0.0
    submit: Annotated[tuple[Key, ...], msgspec.Meta(min_length=1)] = ("enter",)
    submit_delay_s: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.3
    submit_tries: Annotated[int, msgspec.Meta(ge=1, le=5)] = 2
    submit_gap_s: Annotated[float, msgspec.Meta(ge=0.1, le=10)] = 1.0
    is_focused_first: bool = False
    interrupt: Annotated[tuple[Key, ...], msgspec.Meta(min_length=1)] = ("escape",)
    interrupt_gap_s: Annotated[float, msgspec.Meta(ge=0, le=5)] = 0.2
    returns_text: bool = False
    clear: tuple[Key, ...] = ()
    takes_text_while_running: bool = False
    commands: Annotated[str, msgspec.Meta(max_length=8)] = "/!"
    source: str = ""
    verified: str = ""


class Choice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One answer of a dialog.

    Attributes:
        kind: What it does.
        row: What its row looks like, without the mark of the chosen one.
        keys: Keys that choose and confirm it at once; none where one moves the mark to it and presses `confirm`.
    """

    kind: OptionKind
    row: Pattern
    keys: tuple[Key, ...] = ()


class ChoiceList(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a dialog is answered. A rule without one sees a dialog that only a person can answer.

    Attributes:
        choices: The answers, in any order; those that are on the screen are offered.
        marked: What the row of the marked answer looks like, for choices without keys of their own.
        is_marked_by_background: Instead of `marked`: the marked answer is the one that stands on another background
            than all the others, which share theirs. Only of three answers or more this tells which one is marked; and
            they may stand side by side in one row.
        next: The key that moves the mark on.
        previous: The key that moves it back.
        confirm: The key that takes the marked answer.
        subject: Finds what is asked about, in the group `subject`; searched in the rule's region.
        path: Finds the whole path that is asked about, in the group `path`; searched in the last rows of the screen.
        begins: What the row looks like in which the dialog begins, for one that no box stands around; of several the
            topmost counts. What stands above may change while the question stays. Without a beginning the whole
            screen down to the last answer is what is asked.
    """

    choices: Annotated[tuple[Choice, ...], msgspec.Meta(min_length=1)]
    marked: Annotated[str, msgspec.Meta(max_length=300)] = ""
    is_marked_by_background: bool = False
    next: Key = "down"
    previous: Key = "up"
    confirm: Key = "enter"
    subject: Annotated[str, msgspec.Meta(max_length=300)] = ""
    path: Annotated[str, msgspec.Meta(max_length=300)] = ""
    begins: Annotated[str, msgspec.Meta(max_length=300)] = ""

    def __post_init__(self) -> None:
        """Refuse choices that nobody could take."""
        is_marked = bool(self.marked) or self.is_marked_by_background
        if not is_marked and any(not choice.keys for choice in self.choices):
            raise ValueError("a choice needs `keys`, or the list needs `marked` or `is_marked_by_background`")
        if self.is_marked_by_background and (self.marked or len(self.choices) < MIN_BY_BACKGROUND):
            raise ValueError("`is_marked_by_background` stands instead of `marked`, and needs three choices")
