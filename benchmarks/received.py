"""What a client received of the fake agent's updates: which of them, and how late."""

from __future__ import annotations

import math
import re
import time
from collections import Counter

__all__ = ["Received", "percentile"]

_UPDATE = re.compile(rb"n=(\d+) t=(\d+) s=(\w+) ")
_LONGEST_UPDATE = 96


class Received:
    """Finds the agent's updates in bytes of any form: they carry number, clock and session in their text.

    Attributes:
        counts: How often each update came, by session and number.
        latencies_us: How many microseconds passed from writing to receipt, in order of receipt.
        first_written_us: The agent's clock on the earliest update.
        last_received_us: This process's clock at the newest receipt.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[bytes, int]] = Counter()
        self.latencies_us: list[int] = []
        self.first_written_us = 0
        self.last_received_us = 0
        self._rest = b""

    def feed(self, piece: bytes) -> int:
        """Takes bytes that came just now; how many updates they completed."""
        now_us = time.monotonic_ns() // 1000
        data = self._rest + piece
        end = 0
        found = 0
        for match in _UPDATE.finditer(data):
            number, written_us, session = match.groups()
            self.counts[session, int(number)] += 1
            self.latencies_us.append(now_us - int(written_us))
            self.first_written_us = min(self.first_written_us or int(written_us), int(written_us))
            end = match.end()
            found += 1
        self._rest = data[max(end, len(data) - _LONGEST_UPDATE) :]
        if found:
            self.last_received_us = now_us
        return found

    @property
    def total(self) -> int:
        """How many different updates came."""
        return len(self.counts)

    @property
    def doubled(self) -> int:
        """How many came more than once."""
        return sum(1 for count in self.counts.values() if count > 1)

    @property
    def per_second(self) -> float:
        """Updates a second, from the writing of the first to the receipt of the last."""
        passed_us = self.last_received_us - self.first_written_us
        return len(self.counts) * 1e6 / passed_us if passed_us > 0 else 0.0


def percentile(values: list[int], percent: float) -> float:
    """The smallest of `values` that `percent` of them do not exceed.

    Raises:
        ValueError: There are none.
    """
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    return float(ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)])
