"""Changes of state that a follower of fake consoles found: each once, and how late."""

from __future__ import annotations

import re
import time

__all__ = ["StateChanges"]

_CHANGE = re.compile(rb"n=(\d+) t=(\d+) s=(\w+) since")
_LONGEST = 96


class StateChanges:
    """Finds the consoles' states in bytes of any form.

    Attributes:
        latencies_us: How many microseconds passed from the change to its discovery, for each change that was found.
    """

    def __init__(self) -> None:
        self.latencies_us: list[int] = []
        self._begun_us = time.monotonic_ns() // 1000
        self._newest: dict[bytes, int] = {}
        self._rest = b""

    @property
    def total(self) -> int:
        """How many changes were found."""
        return len(self.latencies_us)

    def feed(self, piece: bytes) -> None:
        """Takes bytes that came just now, of a stream."""
        data = self._rest + piece
        self._rest = data[max(self.look(data), len(data) - _LONGEST) :]

    def look(self, text: bytes) -> int:
        """Takes a whole text that was found just now; where the last state in it ends."""
        now_us = time.monotonic_ns() // 1000
        end = 0
        for match in _CHANGE.finditer(text):
            number, written_us, session = match.groups()
            end = match.end()
            if int(number) > self._newest.get(session, 0):
                self._newest[session] = int(number)
                # What changed before anybody looked is nobody's delay.
                if int(written_us) >= self._begun_us:
                    self.latencies_us.append(now_us - int(written_us))
        return end
