"""The built-in plugin `connector-cloud`: two tools that reach a person's catalogue of connected services.

The catalogue is an MCP server that they sign in to. It may hold thousands of tools, so none of them stands in a prompt:
the model searches for one and calls it. Nothing is reached before the first call, and until somebody configured the
catalogue and signed in, a call answers with an error that says so. It is on by default, save in ephemeral agents.

Which account is used is decided by who signed in. The model cannot name one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from inspan.agent.argument_checks import ArgumentChecker
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.plugins.connector import heeding
from inspan.agent.plugins.contract import API_VERSION, PluginContext
from inspan.agent.plugins.device_login import DeviceLogin, Service
from inspan.agent.plugins.mcp_connector import is_safe_address, load_mcp, streamable
from inspan.agent.plugins.mcp_content import result_of
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import Json, JsonObject, ToolResult
from inspan.model.errors import PluginError

if TYPE_CHECKING:
    from mcp import Client

__all__ = ["ConnectorCloud", "plugin"]

_PROVIDER = "connector-cloud"
_KEYS = {"url", "client_id", "issuer", "scope"}
_MOST_PAGES = 100
_KEPT_S = 300.0
_MOST_HITS = 20
_LONGEST_DESCRIPTION = 600
_ACCOUNT_ARGUMENTS = frozenset(
    {"account", "account_id", "connected_account", "connected_account_id", "entity_id", "user_id"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Offered:
    """A tool of the catalogue."""

    name: str
    description: str
    input_schema: JsonObject


class ConnectorCloud:
    """The plugin; see the module."""

    id = _PROVIDER
    version = "1"
    api_version = API_VERSION

    def parse_config(self, raw: Json, /) -> Service | None:
        """The catalogue: `url` of its MCP server, `client_id`, and perhaps `issuer` and `scope`; None without any.

        Raises:
            ValueError: It is no such object, or an address is neither https nor on this machine.
        """
        if raw is None:
            return None
        if not isinstance(raw, Mapping) or set(raw) - _KEYS or not {"url", "client_id"} <= set(raw):
            raise ValueError("not an object of the known keys")
        if not all(isinstance(value, str) and value for value in raw.values()):
            raise ValueError("every value is a text")
        texts = cast(Mapping[str, str], raw)
        issuer = texts.get("issuer") or re.sub(r"(?<=[^/:])/(?!/).*", "", texts["url"])
        if not is_safe_address(texts["url"]) or not is_safe_address(issuer):
            raise ValueError("an address is neither https nor on this machine")
        return Service(
            resource=texts["url"], client_id=texts["client_id"], issuer=issuer, scope=texts.get("scope", "")
        )

    def setup(self, ctx: PluginContext[Service | None], /) -> None:
        """Registers the sign-in and the two tools. Reaches nobody."""
        ctx.auth.register(DeviceLogin(_PROVIDER, ctx.config))
        catalogue = _Catalogue(ctx)
        for tool in catalogue.tools():
            ctx.tools.register(tool)


plugin = ConnectorCloud()


class _Catalogue:
    """Searches and calls what the catalogue offers, over a connection a call."""

    def __init__(self, ctx: PluginContext[Service | None]) -> None:
        self._ctx = ctx
        self._checker = ArgumentChecker()
        self._offered: dict[str, _Offered] = {}
        self._read_at = -_KEPT_S

    def tools(self) -> tuple[Tool, Tool]:
        # Neither is read-only: both send the model's own words to a service outside.
        return (
            Tool(
                name="connector_search",
                description=(
                    "Searches the person's connected services (mail, calendars, trackers and the like) for tools that"
                    " fit what you want to do. Gives their names, descriptions and argument schemas, best first, for"
                    " connector_call."
                ),
                input_schema={
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "description": "What you want to do, in a few words."},
                        "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_HITS, "default": 5},
                    },
                    "required": ["query"],
                    "additionalProperties": False,
                },
                kind="search",
                title=lambda arguments: f"Search connected services for {arguments.get('query')}",
                execute=self._search,
            ),
            Tool(
                name="connector_call",
                description=(
                    "Calls a tool of the person's connected services that connector_search found. The account is the"
                    " one that the person signed in with; do not name one."
                ),
                input_schema={
                    "type": "object",
                    "properties": {
                        "tool": {"type": "string", "description": "The name that connector_search gave."},
                        "arguments": {"type": "object", "description": "As the tool's schema wants them."},
                    },
                    "required": ["tool", "arguments"],
                    "additionalProperties": False,
                },
                title=lambda arguments: f"Call {arguments.get('tool')} of a connected service",
                execute=self._call,
            ),
        )

    async def _search(self, arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        async def search(client: Client) -> ToolResult:
            await self._read(client)
            limit = arguments.get("limit", 5)
            found = _best(self._offered.values(), str(arguments.get("query", "")))
            return _told(found[: limit if isinstance(limit, int) else 5])

        return await self._connected(search, ctx)

    async def _call(self, arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        name, given = arguments.get("tool"), arguments.get("arguments")
        if not isinstance(name, str) or not isinstance(given, Mapping):
            return ToolResult.error("connector_call takes the name of a tool and an object of arguments.")
        if named := sorted(_ACCOUNT_ARGUMENTS & set(given)):
            return ToolResult.error(
                f"The account is the one that the person signed in with: leave out {', '.join(named)}."
            )

        async def call(client: Client) -> ToolResult:
            await self._read(client)
            offered = self._offered.get(name)
            if offered is None:
                return ToolResult.error(
                    f"The catalogue has no tool '{name}'. connector_search says what it has."
                )
            if problem := self._problem(offered, given):
                return ToolResult.error(problem)
            return result_of(await client.call_tool(name, dict(given)))

        return await self._connected(call, ctx)

    def _problem(self, offered: _Offered, given: JsonObject) -> str:
        checked = Tool(
            name=offered.name,
            description=offered.description,
            input_schema=offered.input_schema,
            execute=self._call,
        )
        return self._checker.problem(checked, given)

    async def _connected(
        self, work: Callable[[Client], Awaitable[ToolResult]], ctx: ToolCallContext
    ) -> ToolResult:
        """What `work` gives with a connection; an error result if there cannot be one."""
        service = self._ctx.config
        if service is None:
            return ToolResult.error(
                "No catalogue of connected services is configured. The person can set url and client_id of the entry"
                f" '{_PROVIDER}' in plugins.json, or do without."
            )
        try:
            credential = await self._ctx.auth.credential(_PROVIDER)
            if credential is None:
                return ToolResult.error(
                    "Nobody is signed in to the connected services. The person can sign in with"
                    f" `python -m inspan.agent.login {_PROVIDER}`."
                )
            return await heeding(
                ctx.cancel, _with_client(service.resource, str(credential["access_token"]), work)
            )
        except PluginError as error:
            if error.code == "plugin_missing":
                return ToolResult.error(str(error))
            failed = fault_name(error)
        except BaseException as error:
            if not is_fault(error) or ctx.cancel.is_set:
                raise
            failed = fault_name(error)
        return ToolResult.error(f"The catalogue of connected services could not be used ({failed}).")

    async def _read(self, client: Client) -> None:
        """What the catalogue offers, read anew every few minutes."""
        if time.monotonic() - self._read_at < _KEPT_S:
            return
        offered: dict[str, _Offered] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            for one in page.tools:
                description = one.description or one.title or one.name
                schema = cast(JsonObject, one.input_schema)
                offered[one.name] = _Offered(name=one.name, description=description, input_schema=schema)
            cursor = page.next_cursor
            if cursor is None:
                break
        self._offered, self._read_at = offered, time.monotonic()


async def _with_client(url: str, token: str, work: Callable[[Client], Awaitable[ToolResult]]) -> ToolResult:
    await load_mcp()
    from mcp import Client

    async with AsyncExitStack() as stack:
        transport = await streamable(stack, url, token)
        return await work(await stack.enter_async_context(Client(transport)))


def _best(offered: Any, query: str) -> list[_Offered]:
    """Those that have any of the query's words, most of them first; a word in the name counts three times."""
    words = set(re.findall(r"\w+", query.lower()))

    def score(one: _Offered) -> int:
        name = set(re.findall(r"[a-z0-9]+", one.name.lower()))
        said = set(re.findall(r"\w+", one.description.lower()))
        return 3 * len(words & name) + len(words & said)

    scored = sorted(((score(one), one) for one in offered), key=lambda pair: (-pair[0], pair[1].name))
    return [one for points, one in scored if points]


def _told(found: list[_Offered]) -> ToolResult:
    import json

    if not found:
        return ToolResult.of_text("No tool fits. Try other words.")
    return ToolResult.of_text(
        "\n\n".join(
            f"{one.name}: {one.description[:_LONGEST_DESCRIPTION]}\narguments: {json.dumps(one.input_schema)}"
            for one in found
        )
    )
