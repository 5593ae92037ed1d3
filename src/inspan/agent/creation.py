"""An agent before it is there: what `Agent.create` gives, to be awaited or entered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspan.agent.agent import Agent

__all__ = ["AgentCreation"]


class AgentCreation:
    """An agent that is about to be made: await it, or enter it with `async with`. Good for once."""

    def __init__(self, make: Callable[[], Awaitable[Agent]]) -> None:
        self._make = make
        self._agent: Agent | None = None

    def __await__(self) -> Generator[object, None, Agent]:
        """The agent; whoever awaits it closes it."""
        return self._make().__await__()

    async def __aenter__(self) -> Agent:
        """The agent."""
        self._agent = await self._make()
        return self._agent

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        if self._agent is not None:
            await self._agent.close()
