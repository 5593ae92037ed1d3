"""How much is measured: whole, for the page, or small, to see that the benchmark works."""

from __future__ import annotations

import msgspec

__all__ = ["Scale"]


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured.

    Attributes:
        rounds: How often each side is measured, in turns.
        is_small: Whether counts and durations are cut to what shows that the benchmark works.
    """

    rounds: int = 5
    is_small: bool = False

    def count(self, whole: int, *, small: int) -> int:
        """A count at this scale."""
        return small if self.is_small else whole

    def seconds(self, whole: float, *, small: float) -> float:
        """A duration at this scale."""
        return small if self.is_small else whole
