"""A screen drawn as plain lines with a bar below: what is shown where a program's own drawing cannot be."""

from __future__ import annotations

from collections.abc import Sequence

from .fields import Json, number, texts
from .output import clean, width

__all__ = ["clip", "draw_lines"]


def draw_lines(lines: Sequence[str], bar: str, *, columns: int, rows: int) -> bytes:
    """The bytes that clear a terminal and show `lines`, as many as fit, and `bar` in the last row."""
    shown = "\r\n".join(_fitted(line, columns) for line in lines[: max(rows - 1, 0)])
    last = f"\x1b[{rows};1H\x1b[7m{_fitted(bar, columns)}\x1b[0m"
    return f"\x1b[0m\x1b[H\x1b[2J{shown}{last}".encode("utf-8", "replace")


def clip(screen: Json, *, columns: int, rows: int) -> bytes:
    """The bytes that show a part of a seat's screen (a `ScreenView`) which is larger than this terminal: its lowest with text."""
    lines = texts(screen, "lines")
    height = max(rows - 1, 1)
    filled = max((at + 1 for at, line in enumerate(lines) if line.strip()), default=0)
    top = max(filled - height, 0)
    theirs = f"{number(screen, 'columns') or 0:g}x{number(screen, 'rows') or 0:g}"
    bar = f" a part of {theirs}, without colours: this terminal has {columns}x{rows}"
    return draw_lines(lines[top : top + height], bar, columns=columns, rows=rows)


def _fitted(line: str, columns: int) -> str:
    text = clean(line).replace("\t", " ").replace("\n", " ")[:columns]
    while width(text) > columns:
        text = text[:-1]
    return text
