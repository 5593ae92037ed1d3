"""The composer: whether something stands in a harness's input line."""

from __future__ import annotations

from typing import Literal

from inspan.model.typing_recipe import Composer
from inspan.plugin.screen_patterns import compile_pattern

from .screen import Snapshot

__all__ = ["ComposerState", "read_composer"]

ComposerState = Literal["empty", "text", "elsewhere"]
"""`elsewhere`: the cursor stands in no row that is the first of an input line; it may be a further row of a draft."""


def read_composer(snapshot: Snapshot, composer: Composer) -> ComposerState:
    """What the cursor says of the input line."""
    row = snapshot.lines[snapshot.cursor.row] if snapshot.cursor.row < len(snapshot.lines) else ""
    if compile_pattern(composer.prompt).search(row) is None:
        return "elsewhere"
    return "empty" if snapshot.cursor.column in composer.columns else "text"
