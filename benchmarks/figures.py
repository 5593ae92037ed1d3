"""Figures: what a benchmark answers, and whether that meets its target."""

from __future__ import annotations

import os
import statistics
from typing import Literal

import msgspec

__all__ = ["Figure", "Target", "load_average"]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a figure should be.

    Attributes:
        of: The `ratio` of ours to the peer's, or `ours` alone.
        bound: Whether the limit is the least or the most that will do.
        limit: The limit.
    """

    of: Literal["ratio", "ours"]
    bound: Literal["at least", "at most"]
    limit: float


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One answer.

    Attributes:
        what: What was measured, in words.
        unit: Its unit.
        ours: Inspan's value in each round, in order.
        target: What it should be; `None` where it is only told.
        peer_name: Who it is compared with.
        peer: The peer's value in each round, taken in turns with ours.
        reported_peer: The peer's value as somebody else reported it: used for the ratio where `peer` is empty,
            and always shown as what it is.
        note: What a reader must know to judge it.
        load: The machine's load average over a minute, before the first round and after the last.
    """

    what: str
    unit: str
    ours: list[float]
    target: Target | None = None
    peer_name: str = ""
    peer: list[float] = []
    reported_peer: float | None = None
    note: str = ""
    load: tuple[float, float] = (0.0, 0.0)

    @property
    def our_median(self) -> float:
        """The median of ours."""
        return statistics.median(self.ours)

    @property
    def peer_median(self) -> float | None:
        """The median of the peer's measured values."""
        return statistics.median(self.peer) if self.peer else None

    @property
    def ratio(self) -> float | None:
        """Ours divided by the peer's: the median over the rounds, so that load that comes and goes hits both.

        Where the two have different numbers of rounds, the ratio of the medians.
        """
        if self.peer and len(self.peer) == len(self.ours):
            pairs = [a / b for a, b in zip(self.ours, self.peer, strict=True) if b]
            return statistics.median(pairs) if pairs else None
        other = self.peer_median if self.peer else self.reported_peer
        return self.our_median / other if other else None

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; `None` where there is none, or nothing to compare with."""
        if self.target is None:
            return None
        value = self.ratio if self.target.of == "ratio" else self.our_median
        if value is None:
            return None
        return value >= self.target.limit if self.target.bound == "at least" else value <= self.target.limit

    @property
    def miss(self) -> str:
        """By how much the target is missed; empty where it is not."""
        if self.target is None or self.is_met is not False:
            return ""
        value = self.ratio if self.target.of == "ratio" else self.our_median
        assert value is not None
        return f"{abs(value / self.target.limit - 1):.0%} {'short' if self.target.bound == 'at least' else 'over'}"


def load_average() -> float:
    """The machine's load average over the last minute."""
    return os.getloadavg()[0]
