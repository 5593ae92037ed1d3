"""The connector to MCP servers, on a server that is a process of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.cancelling import CancelSource
from inspan.agent.plugins.configuration import parse_config_list
from inspan.agent.plugins.connector import namespaced
from inspan.agent.plugins.entries import InlinePlugin, resolve_entries
from inspan.agent.plugins.mcp_connector import create_mcp_connector, parse_mcp_config
from support.fake_catalogue import serve_catalogue
from support.holders import until
from support.runtime_plugins import call_context, called, open_host

SERVER = str(Path(__file__).resolve().parents[2] / "support" / "mcp_tools_server.py")


def config(*tools: str, **more: Any) -> Any:
    return {"command": [sys.executable, SERVER], "tools": list(tools), **more}


def inline(*tools: str, **more: Any) -> Any:
    return InlinePlugin(plugin=create_mcp_connector(id="mine"), config=config(*tools, **more), required=False)


@pytest.mark.requirement("R93", "R96", "R97")
def test_the_approved_tools_of_a_server_are_called_and_the_server_ends_with_the_agent(tmp_path: Path) -> None:
    async def scenario() -> None:
        raw = [{"id": "mcp", "module": "inspan.agent.plugins.mcp_connector", "config": config("add", "fail")}]
        entries = resolve_entries(lists=[parse_config_list(raw, "a test")])
        async with open_host(tmp_path, entries=entries) as ground:
            assert [one.tool.name for one in ground.services.tools.list()] == ["mcp__add", "mcp__fail"]
            assert not any(one.tool.read_only for one in ground.services.tools.list())
            assert (await called(ground, "mcp__add", {"a": 2, "b": 3})).text == "5"
            assert (await called(ground, "mcp__add", {"a": "x"})).is_error
            assert (await called(ground, "mcp__fail")).is_error
            assert servers_below(os.getpid())
        assert not servers_below(os.getpid())
        assert (ground.status["mcp"].state, ground.status["mcp"].phase) == ("stopped", "")

    asyncio.run(scenario())


def servers_below(pid: int) -> list[int]:
    import psutil

    return [
        one.pid
        for one in psutil.Process(pid).children(recursive=True)
        if one.status() != psutil.STATUS_ZOMBIE and SERVER in one.cmdline()
    ]


@pytest.mark.requirement("R63", "R97")
def test_a_call_that_is_cancelled_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        source = CancelSource()
        async with open_host(tmp_path, inline("wait", "add")) as ground:
            owned = ground.services.tools.get("mine__wait")
            assert owned is not None
            call = asyncio.ensure_future(
                owned.tool.execute({"folder": str(tmp_path)}, call_context(tmp_path, source.signal))
            )
            await until((tmp_path / "began").exists, "the call began")
            source.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await until((tmp_path / "cancelled").exists, "the server was told")
            assert (await called(ground, "mine__add", {"a": 1, "b": 1})).text == "2"

    asyncio.run(scenario())


@pytest.mark.requirement("R37")
def test_a_server_gets_the_variables_that_are_named_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISP_NAMED", "given")
    monkeypatch.setenv("ISP_SECRET", "kept")

    async def scenario() -> list[str]:
        async with open_host(tmp_path, inline("environment", env=["ISP_NAMED", "ISP_ABSENT"])) as ground:
            names = ("ISP_NAMED", "ISP_SECRET", "ISP_ABSENT")
            return [(await called(ground, "mine__environment", {"name": name})).text for name in names]

    assert asyncio.run(scenario()) == ["given", "(not set)", "(not set)"]


@pytest.mark.requirement("R37", "R97")
def test_a_server_behind_an_address_gets_the_token_that_a_variable_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISP_CATALOGUE_TOKEN", "token-1")

    async def scenario(url: str) -> None:
        raw = {"url": url, "token_env": "ISP_CATALOGUE_TOKEN", "tools": ["mail.send"]}
        plugin = InlinePlugin(plugin=create_mcp_connector(id="mine"), config=raw)
        async with open_host(tmp_path, plugin) as ground:
            (owned,) = ground.services.tools.list()
            assert owned.tool.name == namespaced("mine", "mail.send")
            assert owned.tool.name.startswith("mine__mail_send_")
            sent = await called(ground, owned.tool.name, {"to": "ann", "text": "hi"})
            assert sent.text == "sent to ann: hi"
        assert ground.status["mine"].phase == ""

    with serve_catalogue() as catalogue:
        asyncio.run(scenario(catalogue.url))
        assert set(catalogue.tokens) == {"token-1"}


def test_a_server_that_dies_in_a_call_is_an_error_of_that_call(tmp_path: Path) -> None:
    async def scenario() -> Any:
        async with open_host(tmp_path, inline("end", "add")) as ground:
            for tool in ("mine__end", "mine__add"):
                with pytest.raises(Exception) as failure:
                    await called(ground, tool, {} if tool == "mine__end" else {"a": 1, "b": 2})
                assert not isinstance(failure.value, TimeoutError)
        return ground.status["mine"].state

    assert asyncio.run(scenario()) == "stopped"


@pytest.mark.parametrize("command", [["isp-no-such-program"], [sys.executable, "-c", "pass"]])
def test_a_server_that_does_not_start_fails_in_setup(tmp_path: Path, command: list[str]) -> None:
    async def scenario() -> Any:
        async with open_host(tmp_path, inline("add", command=command)) as ground:
            return ground.status["mine"]

    status = asyncio.run(scenario())

    assert (status.state, status.phase) == ("failed", "setup")


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    real = importlib.import_module

    def without_mcp(name: str, package: str | None = None) -> Any:
        if name == "mcp":
            raise ModuleNotFoundError(name)
        return real(name, package)

    monkeypatch.setattr("inspan.agent.plugins.mcp_connector.import_module", without_mcp)

    async def scenario() -> Any:
        async with open_host(tmp_path, inline("add")) as ground:
            return ground.status["mine"]

    assert asyncio.run(scenario()).error == "PluginError"


def test_the_library_is_read_only_by_a_connector_that_connects() -> None:
    program = """
import sys
import inspan.agent
import inspan.agent.plugins.mcp_connector, inspan.agent.plugins.connector_cloud
print([one for one in ("mcp", "pydantic", "anyio", "httpx", "jsonschema") if one in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.requirement("R37")
@pytest.mark.parametrize(
    "raw",
    [
        None,
        {},
        {"command": ["x"]},
        {"command": [], "tools": ["a"]},
        {"command": ["x"], "url": "https://x.test", "tools": ["a"]},
        {"url": "http://example.test/mcp", "tools": ["a"]},
        {"url": "ftp://127.0.0.1", "tools": ["a"]},
        {"url": "https://x.test", "tools": ["a"], "token": "sk"},
        {"command": ["x"], "tools": ["a"], "env": {"TOKEN": "sk"}},
        {"command": ["x"], "tools": "a"},
        {"command": ["x"], "tools": ["a"], "timeout_s": 0},
        {"command": ["x"], "tools": ["a"], "timeout_s": True},
    ],
)
def test_a_configuration_that_is_none_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError):
        parse_mcp_config(raw)
