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
    at = snapshot.cursor.row
    if at >= len(snapshot.lines):
        return "elsewhere"
    found = compile_pattern(composer.home).match(snapshot.lines[at].ljust(snapshot.size.columns))
    if found is None:
        return "elsewhere"
    if composer.above and (at == 0 or compile_pattern(composer.above).search(snapshot.lines[at - 1]) is None):
        return "elsewhere"
    return "empty" if snapshot.cursor.column == found.end() else "text"
