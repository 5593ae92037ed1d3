"""One span of time for several steps, shared out so that a step that hangs leaves some of it to those after it."""

from __future__ import annotations

import asyncio

__all__ = ["Budget"]

_SHARE = 0.8


class Budget:
    """Time that began to run when this was made.

    Args:
        total_s: How much there is, seconds.
    """

    __slots__ = ("_ends_at",)

    def __init__(self, total_s: float) -> None:
        self._ends_at = asyncio.get_running_loop().time() + total_s

    @property
    def left_s(self) -> float:
        """What is left, at least zero, seconds."""
        return max(0.0, self._ends_at - asyncio.get_running_loop().time())

    def share_s(self, *, is_last: bool) -> float:
        """What the next step may take: everything if it is the last one, else four fifths of what is left."""
        return self.left_s if is_last else self.left_s * _SHARE
