"""Settling: waiting until a seat has come to where it was told to go."""

from __future__ import annotations

import time
from collections.abc import Callable

from .context import Context
from .fields import Json, text

__all__ = ["settle"]

_LOOK_AGAIN_S = 5.0
"""How often a seat is looked at although nothing was heard of it: a harness may settle without an event."""


def settle(
    context: Context, name: str, *, after: int, is_settled: Callable[[Json], bool], timeout_s: float | None
) -> tuple[Json, bool]:
    """The seat's view once `is_settled` holds of it, and whether it does: `False` where time ran out.

    Args:
        context: Where to ask. A daemon that dies meanwhile is started again.
        name: The seat.
        after: A position of the log before the seat was told.
        is_settled: Looks at the seat's view.
        timeout_s: When to stop waiting; never where it is `None`.

    Raises:
        InspanError: `unknown_seat`, or the daemon cannot be had any more.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    stream = context.stream(seat=name, after=after, is_reviving=True)
    try:
        while not is_settled(seat := context.seat(name)):
            look_at = time.monotonic() + _LOOK_AGAIN_S
            if deadline is not None:
                look_at = min(look_at, deadline)
            while (left := look_at - time.monotonic()) > 0:
                envelope = stream.next(timeout_s=left)
                if isinstance(envelope, dict) and _may_settle(text(envelope, "type")):
                    break
            if deadline is not None and time.monotonic() >= deadline:
                seat = context.seat(name)
                return seat, is_settled(seat)
        return seat, True
    finally:
        stream.close()


def _may_settle(kind: str) -> bool:
    return kind.startswith(("launch_", "session_open", "permission_", "question_", "delivery_", "seat_"))
