"""MCP servers that a client names for a session: programs whose tools are this session's alone, and which end with it.

Who starts the agent names them, so they are started unasked. What they say of their tools is not believed: each call is
asked for like any other change. A server that cannot be had costs its own tools alone, and is said in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import msgspec
from msgspec import Meta, Struct

from inspan.agent.acp.peer import INVALID_PARAMS, Params, RpcError
from inspan.agent.argument_checks import ArgumentChecker
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.leases import OwnerLease
from inspan.agent.plugins.connector import MOST_TOOLS, tamed
from inspan.agent.plugins.mcp_connector import McpConnection, connect_program
from inspan.agent.registries import SessionTools
from inspan.agent.tools.contract import Tool
from inspan.model.errors import InspanError, PluginError

__all__ = ["ClientServer", "ClientServers", "servers_in"]

_LOG = logging.getLogger(__name__)
_CONNECT_S = 30.0
_END_S = 10.0


class _Variable(Struct, frozen=True):
    name: str
    value: str


class ClientServer(Struct, frozen=True):
    """A server as a client names it. Its variables are secrets."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[_Variable, ...] = ()
    type: str = "stdio"


def servers_in(params: Params) -> tuple[ClientServer, ...]:
    """The servers that a request names.

    Raises:
        RpcError: They cannot be read, two have one name, or one is no program.
    """
    try:
        servers = msgspec.convert(params.get("mcpServers") or [], tuple[ClientServer, ...])
    except msgspec.ValidationError:
        raise RpcError(INVALID_PARAMS, "The MCP servers cannot be read.") from None
    if any(one.type != "stdio" or not one.command for one in servers):
        raise RpcError(INVALID_PARAMS, "Of MCP servers only programs are started (`stdio`).")
    if len({one.name for one in servers}) < len(servers):
        raise RpcError(INVALID_PARAMS, "Two MCP servers have one name.")
    return servers


class ClientServers:
    """The servers of one session.

    Args:
        tools: The session's.
        folder: Where the programs work.
        connect_s: How long one may take to say what it offers, seconds.
    """

    def __init__(self, tools: SessionTools, folder: Path, *, connect_s: float = _CONNECT_S) -> None:
        self._tools = tools
        self._folder = folder
        self._connect_s = connect_s
        self._changing = asyncio.Lock()
        self._running: list[_Running] = []

    async def serve(self, servers: Sequence[ClientServer]) -> None:
        """Ends those of before and starts these. Returns when each has its tools registered or is given up."""
        async with self._changing:
            await self._end()
            self._running = [_Running(one, self._tools, self._folder) for one in servers]
            try:
                await asyncio.gather(*(one.begun(self._connect_s) for one in self._running))
            except BaseException:
                await self._end()
                raise

    async def close(self) -> None:
        """Ends all of them. Calling it twice is safe."""
        async with self._changing:
            await self._end()

    async def _end(self) -> None:
        running, self._running = self._running, []
        await asyncio.gather(*(one.end() for one in running))


class _Running:
    """One server, owned by one task: a connection is closed in the task that opened it."""

    def __init__(self, server: ClientServer, tools: SessionTools, folder: Path) -> None:
        self._server = server
        self._tools = tools
        self._folder = folder
        self._lease = OwnerLease(f"client:{server.name}")
        self._names: list[str] = []
        self._is_settled = asyncio.Event()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._own())

    async def begun(self, limit_s: float) -> None:
        try:
            async with asyncio.timeout(limit_s):
                await self._is_settled.wait()
        except TimeoutError:
            self._say("did not answer in time")
            self._task.cancel()

    async def end(self) -> None:
        self._withdraw()
        self._stop.set()
        await asyncio.wait({self._task}, timeout=_END_S * 0.8)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=_END_S * 0.2)
        if not self._task.done():
            self._say("did not end")
        elif not self._task.cancelled() and (error := self._task.exception()) is not None:
            self._say(f"did not end well ({_cause(error)})")

    async def _own(self) -> None:
        connection: McpConnection | None = None
        try:
            connection = await connect_program(
                (self._server.command, *self._server.args),
                {one.name: one.value for one in self._server.env},
                self._folder,
            )
            self._register(await connection.tools())
            self._is_settled.set()
            await self._stop.wait()
        except BaseException as error:
            if not is_fault(error):
                raise
            known = f"{error.message} {error.hint}" if isinstance(error, InspanError) else _cause(error)
            self._say(f"gave no tools ({known})")
        finally:
            self._is_settled.set()
            self._withdraw()
            if connection is not None:
                await connection.close()

    def _register(self, found: Sequence[Tool]) -> None:
        checker = ArgumentChecker()
        left_out = max(0, len(found) - MOST_TOOLS)
        for tool in found[:MOST_TOOLS]:
            made = tamed(tool, self._server.name, checker)
            try:
                self._tools.add(made, self._lease.owner, self._lease)
            except PluginError:
                left_out += 1
            else:
                self._names.append(made.name)
        if left_out:
            self._say(f"brings {left_out} tools that are left out: too many, of a taken name, or malformed")

    def _withdraw(self) -> None:
        self._lease.stop("session_closed")
        for name in self._names:
            self._tools.remove(name, self._lease.owner)
        self._names.clear()

    def _say(self, what: str) -> None:
        _LOG.warning("The MCP server %r of the client %s.", self._server.name, what)


def _cause(error: BaseException) -> str:
    """The class of what was raised; of a group's, which alone says nothing, that of the first one in it."""
    if isinstance(error, BaseExceptionGroup):
        return _cause(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return fault_name(error)
