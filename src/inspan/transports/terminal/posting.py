"""Posting: a prompt that goes into the harness's inbox instead of being typed. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

from inspan.model.typing_recipe import TypingBlock
from inspan.transports.machine import Outgoing

from .typist import Sight, Typed, block_typing

__all__ = ["after_post", "post_text"]


def post_text(typed: Typed, sight: Sight) -> tuple[TypingBlock, Outgoing]:
    """Why a prompt may not be posted now, which is why it could not be typed either; and the write that posts it."""
    block = block_typing(sight, ignores=frozenset[TypingBlock]({"typing"}) | set(typed.ignores))
    data = typed.text.encode("utf-8", "replace")
    return block, Outgoing(data=data, purpose="inbox", delivery=typed.delivery)


def after_post(typed: Typed, block: TypingBlock, now: datetime) -> Typed | None:
    """How far a prompt is once its post has ended; `None` where nothing is to follow from it any more.

    Args:
        typed: How far it was.
        block: As `WatchingMachine.note_written` takes it.
        now: The time.
    """
    match block:
        case "":
            phase = "working" if typed.phase == "working" else "submitted"
            return msgspec.structs.replace(typed, text="", is_writing=False, phase=phase, at=now)
        case "command":
            # The inbox refused it, so it is typed.
            return msgspec.structs.replace(typed, is_posted=False, is_writing=False)
        case _:
            return None
