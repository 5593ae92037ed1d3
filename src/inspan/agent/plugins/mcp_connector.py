"""A connector to an MCP server that is a program on this machine or stands behind an address.

It is off until somebody lists it, as the module `inspan.agent.plugins.mcp_connector` with the id `mcp`, or under an id
of its own made by `create_mcp_connector`. It needs the extra `mcp`, which is read only when it connects:

    {"id": "mcp", "module": "inspan.agent.plugins.mcp_connector",
     "config": {"command": ["my-server", "--stdio"], "env": ["MY_SERVER_TOKEN"], "tools": ["search", "fetch"]}}

Only the tools that are listed are registered. Secrets do not stand in the configuration: `env` names the variables that
the program gets from this one's environment, `token_env` the one that holds an address's bearer token.
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inspan.agent.plugins.connector import ConnectContext, create_connector_plugin, heeding
from inspan.agent.plugins.contract import RuntimePlugin
from inspan.agent.plugins.mcp_content import result_of
from inspan.agent.threads import run_in_thread
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import Json, JsonObject, ToolResult
from inspan.model.errors import PluginError

if TYPE_CHECKING:
    from mcp import Client

__all__ = [
    "McpConfig",
    "McpConnection",
    "connect_mcp",
    "connect_program",
    "create_mcp_connector",
    "is_safe_address",
    "load_mcp",
    "parse_mcp_config",
    "plugin",
    "streamable",
]

_MOST_PAGES = 50
_CONNECT_TIMEOUT_S = 30.0
_READ_TIMEOUT_S = 300.0  # a server may hold a stream open
_KEYS = {"command", "env", "url", "token_env", "tools", "timeout_s"}


@dataclass(frozen=True, kw_only=True, slots=True)
class McpConfig:
    """Which server, and which of its tools.

    Attributes:
        tools: The tools to register, by the server's names.
        command: The program and its arguments; empty for a server behind an address.
        env: Names of the variables that the program gets.
        url: The server's address, https unless it is on this machine; empty for a program.
        token_env: Name of the variable that holds the bearer token; empty without.
        timeout_s: How long one request may take, seconds.
    """

    tools: tuple[str, ...]
    command: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    url: str = ""
    token_env: str = ""
    timeout_s: float = 60.0


def parse_mcp_config(raw: Json) -> McpConfig:
    """Checks a configuration.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(raw, Mapping) or set(raw) - _KEYS:
        raise ValueError("not an object of the known keys")
    if ("command" in raw) == ("url" in raw):
        raise ValueError("either command or url")
    config = McpConfig(
        tools=_texts(raw, "tools"),
        command=_texts(raw, "command"),
        env=_texts(raw, "env"),
        url=_text(raw, "url"),
        token_env=_text(raw, "token_env"),
        timeout_s=_seconds(raw),
    )
    if not config.tools or not (config.command or is_safe_address(config.url)):
        raise ValueError("no tools, no command, or an address that is neither https nor on this machine")
    return config


def create_mcp_connector(*, id: str) -> RuntimePlugin[McpConfig]:
    """A connector under an id of its own, for whoever connects to several servers."""
    return create_connector_plugin(
        id=id,
        version="1",
        parse_config=parse_mcp_config,
        connect=connect_mcp,
        approved=lambda config: config.tools,
    )


async def connect_mcp(config: McpConfig, ctx: ConnectContext) -> McpConnection:
    """Starts or reaches the server.

    Raises:
        PluginError: `plugin_missing`: the extra `mcp` is not installed.
    """
    if config.command:
        given = {name: os.environ[name] for name in config.env if name in os.environ}
        return await connect_program(config.command, given, ctx.workspace, timeout_s=config.timeout_s)
    await load_mcp()
    from mcp import Client

    async with AsyncExitStack() as stack:
        server = await streamable(stack, config.url, os.environ.get(config.token_env, ""))
        client = await stack.enter_async_context(Client(server, read_timeout_seconds=config.timeout_s))
        return McpConnection(client, stack.pop_all())


async def connect_program(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, *, timeout_s: float = 60.0
) -> McpConnection:
    """Starts a server that is a program.

    Args:
        command: The program and its arguments.
        environment: What it gets beside the few variables that every program needs.
        folder: Where it works.
        timeout_s: How long one request may take, seconds.

    Raises:
        PluginError: `plugin_missing`: the extra `mcp` is not installed.
    """
    await load_mcp()
    from mcp import Client, StdioServerParameters, stdio_client

    program, *arguments = command
    async with AsyncExitStack() as stack:
        # What the program says on standard error belongs neither to a terminal nor to a protocol of ours.
        quiet = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, ASYNC230  the stack closes it
        server = stdio_client(
            StdioServerParameters(command=program, args=arguments, env=dict(environment), cwd=str(folder)),
            errlog=quiet,
        )
        client = await stack.enter_async_context(Client(server, read_timeout_seconds=timeout_s))
        return McpConnection(client, stack.pop_all())


async def streamable(stack: AsyncExitStack, url: str, token: str) -> Any:
    """A transport to an address, with a bearer token if there is one. `stack` closes what it needs."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    http = await stack.enter_async_context(
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx2.Timeout(_CONNECT_TIMEOUT_S, read=_READ_TIMEOUT_S),
        )
    )
    return streamable_http_client(url, http_client=http)


async def load_mcp() -> None:
    """Reads the library, in a thread since it takes half a second.

    Raises:
        PluginError: `plugin_missing`: the extra is not installed.
    """
    try:
        await run_in_thread(partial(import_module, "mcp"), name="import mcp")
    except ModuleNotFoundError:
        missing = True
    else:
        missing = False
    if missing:
        raise PluginError(
            "Connectors to MCP servers need the extra 'mcp', which is not installed.",
            code="plugin_missing",
            hint="pip install 'inspan[mcp]'",
        )


class McpConnection:
    """An open connection. Fulfils `ConnectorClient`.

    Args:
        client: The library's client, entered.
        stack: Closes it and all that it needs, in the task that opened it.
    """

    def __init__(self, client: Client, stack: AsyncExitStack) -> None:
        self._client = client
        self._stack = stack

    async def tools(self) -> Sequence[Tool]:
        """All tools of the server."""
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            tools += [
                Tool(
                    name=one.name,
                    description=one.description or one.title or one.name,
                    input_schema=cast(JsonObject, one.input_schema),
                    execute=partial(self._call, one.name),
                )
                for one in page.tools
            ]
            cursor = page.next_cursor
            if cursor is None:
                break
        return tools

    async def close(self) -> None:
        """Ends the connection, and the program if it is one."""
        await self._stack.aclose()

    async def _call(self, name: str, arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        return result_of(await heeding(ctx.cancel, self._client.call_tool(name, dict(arguments))))


def is_safe_address(url: str) -> bool:
    """Whether a token may be sent there: by https, or without it to this machine alone."""
    parts = urllib.parse.urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https"
        or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"))
    )


def _texts(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = raw.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in cast(list[object], value)):
        raise ValueError(f"{key} is a list of texts")
    return tuple(cast(list[str], value))


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} is a text")  # noqa: TRY004  one kind of error for a bad configuration
    return value


def _seconds(raw: Mapping[str, Any]) -> float:
    value = raw.get("timeout_s", 60.0)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 3600:
        raise ValueError("timeout_s is a number of seconds")
    return float(value)


plugin = create_mcp_connector(id="mcp")
"""What an entry's `module` refers to."""
