"""What the daemon needs of the store: to read events, to hear of new ones, and to have the log examined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from inspan.model.events import Envelope
from inspan.model.views import StoreReport

__all__ = ["EventLog"]


class EventLog(Protocol):
    """The log of events. `inspan.store.Store` fulfils it."""

    @property
    def status(self) -> str:
        """`ok`, or the code of what last kept the log from being written."""
        ...

    def last_position(self) -> int:
        """The newest durable event's position, 0 in an empty log."""
        ...

    def events(
        self,
        *,
        after: int = 0,
        seat: str | None = None,
        types: frozenset[str] | None = None,
        limit: int = 1000,
    ) -> Sequence[Envelope]:
        """The next durable events behind `after`, in order. Blocks for as long as the disk does."""
        ...

    def subscribe(self, callback: Callable[[tuple[Envelope, ...]], None], /) -> Callable[[], None]:
        """Calls back on the event loop with every batch that became durable, in order; gives its end."""
        ...

    async def check(self) -> StoreReport:
        """Examines the log, and compares the projections with it."""
        ...

    async def rebuild(self) -> StoreReport:
        """Builds the projections anew."""
        ...
