"""Dumping a libghostty terminal: the bytes that draw the same screen again.

The emulator formats text, pen, tab stops and regions itself. What it does not tell (the saved cursor, the stack of
keyboard flags, the shape of the cursor, the main screen below an alternate one) is asked of a copy that is thrown
away: a copy may be fed whatever brings the answer to light.

The order is what makes the bytes exact: text first, while lines still wrap and nothing is confined to a region; then
what moves the cursor, then the cursor, then the modes that change what later text does; last the beginning of a
sequence that is not whole yet.

source: pyghostty 0.1.3, compared with the terminals that were dumped
verified: 2026-11-30
"""

from __future__ import annotations

from typing import Any

import msgspec

from .ghostty_copy import GhosttyCopy, encode_terminal, read_continuation
from .ghostty_format import GhosttyFormat
from .screen import Progress, ProgressState

__all__ = ["PROGRESS_NUMBERS", "dump_terminal"]

PLAIN_PEN = b"\x1b[0m"
FRESH_PEN = b'\x1b[0m\x1b(B\x1b)B\x0f\x1b[0"q\x1b]8;;\x1b\\'
"""No colours, no link, no protection, the usual characters."""
SAVE_CURSOR = b"\x1b7"
RESTORE_CURSOR = b"\x1b8"
ASK_CURSOR_SHAPE = b"\x1bP$q q\x1b\\"
ORIGIN = 6
MARGINS = 69
CLUSTERS = 2027
SYNCHRONIZED = 2026
ALTERNATES = (47, 1047, 1049)
MODES = (
    *(1, 4, 5, 8, 9, 12, 25, 40, 45, 66, 67),
    *(1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1035, 1036, 1039, 1045),
    *(2004, 2031, 2033, 2048, 5522),
)
"""The DEC private modes that can be set in any order once all is drawn; the others have their own place."""
WRAPPING = 7
INSERTING = 4
ANSI_MODES = (2, 12, 20)
SET_AT_START = frozenset({25, 1007, 1035, 1036})
ANSI_SET_AT_START = frozenset({12})
BYTES_PER_CELL = 16
"""What a cell takes in the emulator's own format at most, with its colours; text of endless clusters takes more."""
SMALL_BYTES = 1024 * 1024
KEYBOARD_DEPTH = 8
"""How many sets of keyboard flags the emulator stacks."""
PROGRESS_NUMBERS: dict[ProgressState, int] = {
    "remove": 0,
    "set": 1,
    "error": 2,
    "indeterminate": 3,
    "pause": 4,
}
"""The emulator's own numbers, in their order."""


