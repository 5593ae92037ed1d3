"""The daemon's lifetime: since when it runs, and the one request to stop."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

__all__ = ["Lifetime"]


class Lifetime:
    """What every part of the daemon shares about its life.

    Attributes:
        started_at: Since when it runs.
        is_stopping: Whether it takes no new work.
    """

    def __init__(self) -> None:
        self.started_at = datetime.now(UTC)
        self.is_stopping = False
        self._stop = asyncio.Event()

    def refuse_work(self) -> None:
        """From here every request but those that are under way is refused."""
        self.is_stopping = True

    def stop(self) -> None:
        """Asks the daemon to stop. Calling it twice does nothing more."""
        self.is_stopping = True
        self._stop.set()

    async def until_stopped(self) -> None:
        """Returns once the daemon was asked to stop."""
        await self._stop.wait()
