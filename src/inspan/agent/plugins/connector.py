"""Makes a plugin of whatever brings tools from outside: an SDK, an MCP server, a service.

What a vendor says of its tools is not believed: each call of one is asked for like any other change, and none is allowed
in plan mode. Whose account is used comes from the configuration or the sign-in, never from the model's arguments.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from inspan.agent.argument_checks import ArgumentChecker
from inspan.agent.cancelling import CancelSignal
from inspan.agent.plugins.contract import API_VERSION, PluginContext, RuntimePlugin
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import Json, JsonObject, ToolResult
from inspan.model.errors import PluginError

__all__ = [
    "MOST_TOOLS",
    "ConnectContext",
    "ConnectorClient",
    "create_connector_plugin",
    "heeding",
    "namespaced",
    "tamed",
]

MOST_TOOLS = 64
"""How many tools one connector may bring. All of them stand in each prompt."""

_LONGEST_NAME = 64

ConfigT = TypeVar("ConfigT")
_R = TypeVar("_R")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectContext:
    """What `connect` is given beside its configuration.

    Attributes:
        signal: Raised when the plugin is to stop.
        logger: The plugin's own, for sanitised diagnostics.
        workspace: The agent's default workspace, absolute and resolved.
    """

    signal: CancelSignal
    logger: logging.Logger
    workspace: Path


class ConnectorClient(Protocol):
    """A connection to whatever brings the tools."""

    async def tools(self) -> Sequence[Tool]:
        """The tools, by the vendor's own names. Each gets its call's signal as `ctx.cancel`, and has to heed it."""
        ...

    async def close(self) -> None:
        """Ends the connection. Runs in the task in which `connect` ran."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Connector(Generic[ConfigT]):
    id: str
    version: str
    parse: Callable[[Json], ConfigT]
    connect: Callable[[ConfigT, ConnectContext], Awaitable[ConnectorClient]]
    approved: Callable[[ConfigT], Collection[str]] | None
    api_version: int = API_VERSION

    def parse_config(self, raw: Json, /) -> ConfigT:
        return self.parse(raw)

    async def setup(self, ctx: PluginContext[ConfigT], /) -> None:
        client = await self.connect(
            ctx.config, ConnectContext(signal=ctx.signal, logger=ctx.logger, workspace=ctx.workspace)
        )
        ctx.on_dispose(client.close)
        tools = self._choose(await client.tools(), ctx)
        if len(tools) > MOST_TOOLS:
            raise PluginError(
                f"The connector '{self.id}' brings {len(tools)} tools, and {MOST_TOOLS} at most may stand in a prompt.",
                code="plugin_contribution_invalid",
                hint="Approve those that are needed by name.",
                detail={"owner": self.id},
            )
        checker = ArgumentChecker()
        for tool in tools:
            ctx.tools.register(tamed(tool, self.id, checker))

    def _choose(self, tools: Sequence[Tool], ctx: PluginContext[ConfigT]) -> list[Tool]:
        if self.approved is None:
            return list(tools)
        wanted = frozenset(self.approved(ctx.config))
        chosen = [tool for tool in tools if tool.name in wanted]
        if missing := wanted - {tool.name for tool in chosen}:
            ctx.logger.warning("It does not offer %d of the tools that were approved.", len(missing))
        return chosen


def create_connector_plugin(
    *,
    id: str,
    version: str,
    parse_config: Callable[[Json], ConfigT],
    connect: Callable[[ConfigT, ConnectContext], Awaitable[ConnectorClient]],
    approved: Callable[[ConfigT], Collection[str]] | None = None,
) -> RuntimePlugin[ConfigT]:
    """A plugin that connects in its setup, registers the connection's tools, and closes it at its end.

    Each tool is registered as `<id>__<name>`, is never read-only nor session-local whatever the vendor says, and has its
    arguments checked against its schema before the vendor gets them.

    Args:
        id: The plugin's id, which the tools' names begin with.
        version: The plugin's version.
        parse_config: As in `RuntimePlugin`.
        connect: Connects. If finding the tools fails afterwards, the connection is closed.
        approved: Which of the vendor's tools are registered, by its names for them; None for all that the client gives,
            at most `MOST_TOOLS`.
    """
    return _Connector(id=id, version=version, parse=parse_config, connect=connect, approved=approved)


def namespaced(owner: str, name: str) -> str:
    """The name under which an owner's tool is registered: only what all providers take, at most 64 characters."""
    space = re.sub(r"[^a-zA-Z0-9_-]", "_", owner)
    whole = f"{space if space[0].isalpha() else 'x' + space}__{re.sub(r'[^a-zA-Z0-9_-]', '_', name)}"
    if len(whole) <= _LONGEST_NAME and whole.endswith(f"__{name}"):
        return whole
    # Two names that were changed or cut must not become one.
    told_apart = hashlib.sha256(f"{owner}\0{name}".encode()).hexdigest()[:8]
    return f"{whole[: _LONGEST_NAME - 9]}_{told_apart}"


async def heeding(cancel: CancelSignal, work: Coroutine[Any, Any, _R]) -> _R:
    """Does `work` until the signal is raised, which cancels it.

    Raises:
        asyncio.CancelledError: The signal was raised, or the caller was cancelled. The work has ended.
    """
    task = asyncio.ensure_future(work)
    leave = cancel.listen(partial(_cancel, task))
    try:
        return await task
    finally:
        leave()


def _cancel(task: asyncio.Future[_R]) -> None:
    task.cancel()


def tamed(tool: Tool, owner: str, checker: ArgumentChecker) -> Tool:
    """A vendor's tool as it may be registered: under its owner's name, asked for, and given only arguments that fit."""
    name = namespaced(owner, tool.name)

    async def execute(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        if problem := checker.problem(made, arguments):
            return ToolResult.error(problem)
        return await tool.execute(arguments, ctx)

    made = replace(tool, name=name, read_only=False, session_local=False, execute=execute)
    return made
