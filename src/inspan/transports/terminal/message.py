"""Messages: text on its way into a console. No character of it may press a key."""

from __future__ import annotations

import re

from inspan.model.errors import UsageError
from inspan.model.typing_recipe import TypingRecipe

from .keys import BRACKETED_PASTE, FOCUS_EVENTS, encode_keys
from .screen import Snapshot

__all__ = ["begins_command", "check_command", "check_message", "encode_message"]

PASTE_BEGIN = b"\x1b[200~"
PASTE_END = b"\x1b[201~"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Everything that is no text: control characters but tab and line feed, and lone surrogates."""


def check_message(text: str) -> str:
    r"""The text with its line ends as `\n`, if no character of it could be taken for a key.

    Escape, the other control characters, DEL and the C1 set end a paste, or press keys where there is none; a
    message that has one was not written by its sender as text, so it is refused and not mended.

    Raises:
        UsageError: `message_has_controls`; nothing was typed.
    """
    text = text.replace("\r\n", "\n")
    found = CONTROLS.search(text)
    if found is not None:
        raise UsageError(
            f"The message has the control character U+{ord(found[0]):04X} at place {found.start() + 1}: "
            "it could press a key in the console.",
            code="message_has_controls",
            hint="Send it without control characters, or put it into a file and name the file.",
        )
    return text


def begins_command(text: str, commands: str) -> bool:
    """Whether a console would take a message for a command of its own.

    What some consoles do with blanks before it is not known, so they do not count.

    Args:
        text: The message.
        commands: The characters with which commands begin.
    """
    first = text.lstrip()[:1]
    return bool(first) and first in commands


def check_command(text: str, commands: str) -> None:
    """Refuses a message that a console would take for a command of its own, and not give to the model.

    Raises:
        UsageError: `message_is_command`; nothing was typed.
    """
    if begins_command(text, commands):
        raise UsageError(
            f"The message begins with {text.lstrip()[0]!r}, by which this console knows a command of its own.",
            code="message_is_command",
            hint="Put a word before it, or send it as the command that it is with `--override REASON`.",
        )


def encode_message(text: str, recipe: TypingRecipe, snapshot: Snapshot) -> tuple[bytes, ...]:
    """A message as the writes that type it, none of them submitting it.

    Raises:
        UsageError: As `check_message`; `message_has_newlines`, where the console takes no paste and Enter would
            submit each line.
    """
    text = check_message(text)
    modes = snapshot.modes or frozenset[int]()
    is_bracketed = recipe.paste == "bracketed" and BRACKETED_PASTE in modes
    if not is_bracketed and ("\n" in text or "\t" in text):
        raise UsageError(
            "The message has more than one line or a tab, and this console takes no paste: keys would be pressed.",
            code="message_has_newlines",
            hint="Send one line, or put it into a file and name the file.",
        )
    data = (text + recipe.text_end).replace("\n", recipe.newline).encode("utf-8", "strict")
    pieces = _cut(data, recipe.chunk_bytes)
    if is_bracketed:
        pieces = [PASTE_BEGIN, *pieces, PASTE_END] if len(pieces) > 1 else [PASTE_BEGIN + data + PASTE_END]
    if recipe.is_focused_first and FOCUS_EVENTS in modes:
        pieces.insert(0, encode_keys(("focus-in",), snapshot))
    return tuple(pieces)


def _cut(data: bytes, size: int) -> list[bytes]:
    """Pieces of at most `size` bytes, but for a character that is longer; none ends inside a character."""
    pieces: list[bytes] = []
    begin = 0
    while begin < len(data):
        end = min(begin + size, len(data))
        while end < len(data) and end > begin + 1 and data[end] & 0xC0 == 0x80:
            end -= 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        pieces.append(data[begin:end])
        begin = end
    return pieces
