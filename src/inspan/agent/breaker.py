"""Stops a model that makes the same call again and again in one turn."""

from __future__ import annotations

import json
from enum import StrEnum

from .values import JsonObject

__all__ = ["Breaker", "Repetition"]

NUDGE = (
    "You made this very call before in this turn, and nothing was changed since. A third time it will not be run: use"
    " what you have, or do something else."
)
STOPPED = (
    "This call was not run: you made it twice already in this turn with the same arguments, and nothing was changed"
    " since. Use the results above, try another way, or say what keeps you from going on."
)


class Repetition(StrEnum):
    """How often a call came."""

    FIRST = "first"
    SECOND = "second"
    TOO_OFTEN = "too_often"


class Breaker:
    """Counts the identical calls of one turn.

    A call that may change something and was never made before in the turn makes all counts begin again: tests that are
    run after each of several edits are no loop.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._ever: set[str] = set()

    def see(self, tool: str, arguments: JsonObject, *, changes: bool) -> Repetition:
        """Counts a call that is about to run. `changes`: whether it may change anything."""
        key = f"{tool} {json.dumps(arguments, sort_keys=True, default=str)}"
        if changes and key not in self._ever:
            self._counts.clear()
        self._ever.add(key)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        match count:
            case 1:
                return Repetition.FIRST
            case 2:
                return Repetition.SECOND
            case _:
                return Repetition.TOO_OFTEN
