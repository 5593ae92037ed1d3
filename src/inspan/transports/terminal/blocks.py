"""Blocks: everything on a console that keeps text from being typed into it. Pure."""

from __future__ import annotations

import msgspec

from inspan.model.evidence import Source
from inspan.model.typing_recipe import TypingBlock

from .arbitration import Verdict
from .composer import ComposerState

__all__ = ["Shown", "what_blocks"]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What counts besides the verdict.

    Attributes:
        composer: The input line.
        is_work_shown: Work is shown, whatever a hook says.
        is_ready: The prompt line has been seen for a while, in this launch, with no dialog.
        has_approval_signal: It is told when the harness waits for an answer; where it is not, work and doubt may be a
            dialog that nobody knows.
    """

    composer: ComposerState
    is_work_shown: bool
    is_ready: bool
    has_approval_signal: bool


def what_blocks(verdict: Verdict, shown: Shown) -> tuple[TypingBlock, ...]:
    """Why nothing may be typed, the strongest first.

    That nobody can say what the console does is no reason by itself: text is typed into an input line that is free,
    on the record. It is one where a dialog may be up unseen: nothing would tell it, and the cursor does not stand in
    the input line either.
    """
    may_hide_dialog = not shown.has_approval_signal and shown.composer == "elsewhere"
    blocks: list[TypingBlock] = []
    match verdict.activity:
        case "needs_input":
            blocks.append("needs_input")
        case "running":
            blocks.append("running")
            if may_hide_dialog:
                blocks.append("activity_unknown")
        case "unknown" if may_hide_dialog:
            blocks.append("activity_unknown")
        case "unknown" | "idle":
            if verdict.source is Source.HOOK and shown.is_work_shown:
                # What a hook said last may be old, and work that is shown is reason enough to wait.
                blocks.append("running")
            if not shown.is_ready:
                blocks.append("not_ready")
            elif shown.composer == "elsewhere":
                blocks.append("draft")
    if shown.composer == "text" or "draft" in verdict.signs:
        blocks.append("draft")
    return tuple(blocks)
