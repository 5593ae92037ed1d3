"""Draws a page from its blocks and its data, as Markdown. A plugin brings neither HTML nor script, so nothing of it runs.

Each block is an object with a `type`. `rows` names the part of the page's data that it shows; without, it is all of it.

- `text`: `text`, shown as it is.
- `keyvalue`: an object's keys and values.
- `list`: a list's items.
- `table`: a list of objects; `columns` says which of their keys are shown, in order.
- `form`: `action`, the name of what a person can do, and perhaps `fields`, the names of what it takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from inspan.agent.plugins.contract import Page
from inspan.agent.text import clean_text
from inspan.agent.values import Json, JsonObject

__all__ = ["draw_page"]

_MOST_ROWS = 200
_LONGEST_CELL = 300


def draw_page(page: Page, data: Json) -> str:
    """The page: its title, then its blocks. Long lists and long values are cut, and it says so."""
    blocks = [_block(block, data) for block in page.blocks] or [_key_values(data)]
    return "\n\n".join((f"## {_cell(page.title)}", *(block for block in blocks if block)))


def _block(block: JsonObject, data: Json) -> str:
    rows = block.get("rows")
    shown = data if not isinstance(rows, str) else data.get(rows) if isinstance(data, Mapping) else None
    match block.get("type"):
        case "text":
            return _cell(block.get("text", ""), longest=4_000)
        case "keyvalue":
            return _key_values(shown)
        case "list":
            return _bounded([f"- {_cell(item)}" for item in _items(shown)])
        case "table":
            return _table(shown, block.get("columns"))
        case "form":
            fields = ", ".join(f"`{_cell(name)}`" for name in _items(block.get("fields")))
            return f"Action `{_cell(block.get('action', ''))}`" + (
                f", which takes {fields}." if fields else "."
            )
        case _:
            return ""


def _key_values(shown: Json) -> str:
    if not isinstance(shown, Mapping):
        return _cell(shown)
    return _bounded([f"- **{_cell(key)}**: {_cell(value)}" for key, value in shown.items()])


def _table(shown: Json, columns: Json) -> str:
    rows = [row for row in _items(shown) if isinstance(row, Mapping)]
    names = [str(name) for name in _items(columns)] or list(dict.fromkeys(key for row in rows for key in row))
    if not rows:
        return "Nothing is there."
    head = [f"| {' | '.join(_cell(name) for name in names)} |", f"|{'---|' * len(names)}"]
    lines = [f"| {' | '.join(_cell(row.get(name)) for name in names)} |" for row in rows]
    return "\n".join((*head, _bounded(lines)))


def _items(shown: Json) -> Sequence[Json]:
    return cast(Sequence[Json], shown) if isinstance(shown, Sequence) and not isinstance(shown, str) else ()


def _bounded(lines: Sequence[str]) -> str:
    more = len(lines) - _MOST_ROWS
    return "\n".join((*lines[:_MOST_ROWS], *([f"… and {more} more"] if more > 0 else [])))


def _cell(value: Json, *, longest: int = _LONGEST_CELL) -> str:
    """A value on one line, with nothing in it that Markdown or a terminal would take for its own."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    shown = "".join(one if one.isprintable() else " " for one in clean_text(text))
    line = " ".join(shown.split())
    line = line if len(line) <= longest else f"{line[:longest]}…"
    return line.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("`", "'")