class CursorState(msgspec.Struct, frozen=True, kw_only=True):
    """A cursor with everything that is saved with it.

    Attributes:
        row: From the top, from 0.
        column: From the left, from 0.
        before: The bytes that draw the character before the cursor, so that a program can repeat it. Empty if there
            is none.
        before_column: Where that character begins.
        is_waiting: Whether the row is full, and the next character goes to the next row.
        pen: The bytes that set colours, link, protection and character sets.
        is_confined: Whether its places are counted from the corner of the scroll region.
    """

    row: int
    column: int
    before: bytes
    before_column: int
    is_waiting: bool
    pen: bytes
    is_confined: bool


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy tells: the bytes that set the stack of keyboard flags, the shape of the cursor and the saved
    cursor, and those that draw the main screen below an alternate one."""

    keyboard: bytes = b""
    shape: bytes = b""
    saved_cursor: bytes = b""
    below: bytes = b""


def dump_terminal(handle: Any, *, scrollback_lines: int, progress: Progress | None) -> bytes:
    """The bytes that bring a fresh terminal of the same size to what this one shows and is set to."""
    screen = GhosttyFormat(handle)
    is_alternate = screen.value("ACTIVE_SCREEN", "GhosttyTerminalScreen") != 0
    flags = [number for number in ALTERNATES if screen.has_mode(number)]
    encoded = encode_terminal(handle)
    if (
        encoded is not None
        and len(encoded) > screen.total_rows * screen.columns * BYTES_PER_CELL + SMALL_BYTES
    ):
        scrollback_lines = 0
    shown = _draw_rows(screen, scrollback_lines=scrollback_lines)
    entry = (flags[-1] if flags else ALTERNATES[0]) if is_alternate else None
    asked = _ask_copy(encoded, screen, entry=entry, scrollback_lines=scrollback_lines)
    parts = [b"\x1b[?2027h" if screen.has_mode(CLUSTERS) else b""]
    if entry is not None:
        parts.append(asked.below)
        parts += [b"\x1b[?%dh" % number for number in (entry, *flags[:-1])]
        parts.append(PLAIN_PEN + b"\x1b[H\x1b[2J")
    elif flags:
        leave = next((number for number in ALTERNATES if number not in flags), ALTERNATES[0])
        parts += [b"\x1b[?%dh" % number for number in flags]
        parts.append(b"\x1b[?%dl\x1b[H" % leave)
    parts += [shown, asked.keyboard, asked.saved_cursor]
    parts += [_write_settings(screen), _write_modes(screen), asked.shape]
    parts.append(_write_cursor(screen, encoded))
    parts.append(b"\x1b]2;%s\x1b\\" % title if (title := screen.title()) else b"")
    parts.append(_write_progress(progress))
    parts.append(b"\x1b[?2026h" if screen.has_mode(SYNCHRONIZED) else b"")
    parts.append(read_continuation(handle) or b"")
    return b"".join(parts)


def _ask_copy(
    encoded: bytes | None, screen: GhosttyFormat, *, entry: int | None, scrollback_lines: int
) -> Asked:
    """What only a copy can be asked, in an order in which no question spoils the next."""
    if encoded is None:
        return Asked()
    with GhosttyCopy.of(encoded, has_history=entry is not None) as copy:
        keyboard, shape = _write_keyboard(copy), _write_shape(copy)
        saved_cursor = _write_saved_cursor(copy, screen)
        below = b"" if entry is None else _draw_below(copy, entry, scrollback_lines=scrollback_lines)
    return Asked(keyboard=keyboard, shape=shape, saved_cursor=saved_cursor, below=below)


def _draw_below(copy: GhosttyCopy, entry: int, *, scrollback_lines: int) -> bytes:
    """The main screen below an alternate one, with the cursor that it gets back at the end of the other."""
    copy.ask(b"\x1b[?%dl" % entry)
    drawn = _draw_rows(GhosttyFormat(copy.handle), scrollback_lines=scrollback_lines)
    keyboard = _write_keyboard(copy)
    copy.ask(b"\x1b[?6l" + RESTORE_CURSOR)
    cursor = _read_cursor(GhosttyFormat(copy.handle))
    return drawn + keyboard + _place(cursor) + (SAVE_CURSOR if entry != 1049 else b"")


def _draw_rows(screen: GhosttyFormat, *, scrollback_lines: int) -> bytes:
    first = max(0, screen.total_rows - screen.rows - scrollback_lines)
    last = _find_last_row(screen, first)
    below = PLAIN_PEN + b"\r\n" * (screen.total_rows - max(last, first) - 1)
    if last < first:
        return below
    by_row = screen.drawn(first, last, unwrap=False)
    by_line = screen.drawn(first, last, unwrap=True)
    # A line that wrapped and then lost the end of its first row cannot be drawn as one line.
    is_right = by_line == by_row or _draws_the_same(PLAIN_PEN + by_line + below, screen, first_row=first)
    return PLAIN_PEN + (by_line if is_right else by_row) + below


def _find_last_row(screen: GhosttyFormat, first: int) -> int:
    """The last row with text or colour; the one before `first` where there is none."""
    end = screen.total_rows - 1
    for begin in (max(first, screen.total_rows - screen.rows), first):
        text = screen.text(begin, end)
        last = begin + text.count(b"\n") if text else begin - 1
        if last < end:
            coloured = screen.drawn(last + 1, end, unwrap=False)
            last += coloured.count(b"\n") + 1 if coloured else 0
        if last >= begin:
            return last
    return first - 1


def _draws_the_same(drawn: bytes, screen: GhosttyFormat, *, first_row: int) -> bool:
    """Whether the bytes draw the rows from `first_row` on, in a terminal of the same size."""
    with GhosttyCopy.fresh(rows=screen.rows, columns=screen.columns) as scratch:
        scratch.ask((b"\x1b[?2027h" if screen.has_mode(CLUSTERS) else b"") + drawn)
        again = GhosttyFormat(scratch.handle)
        is_as_long = again.total_rows == max(screen.rows, screen.total_rows - first_row)
        wanted = screen.text(first_row, screen.total_rows - 1)
        return is_as_long and again.text(0, again.total_rows - 1) == wanted


def _write_keyboard(copy: GhosttyCopy) -> bytes:
    """The stack of keyboard flags, from its bottom. The copy has lost it afterwards."""
    flags: list[int] = []
    terminal = GhosttyFormat(copy.handle)
    for _ in range(KEYBOARD_DEPTH):
        flags.append(terminal.value("KITTY_KEYBOARD_FLAGS", "uint8_t"))
        copy.ask(b"\x1b[<1u")
    while flags and flags[-1] == 0:
        flags.pop()
    return b"".join(b"\x1b[>%du" % number for number in reversed(flags))


def _write_shape(copy: GhosttyCopy) -> bytes:
    answer = copy.ask(ASK_CURSOR_SHAPE)
    shape = answer.removeprefix(b"\x1bP1$r").removesuffix(b" q\x1b\\")
    return b"\x1b[%s q" % shape if shape.isdigit() else b""


def _write_saved_cursor(copy: GhosttyCopy, screen: GhosttyFormat) -> bytes:
    copy.ask(RESTORE_CURSOR)
    saved = _read_cursor(GhosttyFormat(copy.handle), cells=screen)
    origin = (b"\x1b[?6h", b"\x1b[?6l") if saved.is_confined else (b"", b"")
    return origin[0] + _place(saved) + SAVE_CURSOR + origin[1]


def _read_cursor(screen: GhosttyFormat, *, cells: GhosttyFormat | None = None) -> CursorState:
    """The cursor of a screen. The cells are read elsewhere where a copy has lost some with a character cut in half."""
    cells = cells or screen
    row, column = screen.value("CURSOR_Y", "uint16_t"), screen.value("CURSOR_X", "uint16_t")
    is_waiting = bool(screen.value("CURSOR_PENDING_WRAP", "bool"))
    before, before_column = b"", column
    if is_waiting or column > 0:
        before, before_column = cells.drawn_cell(
            row + cells.total_rows - cells.rows, column if is_waiting else column - 1
        )
    return CursorState(
        row=row,
        column=column,
        before=before or (b" " if is_waiting else b""),
        before_column=before_column,
        is_waiting=is_waiting,
        pen=screen.aside("style", "hyperlink", "protection", "charsets"),
        is_confined=screen.has_mode(ORIGIN),
    )


def _place(cursor: CursorState) -> bytes:
    before = b"\x1b[%d;%dH" % (cursor.row + 1, cursor.before_column + 1) + cursor.before
    place = b"" if cursor.is_waiting else b"\x1b[%d;%dH" % (cursor.row + 1, cursor.column + 1)
    return FRESH_PEN + (before if cursor.before else b"") + place + PLAIN_PEN + cursor.pen


def _write_settings(screen: GhosttyFormat) -> bytes:
    """What the whole terminal is set to and what moves the cursor: tab stops, margins, region."""
    margins = b"\x1b[?69h" if screen.has_mode(MARGINS) else b""
    return screen.aside("tabstops") + margins + screen.aside("scrolling_region") + screen.aside("keyboard")


def _write_modes(screen: GhosttyFormat) -> bytes:
    parts = [
        b"\x1b[?%d%s" % (number, b"h" if is_set else b"l")
        for number in MODES
        if (is_set := screen.has_mode(number)) != (number in SET_AT_START)
    ]
    parts += [
        b"\x1b[%d%s" % (number, b"h" if is_set else b"l")
        for number in ANSI_MODES
        if (is_set := screen.has_mode(number, is_ansi=True)) != (number in ANSI_SET_AT_START)
    ]
    return b"".join(parts)


def _write_cursor(screen: GhosttyFormat, encoded: bytes | None) -> bytes:
    cursor = _read_cursor(screen)
    modes = (b"" if screen.has_mode(WRAPPING) else b"\x1b[?7l") + (
        b"\x1b[4h" if screen.has_mode(INSERTING, is_ansi=True) else b""
    )
    if not cursor.is_confined or encoded is None:
        return _place(cursor) + modes
    with GhosttyCopy.of(encoded, has_history=False) as copy:
        copy.ask(b"\x1b[?6h")
        corner = _read_cursor(GhosttyFormat(copy.handle))
    inside = msgspec.structs.replace(
        cursor,
        row=cursor.row - corner.row,
        column=cursor.column - corner.column,
        before_column=cursor.before_column - corner.column,
    )
    return b"\x1b[?6h" + _place(inside) + modes


def _write_progress(progress: Progress | None) -> bytes:
    if progress is None:
        return b""
    percent = b"" if progress.percent is None else b";%d" % progress.percent
    return b"\x1b]9;4;%d%s\x1b\\" % (PROGRESS_NUMBERS[progress.state], percent)
