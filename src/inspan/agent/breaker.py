"""Stops a model that makes the same call again and again in one turn."""

from __future__ import annotations

import json
from enum import StrEnum

from .values import JsonObject

__all__ = ["Breaker", "Changes", "Repetition"]

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


class Changes:
    """Counts what whoever works in one workspace may have changed in one turn: a session, and the child agents in it."""

    def __init__(self) -> None:
        self._ever: set[str] = set()
        self.count = 0

    def begin_turn(self) -> None:
        """Forgets which calls were made before."""
        self._ever.clear()

    def note(self, key: str, *, changes: bool) -> None:
        """Takes a call that is about to run; it counts if it may change something and was never made before."""
        if changes and key not in self._ever:
            self.count += 1
        self._ever.add(key)


class Breaker:
    """Counts the identical calls of one turn, or of one child agent in it.

    A call that may change something and was never made before in the turn makes all counts begin again: tests that are
    run after each of several edits are no loop, whoever made the edits.

    Args:
        changes: Those of all who work in the workspace; None counts its own alone.
    """

    def __init__(self, changes: Changes | None = None) -> None:
        self._changes = changes or Changes()
        self._seen_changes = self._changes.count
        self._counts: dict[str, int] = {}

    def see(self, tool: str, arguments: JsonObject, *, changes: bool) -> Repetition:
        """Counts a call that is about to run. `changes`: whether it may change anything."""
        key = f"{tool} {json.dumps(arguments, sort_keys=True, default=str)}"
        self._changes.note(key, changes=changes)
        if self._changes.count != self._seen_changes:
            self._seen_changes = self._changes.count
            self._counts.clear()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        match count:
            case 1:
                return Repetition.FIRST
            case 2:
                return Repetition.SECOND
            case _:
                return Repetition.TOO_OFTEN
