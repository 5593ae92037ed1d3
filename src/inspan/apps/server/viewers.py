"""How many pages of the app are open, and what is selected in the one that spoke last. In memory alone."""

from __future__ import annotations

import re
from typing import NamedTuple

from .clock import Clock

__all__ = ["VIEWER_TTL_MS", "Selected", "View", "Viewers"]

VIEWER_TTL_MS = 60_000
_MOST_VIEWERS = 1000
_VIEWER_ID = re.compile(r"[\x21-\x7e]{1,64}")


class Selected(NamedTuple):
    """A record that is selected, by its id alone."""

    entity: str
    id: str


class View(NamedTuple):
    """What a person looks at."""

    view: str | None = None
    selected: tuple[Selected, ...] = ()


class Viewers:
    """Counts who looks. A viewer that says nothing for a minute is gone."""

    def __init__(self, clock: Clock) -> None:
        """Counts none yet."""
        self._clock = clock
        self._seen: dict[str, float] = {}
        self.view = View()

    def note(self, viewer: str, *, is_leaving: bool) -> None:
        """Hears of a viewer; an id that has another form is not counted."""
        if not _VIEWER_ID.fullmatch(viewer):
            return
        if is_leaving:
            self._seen.pop(viewer, None)
            if not self._seen:
                self.view = View()
        elif viewer in self._seen or self.count() < _MOST_VIEWERS:
            self._seen[viewer] = self._now_ms()

    def count(self) -> int:
        """How many look now."""
        oldest = self._now_ms() - VIEWER_TTL_MS
        self._seen = {viewer: seen for viewer, seen in self._seen.items() if seen > oldest}
        return len(self._seen)

    def _now_ms(self) -> float:
        return self._clock().timestamp() * 1000
