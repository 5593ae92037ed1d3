"""Output: text for people or JSON for programs, and nothing in it that could drive the terminal.

Text is given in pieces. A plain string is always cleaned, wherever it came from; only a `Span` carries a
style, and only this module writes the bytes that switch one on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, TextIO

__all__ = [
    "Output",
    "Piece",
    "Span",
    "bad",
    "bold",
    "clean",
    "cut",
    "dim",
    "good",
    "one_line",
    "toned",
    "warn",
    "width",
]


class Span(NamedTuple):
    """A piece of text with a style: the parameters of an SGR sequence."""

    text: str
    style: str


Piece = str | Span
"""What a line is made of."""


class Output:
    """Where a command writes.

    Attributes:
        is_json: Whether standard output carries JSON values and nothing else.
        stdout: Standard output.
        stderr: Standard error: errors and remarks.
    """

    def __init__(self, *, is_json: bool = False, stdout: TextIO | None = None, stderr: TextIO | None = None):
        self.is_json = is_json
        self.stdout = stdout or sys.stdout
        self.stderr = stderr or sys.stderr

    def value(self, value: object) -> None:
        """Writes one JSON value on one line; on a terminal in ASCII, since JSON leaves C1 characters as they are."""
        import json

        is_ascii = self.stdout.isatty()
        self.stdout.write(json.dumps(value, ensure_ascii=is_ascii, separators=(",", ":")) + "\n")
        self.stdout.flush()

    def line(self, *pieces: Piece) -> None:
        """Writes a line for people."""
        self.stdout.write(self._paint(pieces, self.stdout) + "\n")

    def part(self, *pieces: Piece) -> None:
        """Writes text without an end of line and shows it at once."""
        self.stdout.write(self._paint(pieces, self.stdout))
        self.stdout.flush()

    def flush(self) -> None:
        """Shows what was written."""
        self.stdout.flush()

    def remark(self, *pieces: Piece) -> None:
        """Writes a line on standard error: what happens, what to do next."""
        self.stderr.write(self._paint(pieces, self.stderr) + "\n")
        self.stderr.flush()

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Piece]]) -> None:
        """Writes aligned columns; the last one is as wide as it has to be."""
        cells = [[one_line(cell) for cell in row] for row in rows]
        widths = [
            max([width(title), *(width(_plain(row[column])) for row in cells)])
            for column, title in enumerate(head)
        ]
        self.line(*_padded([dim(title) for title in head], widths))
        for row in cells:
            self.line(*_padded(row, widths))

    def fields(self, rows: Sequence[tuple[str, Piece | Sequence[Piece]]], *, indent: int = 0) -> None:
        """Writes `name  value` lines, aligned; a row with an empty value is left out."""
        shown = [(name, value) for name, value in rows if value not in ("", [], ())]
        widest = max((width(name) for name, _ in shown), default=0)
        for name, value in shown:
            pieces: Sequence[Piece] = [value] if isinstance(value, str | Span) else value
            self.line(" " * indent, dim(name + " " * (widest - width(name))), "  ", *map(one_line, pieces))

    def _paint(self, pieces: Sequence[Piece], stream: TextIO) -> str:
        coloured = _has_colour(stream)
        return "".join(
            clean(piece)
            if isinstance(piece, str)
            else (f"\x1b[{piece.style}m{clean(piece.text)}\x1b[0m" if coloured else clean(piece.text))
            for piece in pieces
        )


def bold(text: str) -> Span:
    """A name or a heading."""
    return Span(text, "1")


def dim(text: str) -> Span:
    """Something by the way."""
    return Span(text, "2")


def good(text: str) -> Span:
    """What is well."""
    return Span(text, "32")


def warn(text: str) -> Span:
    """What wants attention."""
    return Span(text, "33")


def bad(text: str) -> Span:
    """What went wrong."""
    return Span(text, "31")


_TONES = {
    "idle": good,
    "completed": good,
    "started": good,
    "allow": good,
    "yes": good,
    "ok": good,
    "running": bold,
    "starting": bold,
    "needs_input": warn,
    "held": warn,
    "waiting": warn,
    "limited": warn,
    "unknown": warn,
    "lost": bad,
    "failed": bad,
    "refused": bad,
    "deny": bad,
    "unavailable": bad,
    "fail": bad,
    "no": bad,
}


def toned(word: str, detail: str = "") -> Piece:
    """A state's word, and what more is to be said of it, in the tone that suits the word."""
    said = f"{word} ({detail})" if detail else word
    return _TONES[word](said) if word in _TONES else said


def clean(text: str) -> str:
    """`text` with every control character but tab and line feed written out, so that it is only text.

    C0, DEL, C1, the characters that turn the direction of writing, and lone surrogates become `\\x1b`-like
    escapes: a harness's words cannot move the cursor, set a title, or hide a part of what is asked.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_ESCAPES)


def one_line(piece: Piece) -> Piece:
    """The piece with its line ends and tabs as single spaces."""
    if isinstance(piece, Span):
        return Span(_flat(piece.text), piece.style)
    return _flat(piece)


def cut(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` columns, with an ellipsis where something was left out."""
    flat = _flat(text)
    if width(flat) <= limit:
        return flat
    kept: list[str] = []
    used = 0
    for character in flat:
        used += width(character)
        if used > limit - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def width(text: str) -> int:
    """How many columns a terminal gives to `text`."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0
        if unicodedata.combining(one) or unicodedata.category(one) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(one) in ("W", "F")
        else 1
        for one in text
    )


class _Escapes(dict[int, str]):
    """A table for `str.translate` that finds its entries by rule."""

    def __missing__(self, point: int) -> str:
        unsafe = (
            (point < 0x20 and point not in (0x09, 0x0A))
            or 0x7F <= point <= 0x9F
            or 0x202A <= point <= 0x202E
            or 0x2066 <= point <= 0x2069
            or point in (0x200E, 0x200F, 0x061C, 0x2028, 0x2029)
            or 0xD800 <= point <= 0xDFFF
        )
        shown = chr(point) if not unsafe else f"\\x{point:02x}" if point <= 0xFF else f"\\u{point:04x}"
        self[point] = shown
        return shown


_ESCAPES = _Escapes()


def _flat(text: str) -> str:
    return " ".join(text.split()) if any(one in text for one in "\n\t\r") else text


def _plain(piece: Piece) -> str:
    return clean(piece if isinstance(piece, str) else piece.text)


def _padded(row: Sequence[Piece], widths: Sequence[int]) -> list[Piece]:
    pieces: list[Piece] = []
    for column, piece in enumerate(row):
        pieces.append(piece)
        if column < len(row) - 1:
            pieces.append(" " * (widths[column] - width(_plain(piece)) + 2))
    return pieces


def _has_colour(stream: TextIO) -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()
