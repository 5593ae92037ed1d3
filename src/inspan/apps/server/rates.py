"""How often each caller may call within a minute, by class of route."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from .clock import Clock

__all__ = ["RateClass", "RateLimiter", "RateLimits"]

RateClass = Literal["data", "ops", "polls"]

_WINDOW_S = 60.0
_MOST_CALLERS = 1000


class RateLimits(NamedTuple):
    """Calls within a minute.

    Attributes:
        data: Reads and writes of records, and whatever moves a task on.
        ops: Operations.
        polls: Looks at the queue and at what happened. They are counted apart, so that however many agents wait on one
            credential, one that works still says how far it is: its lease would end otherwise.
    """

    data: int = 1200
    ops: int = 300
    polls: int = 6000


class RateLimiter:
    """Counts calls in windows of a minute, each of which begins with the caller's first call in it."""

    def __init__(self, limits: RateLimits, clock: Clock) -> None:
        """Counts up to `limits`."""
        self._limits = limits
        self._clock = clock
        self._windows: dict[tuple[str, RateClass], tuple[float, int]] = {}

    def retry_after_s(self, caller: str, rate_class: RateClass) -> int | None:
        """Counts one call; the seconds to wait where it is one too many, else `None`."""
        now = self._clock().timestamp()
        key = (caller, rate_class)
        begun, count = self._windows.get(key, (now, 0))
        if not 0 <= now - begun < _WINDOW_S:
            begun, count = now, 0
        if count >= getattr(self._limits, rate_class):
            return max(1, math.ceil(begun + _WINDOW_S - now))
        if key not in self._windows and len(self._windows) >= _MOST_CALLERS:
            self._windows = {
                one: window for one, window in self._windows.items() if now - window[0] < _WINDOW_S
            }
        self._windows[key] = (begun, count + 1)
        return None
