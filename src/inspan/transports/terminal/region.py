"""Regions: which part of a screen a rule looks at."""

from __future__ import annotations

import re
from typing import Literal

from inspan.model.screen_rules import Region
from inspan.plugin.screen_patterns import compile_pattern

from .screen import Snapshot

__all__ = ["CORNERS", "MAX_ROW", "SIDES", "cut_region", "place_region", "shown_rows"]

MAX_ROW = 400
"""How much of a row is looked at, in characters."""

HORIZONTAL = "─━═╌╍┄┅┈┉▀▄▁▔"
CORNERS = "╭╮╰╯┌┐└┘┏┓┗┛╔╗╚╝├┤┣┫╠╣"
SIDES = "│┃║▌▐|"
BORDER = re.compile(
    rf"^\s*[{CORNERS}]?[{HORIZONTAL}]{{2}}(?:[{HORIZONTAL}]{{2,}}|.*[{HORIZONTAL}])[{CORNERS}]?\s*$"
)
"""A border runs from side to side; words may stand in it."""


def shown_rows(snapshot: Snapshot) -> tuple[str, ...]:
    """The rows of a screen down to the last that is not blank, each cut at `MAX_ROW`."""
    rows = snapshot.lines
    end = len(rows)
    while end and not rows[end - 1]:
        end -= 1
    shown = rows[:end]
    if max(map(len, shown), default=0) <= MAX_ROW:
        return shown
    return tuple(row[:MAX_ROW] for row in shown)


def cut_region(region: Region, rows: tuple[str, ...], cursor_row: int) -> str | None:
    """The text of a region.

    Args:
        region: Which one.
        rows: What `shown_rows` gives.
        cursor_row: Where the cursor is.

    Returns:
        Its rows, joined by line ends; `None` where the screen has no such region.
    """
    place = place_region(region, rows, cursor_row)
    if place is None:
        return None
    found = rows[place.start : place.stop]
    if region.of == "box":
        found = tuple(row.strip().strip(SIDES).strip() for row in found)
    return "\n".join(found)


def place_region(region: Region, rows: tuple[str, ...], cursor_row: int) -> range | None:
    """Which rows a region has; arguments and `None` as for `cut_region`."""
    end = len(rows)
    match region.of:
        case "whole":
            found: range | None = range(end)
        case "last_rows":
            found = range(max(0, end - region.rows), end)
        case "cursor_row":
            found = range(cursor_row, cursor_row + 1) if cursor_row < end else range(0)
        case "box" | "above_box" | "below_box":
            found = _beside_box(region.of, rows)
        case "below":
            at = _anchor(region, rows)
            found = None if at is None else range(at + 1, end)
        case "above":
            at = _anchor(region, rows)
            found = None if at is None else range(at)
    if found is None or not region.rows:
        return found
    return found[: region.rows] if region.of in ("below", "below_box") else found[-region.rows :]


def _anchor(region: Region, rows: tuple[str, ...]) -> int | None:
    search = compile_pattern(region.anchor).search
    order = range(len(rows)) if region.occurrence == "first" else range(len(rows) - 1, -1, -1)
    return next((at for at in order if search(rows[at])), None)


def _beside_box(of: Literal["box", "above_box", "below_box"], rows: tuple[str, ...]) -> range | None:
    borders: list[int] = []
    for at in range(len(rows) - 1, -1, -1):
        if BORDER.match(rows[at]):
            borders.append(at)
            if len(borders) == 2:
                break
    if len(borders) < 2:
        return None
    lower, upper = borders
    match of:
        case "box":
            return range(upper + 1, lower)
        case "above_box":
            return range(upper)
        case "below_box":
            return range(lower + 1, len(rows))
