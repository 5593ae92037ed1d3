"""Terminal settings: what the `terminal` transport must know of a harness's console."""

from __future__ import annotations

from typing import Annotated

import msgspec

from .inbox import Inbox
from .screen_rules import ScreenRules
from .typing_recipe import TypingRecipe

__all__ = ["TerminalSettings"]

Side = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class TerminalSettings(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What the `terminal` transport must know.

    Attributes:
        rules_file: The file in the manifest's folder that holds the screen rules; empty for none.
        rules: The screen rules, as read from `rules_file`.
        columns: Width of a new terminal, in cells.
        rows: Height of a new terminal, in cells.
        typing: How a prompt is typed; without it the console is only watched.
        inbox: The harness's own way to hand over a prompt; it is used where the daemon was started with
            `INSPAN_INBOX=1`, once the session is known.
        scrollback_lines: How many lines that left the screen are kept.
        chooses_session: Core makes the session's id, a random UUID, and gives it as `{session}` in
            `launch.args`.
    """

    rules_file: Annotated[str, msgspec.Meta(pattern=r"^([a-z0-9][a-z0-9._-]*\.toml)?$")] = ""
    rules: ScreenRules | None = None
    typing: TypingRecipe | None = None
    inbox: Inbox | None = None
    columns: Side = 120
    rows: Side = 40
    scrollback_lines: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 1000
    chooses_session: bool = False
