"""Connectors: what comes from outside is approved by name, asked for, checked, cancelled and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.cancelling import CancelSource
from inspan.agent.plugins.connector import (
    MOST_TOOLS,
    ConnectContext,
    create_connector_plugin,
    heeding,
    namespaced,
)
from inspan.agent.plugins.entries import InlinePlugin
from inspan.agent.tools.contract import TOOL_NAME, Tool, ToolCallContext
from inspan.agent.values import JsonObject, ToolResult
from support.runtime_plugins import call_context, called, make_tool, open_host


class Client:
    """A vendor's client, of parts that a test cares about."""

    def __init__(self, *tools: Tool, fails: bool = False) -> None:
        self.closed = 0
        self.contexts: list[ConnectContext] = []
        self._tools = tools
        self._fails = fails

    async def connect(self, config: Any, ctx: ConnectContext) -> Client:
        self.contexts.append(ctx)
        return self

    async def tools(self) -> Sequence[Tool]:
        if self._fails:
            raise ConnectionError("sk-secret")
        return self._tools

    async def close(self) -> None:
        self.closed += 1


def connector(client: Client, approved: Callable[[Any], Any] | None = None, *, name: str = "vendor") -> Any:
    return create_connector_plugin(
        id=name, version="1", parse_config=lambda raw: raw, connect=client.connect, approved=approved
    )


@pytest.mark.requirement("R93", "R94", "R96")
def test_a_connector_is_a_plugin_whose_tools_are_never_allowed_unasked(tmp_path: Path) -> None:
    async def scenario() -> None:
        client = Client(make_tool("look", read_only=True, session_local=True))
        async with open_host(tmp_path, connector(client)) as ground:
            (owned,) = ground.services.tools.list()
            assert owned.tool.name == "vendor__look"
            assert (owned.tool.read_only, owned.tool.session_local) == (False, False)
            assert (await called(ground, "vendor__look", {"text": "x"})).text == "x"
            assert client.contexts[0].signal.is_set is False
            assert client.contexts[0].logger.name == "inspan.agent.plugin.vendor"
            assert client.closed == 0
        assert client.contexts[0].signal.is_set
        assert client.closed == 1

    asyncio.run(scenario())


@pytest.mark.requirement("R95")
@pytest.mark.parametrize("why", ["finding", "registering", "too many"])
def test_a_client_is_closed_if_its_tools_cannot_be_had(tmp_path: Path, why: str) -> None:
    async def scenario() -> Any:
        match why:
            case "finding":
                client = Client(fails=True)
            case "registering":
                client = Client(make_tool("fine"), make_tool("broken", input_schema={}))
            case _:
                client = Client(*(make_tool(f"t{number}") for number in range(MOST_TOOLS + 1)))
        async with open_host(tmp_path, InlinePlugin(plugin=connector(client), required=False)) as ground:
            assert client.closed == 1
            assert ground.services.tools.list() == ()
            return ground.status["vendor"]

    status = asyncio.run(scenario())

    assert (status.state, status.phase) == ("failed", "setup")
    assert status.error == ("ConnectionError" if why == "finding" else "PluginError")


@pytest.mark.requirement("R97")
def test_only_approved_tools_are_registered_under_names_of_their_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> list[str]:
        one, two = (Client(make_tool("a"), make_tool("b"), make_tool("c")) for _ in range(2))
        plugins = (
            connector(one, lambda _: {"a", "c", "gone"}, name="one.x"),
            connector(two, lambda _: ["b"], name="2"),
        )
        async with open_host(tmp_path, *plugins) as ground:
            return [owned.tool.name for owned in ground.services.tools.list()]

    names = asyncio.run(scenario())

    assert names == ["one_x__a", "one_x__c", "x2__b"]
    assert "does not offer 1 of the tools" in caplog.text


@pytest.mark.requirement("R97")
def test_a_vendor_gets_only_arguments_that_fit_and_the_calls_own_signal(tmp_path: Path) -> None:
    async def scenario() -> None:
        got: list[tuple[JsonObject, bool]] = []
        source = CancelSource()

        async def execute(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            source.cancel()
            got.append((arguments, ctx.cancel.is_set))
            return ToolResult()

        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        client = Client(make_tool("t", input_schema=schema, execute=execute))
        async with open_host(tmp_path, connector(client)) as ground:
            owned = ground.services.tools.get("vendor__t")
            assert owned is not None
            refused = await owned.tool.execute({"n": "x"}, call_context(tmp_path))
            assert refused.is_error
            assert "n" in refused.text
            assert got == []
            await owned.tool.execute({"n": 1}, call_context(tmp_path, source.signal))
            assert got == [({"n": 1}, True)]

    asyncio.run(scenario())


names = st.text(min_size=1, max_size=130)
ids = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,127}", fullmatch=True)


@given(ids, names)
def test_whatever_a_vendor_calls_its_tool_all_providers_take_the_name(owner: str, name: str) -> None:
    assert TOOL_NAME.fullmatch(namespaced(owner, name))


@given(ids, names, names)
def test_two_tools_of_one_vendor_never_become_one(owner: str, one: str, other: str) -> None:
    assert (namespaced(owner, one) == namespaced(owner, other)) is (one == other)


def test_work_that_heeds_a_signal_is_cancelled_by_it_and_has_ended_then() -> None:
    async def scenario(*, by_signal: bool) -> list[str]:
        log: list[str] = []
        source = CancelSource()

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                log.append("ended")

        task = asyncio.create_task(heeding(source.signal, work()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if by_signal:
            source.cancel()
        else:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return log

    assert asyncio.run(scenario(by_signal=True)) == ["ended"]
    assert asyncio.run(scenario(by_signal=False)) == ["ended"]


@pytest.mark.requirement("R99", "R101")
def test_no_vendors_adapter_is_built_in_and_none_is_installed_with_it() -> None:
    root = Path(__file__).resolve().parents[3]
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (*(root / "src").rglob("*.py"), root / "pyproject.toml", root / "uv.lock")
    ).lower()

    assert [name for name in ("composio", "pipedream", "nango", "merge.dev") if name in text] == []
