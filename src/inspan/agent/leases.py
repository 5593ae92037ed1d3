"""Who still works on whose behalf: each owner of contributions has a lease, and every call into one is made under it.

A stopped lease refuses the next call at once, wherever a copy of the contribution was kept; the calls that are under
way are counted, so that a stop can wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.model.errors import PluginError

__all__ = ["Lease", "OwnerLease"]


class Lease(Protocol):
    """Permission to call what one owner contributed, for as long as that owner lives."""

    @property
    def signal(self) -> CancelSignal:
        """Raised when the owner stops."""
        ...

    @property
    def is_alive(self) -> bool:
        """Whether a call may begin."""
        ...

    def enter(self) -> AbstractContextManager[None]:
        """Counts a call for as long as the context is open. May be entered any number of times at once.

        Raises:
            PluginError: `plugin_stopped`, on entering, once the owner has stopped.
        """
        ...


class OwnerLease:
    """The lease of one owner: a plugin, the agent's built-in tools, or its embedder.

    Args:
        owner: A plugin's id, `builtin` or `embedder`; named in the refusal.
    """

    __slots__ = ("_idle", "_in_flight", "_source", "owner")

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._source = CancelSource()
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def signal(self) -> CancelSignal:
        """Raised when the owner stops."""
        return self._source.signal

    @property
    def is_alive(self) -> bool:
        """Whether a call may begin."""
        return not self._source.signal.is_set

    @property
    def in_flight(self) -> int:
        """How many calls are under way."""
        return self._in_flight

    def enter(self) -> AbstractContextManager[None]:
        """Counts a call for as long as the context is open.

        Raises:
            PluginError: `plugin_stopped`, on entering, once the owner has stopped.
        """
        return self._counted()

    def stop(self, reason: str = "plugin_stopped") -> None:
        """Refuses every further call and raises the signal. Calling it twice is safe."""
        self._source.cancel(reason)

    async def drained(self) -> None:
        """Returns when no call is under way. It has no limit of its own."""
        await self._idle.wait()

    @contextmanager
    def _counted(self) -> Generator[None]:
        if not self.is_alive:
            raise PluginError(
                f"'{self.owner}' has stopped, and takes no calls any more.",
                code="plugin_stopped",
                hint="What it contributed is gone until an agent is made that has it again.",
                detail={"owner": self.owner},
            )
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()
