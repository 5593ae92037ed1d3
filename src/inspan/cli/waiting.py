"""Waiting for a prompt that was queued: following it, showing it, and its outcome as the exit status."""

from __future__ import annotations

from .amounts import counted
from .context import Context
from .exits import exit_of_delivery, exit_of_outcome
from .fields import Json, number, text
from .following import Ending, Follower, has_person, is_over, tell_ending, turn_view
from .rendering import Renderer

__all__ = ["follow", "wait_for"]


def wait_for(context: Context, delivery: Json, *, after: int, timeout_s: float | None) -> int:
    """Follows `delivery` (see `follow`), prints what became of it, and gives the exit status."""
    ending = follow(context, delivery, after=after, timeout_s=timeout_s)
    if context.output.is_json:
        context.output.value(ending.as_json())
    else:
        tell_ending(context, ending)
    return ending.status


def follow(context: Context, delivery: Json, *, after: int, timeout_s: float | None = None) -> Ending:
    """Follows `delivery` to its end.

    Args:
        context: Where to ask and to show.
        delivery: Its view, as the daemon answered when it was queued.
        after: A position of the log before it was queued.
        timeout_s: When to stop waiting.
    """
    if is_over(delivery):
        return Ending(
            exit_of_outcome(text(delivery, "turn_outcome"))
            if text(delivery, "turn_outcome")
            else exit_of_delivery(text(delivery, "state")) or exit_of_outcome("lost"),
            delivery,
            turn_view(context, text(delivery, "turn")),
            "",
            [],
            [],
            [],
            has_run_out=False,
        )
    renderer = None if context.output.is_json else Renderer(context.output, has_heads=False)
    if renderer is not None and (ahead := int(number(delivery, "ahead") or 0)):
        renderer.line(f"queued after {counted(ahead, 'other prompt')}")
    follower = Follower(
        context,
        delivery,
        renderer=renderer,
        can_ask=renderer is not None and has_person(),
        after=after,
    )
    return follower.follow(timeout_s=timeout_s)
