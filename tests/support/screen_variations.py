"""Variations of recorded screens: the same dialog at another size, about another command, in other words.

A recording shows one screen. What it *is* does not hang on the size of the terminal, on the command that is asked
about or on the word beside a spinner, so the same rules have to hold for the screens that these functions make of
it: rows are wrapped as consoles wrap them, boxes and lines across are drawn as wide as the terminal, and the whole
is painted again as bytes.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from inspan.transports.terminal.screen import CursorPlace, ScreenSize, Snapshot

__all__ = ["Variation", "drafted", "paint", "resized", "reworded", "varied", "with_text_above"]

LINES = "─━═╌┄▀▄▁▔"
ACROSS = re.compile(rf"^\s*[╭╰┌└├╹╻]?[{LINES}]{{8,}}[{LINES}╮╯┐┘┤]?$|^[─━]{{2,}} .* ?[─━]{{8,}}$|^╭─ .* ─+╮$")
BOXED = re.compile(r"^( ?)((?:│ )+)(.*?)((?: │)+)$")
SPLIT = re.compile(r"^(.*\S)( {4,})(\S.*)$")
MARK = re.compile(r"^\s*(?:[●•■✔✗✕✻✽✢·*◆◦❯›>?$⎿└┃│╭╰─▀▄△▣→←↑↓☐\[]|\d+\.|\(?[A-Za-z]\)) ?")  # noqa: RUF001 - as they are drawn


@dataclass(frozen=True)
class Variation:
    """A screen that was made of a recorded one: its rows, its size, and where its cursor is."""

    rows: tuple[str, ...]
    columns: int
    height: int
    cursor_row: int
    cursor_column: int
    title: str | None
    progress: str | None
    is_alternate: bool | None

    @property
    def size(self) -> ScreenSize:
        """The size of its terminal."""
        return ScreenSize(rows=self.height, columns=self.columns)


def varied(snapshot: Snapshot) -> Variation:
    """A recorded screen as the beginning of variations."""
    cursor: CursorPlace = snapshot.cursor
    return Variation(
        rows=snapshot.lines,
        columns=snapshot.size.columns,
        height=snapshot.size.rows,
        cursor_row=cursor.row,
        cursor_column=cursor.column,
        title=snapshot.title,
        progress=snapshot.progress.state if snapshot.progress else None,
        is_alternate=snapshot.is_alternate,
    )


def reworded(one: Variation, words: dict[str, str]) -> Variation:
    """The same screen with other words (patterns and what takes their place, which may be several rows), wrapped anew."""
    rows = one.rows
    for pattern, other in words.items():
        rows = tuple(re.sub(pattern, other, row) for row in rows)
    return _laid_out(replace(one, rows=rows), one.columns, one.height)


def resized(one: Variation, columns: int, height: int) -> Variation:
    """The same screen on a terminal of another size."""
    return _laid_out(one, columns, height)


def with_text_above(one: Variation, at: int, text: tuple[str, ...]) -> Variation:
    """The same screen with further rows before row `at`, which push out what stands on top."""
    rows = (*one.rows[:at], *text, *one.rows[at:])
    moved = one.cursor_row + (len(text) if one.cursor_row >= at else 0)
    return _cut(replace(one, rows=rows, cursor_row=moved), one.height)


def drafted(one: Variation, old: str, new: str) -> Variation:
    """The same screen with another text in the input line, and the cursor behind it."""
    at = next(at for at, row in enumerate(one.rows) if old in row)
    column = one.rows[at].index(old) + _width(new)
    rows = (*one.rows[:at], one.rows[at].replace(old, new), *one.rows[at + 1 :])
    return replace(one, rows=rows, cursor_row=at, cursor_column=column)


def paint(one: Variation) -> bytes:
    """The bytes that draw it."""
    parts = ["\x1b[?1049h" if one.is_alternate else "", "\x1b[2J"]
    if one.title:
        parts.append(f"\x1b]2;{one.title}\x1b\\")
    if one.progress in ("indeterminate", "set"):
        parts.append("\x1b]9;4;3\x1b\\" if one.progress == "indeterminate" else "\x1b]9;4;1;50\x1b\\")
    for at, row in enumerate(one.rows[: one.height]):
        if row:
            parts.append(f"\x1b[{at + 1};1H{row}")
    parts.append(f"\x1b[{one.cursor_row + 1};{one.cursor_column + 1}H")
    return "".join(parts).encode("utf-8", "surrogatepass")


def _laid_out(one: Variation, columns: int, height: int) -> Variation:
    rows: list[str] = []
    cursor_row, source = one.cursor_row, list(one.rows)
    if columns > one.columns:
        source, cursor_row = _joined(source, one.columns, cursor_row)
    placed = 0
    for at, row in enumerate(source):
        if at == cursor_row:
            placed = len(rows)
        for part in row.split("\n"):
            rows.extend(_wrapped(part, one.columns, columns))
    return _cut(
        replace(
            one,
            rows=tuple(rows),
            columns=columns,
            cursor_row=placed,
            cursor_column=min(one.cursor_column, columns - 1),
        ),
        height,
    )


def _cut(one: Variation, height: int) -> Variation:
    """The rows that such a height has room for: blank ones go first, then those on top."""
    while len(one.rows) > height and (blank := _blank_row(one.rows)) is not None:
        rows = (*one.rows[:blank], *one.rows[blank + 1 :])
        one = replace(one, rows=rows, cursor_row=one.cursor_row - (1 if blank < one.cursor_row else 0))
    end = len(one.rows)
    while end > one.cursor_row + 1 and end > height and not one.rows[end - 1]:
        end -= 1
    over = max(0, end - height)
    missing = max(0, height - end)
    rows = ("",) * missing + one.rows[over:end]
    return replace(one, rows=rows, height=height, cursor_row=max(0, one.cursor_row - over + missing))


def _blank_row(rows: tuple[str, ...]) -> int | None:
    """A row in the longest run of more than three blank rows."""
    runs = [0] * (len(rows) + 1)
    for at, row in enumerate(rows):
        runs[at + 1] = 0 if row else runs[at] + 1
    longest = max(runs)
    return runs.index(longest) - 1 if longest > 3 else None


def _joined(rows: list[str], columns: int, cursor_row: int) -> tuple[list[str], int]:
    """Rows that were wrapped, as one again."""
    joined: list[str] = []
    placed = cursor_row
    for at, row in enumerate(rows):
        before = joined[-1] if joined else ""
        word = row.strip().split(" ", 1)[0] if row.strip() else ""
        is_wrapped = (
            bool(before.strip())
            and bool(word)
            and row.startswith(" ")
            and not row.startswith(" " * 20)
            and not MARK.match(row)
            and not ACROSS.match(before)
            and not ACROSS.match(row)
            and not SPLIT.match(before)
            and not BOXED.match(before)
            and _width(before) + 1 + _width(word) > columns - 2
        )
        if at == cursor_row:
            placed = len(joined) - (1 if is_wrapped else 0)
        if is_wrapped:
            joined[-1] = f"{before} {row.strip()}"
        else:
            joined.append(row)
    return joined, placed


def _wrapped(row: str, old: int, new: int) -> list[str]:
    if ACROSS.match(row) and _width(row) > old // 2:
        return [_stretched(row, new - old)]
    boxed = BOXED.match(row)
    if boxed is not None and (_width(row) > old - 12 or row.startswith("│")):
        indent, left, text, right = boxed.groups()
        # As many columns lie outside of the box as before.
        outside = old - _width(row) if old - 12 < _width(row) <= old else 0
        room = new - outside - len(indent) - len(left) - len(right)
        return [f"{indent}{left}{_filled(part, room)}{right}" for part in _folded(text.rstrip(), room)]
    split = SPLIT.match(row)
    if split and old - 6 <= _width(row) <= old:
        left, gap, right = split.groups()
        room = len(gap) + new - old
        if room >= 2:
            return [f"{left}{' ' * room}{right}"]
        if not right.strip("┃│"):
            return [f"{part}" for part in _folded(left, new - 4)]
        return [_clipped(f"{left} {right}", new)]
    return _folded(row, new)


def _stretched(row: str, by: int) -> str:
    runs = max(re.finditer(rf"([{LINES}])\1*", row), key=lambda run: len(run.group()))
    length = max(1, len(runs.group()) + by)
    return row[: runs.start()] + runs.group(1) * length + row[runs.end() :]


def _folded(text: str, room: int) -> list[str]:
    """A text in rows of at most `room` cells, broken between words where that can be."""
    if _width(text) <= room:
        return [text]
    mark = MARK.match(text)
    indent = " " * (len(mark.group()) if mark else len(text) - len(text.lstrip()))
    if mark and text.lstrip().startswith("┃"):
        indent = mark.group()
    rows: list[str] = []
    rest = text
    while _width(rest) > room:
        fits = _fits(rest, room)
        space = rest.rfind(" ", len(indent) + 1, fits + 1)
        cut = space if space > 0 else fits
        rows.append(rest[:cut].rstrip())
        rest = indent + rest[cut:].lstrip()
        if len(rows) > 60:
            break
    rows.append(rest)
    return rows


def _fits(text: str, room: int) -> int:
    used = 0
    for at, character in enumerate(text):
        used += _width(character)
        if used > room:
            return at
    return len(text)


def _clipped(text: str, room: int) -> str:
    return text[: _fits(text, room)]


def _filled(text: str, room: int) -> str:
    return text + " " * max(0, room - _width(text))


def _width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    return (
        len(text) + wide - sum(unicodedata.combining(one) != 0 or one in "\ufe0e\ufe0f\u200d" for one in text)
    )
