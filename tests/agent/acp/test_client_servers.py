"""MCP servers that an ACP client names: real programs, whose tools are one session's alone."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

import acp
import psutil
import pytest
from acp import schema

from inspan.agent.acp.client_servers import ClientServers, servers_in
from inspan.agent.acp.peer import Params, RpcError
from inspan.agent.registries import SessionTools, ToolRegistry
from support.acp_sdk import Person, text, with_sdk
from support.agent_ground import make_tool, script

SERVER = str(Path(__file__).resolve().parents[2] / "support" / "mcp_tools_server.py")


def server(name: str = "mine", **variables: str) -> schema.McpServerStdio:
    given = [schema.EnvVariable(name=key, value=one) for key, one in variables.items()]
    return schema.McpServerStdio(name=name, command=sys.executable, args=[SERVER], env=given)


def programs() -> list[int]:
    return [
        one.pid
        for one in psutil.Process(os.getpid()).children(recursive=True)
        if one.status() != psutil.STATUS_ZOMBIE and SERVER in one.cmdline()
    ]


@pytest.mark.requirement("R96")
def test_a_servers_tools_are_asked_for_are_its_sessions_alone_and_end_with_it(tmp_path: Path) -> None:
    work = str(tmp_path / "work")

    async def said(client: Any, person: Person, id: str, *steps: str) -> str:
        person.updates.clear()
        await client.prompt(session_id=id, prompt=text(script(*steps, "---", "say got $result")))
        return person.said()

    async def story(client: Any, person: Person) -> None:
        add = 'call mine__add {"a": 2, "b": 3}'
        other = (await client.new_session(cwd=work, mcp_servers=[])).session_id
        id = (await client.new_session(cwd=work, mcp_servers=[server(GIVEN="a given value")])).session_id
        assert "got 5" in await said(client, person, id, add)
        ((asked, _),) = person.asked
        assert asked.title == "mine__add"
        assert "a given value" in await said(client, person, id, 'call mine__environment {"name": "GIVEN"}')
        await client.set_session_mode(session_id=id, mode_id="plan")
        assert "got 5" not in await said(client, person, id, add)
        assert "mine__add" in await said(client, person, other, add)  # there is no such tool
        assert "got 5" not in person.said()
        person.updates.clear()
        await client.prompt(session_id=id, prompt=text("/context"))
        assert "mine__add" in person.said()
        assert len(programs()) == 1
        await client.load_session(cwd=work, session_id=id, mcp_servers=[server("yours"), server("theirs")])
        assert len(programs()) == 2
        await client.set_session_mode(session_id=id, mode_id="default")
        assert "got 5" not in await said(client, person, id, add)
        assert "got 7" in await said(client, person, id, 'call yours__add {"a": 3, "b": 4}')
        fork = await client.fork_session(cwd=work, session_id=id, mcp_servers=[server()])
        assert len(programs()) == 3
        await client.close_session(session_id=id)
        assert len(programs()) == 1
        assert "got 5" in await said(client, person, fork.session_id, add)

    with_sdk(tmp_path, story)
    assert programs() == []  # the client is gone, and with it the fork


def test_a_server_that_cannot_be_had_is_said_and_costs_the_session_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(name: str, *command: str) -> schema.McpServerStdio:
        secret = [schema.EnvVariable(name="TOKEN", value="sk-planted")]
        return schema.McpServerStdio(
            name=name, command=command[0], args=[*command[1:], "sk-planted"], env=secret
        )

    servers = [
        broken("missing", str(tmp_path / "no-program")),
        broken("ending", sys.executable, "-c", "raise SystemExit('sk-planted')"),
        broken("babbling", sys.executable, "-c", "print('sk-planted')"),
        server(),
    ]

    async def story(client: Any, person: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=servers)
        turn = script('call mine__add {"a": 2, "b": 3}', "---", "say got $result")
        await client.prompt(session_id=session.session_id, prompt=text(turn))
        assert "got 5" in person.said()

    with caplog.at_level(logging.DEBUG, logger="inspan"):
        with_sdk(tmp_path, story)
    warned = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    for name in ("missing", "ending", "babbling"):
        assert any(f"'{name}'" in one and "gave no tools" in one for one in warned), (name, warned)
    assert any("FileNotFoundError" in one for one in warned)
    assert "sk-planted" not in "\n".join(
        one.getMessage() for one in caplog.records if one.name.startswith("inspan")
    )


def test_a_server_that_says_nothing_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        named = {
            "name": "silent",
            "command": sys.executable,
            "args": ["-c", "import sys; sys.stdin.read()"],
            "env": [],
        }
        servers = ClientServers(SessionTools(ToolRegistry()), tmp_path, connect_s=0.2)
        await servers.serve(servers_in({"mcpServers": [named]}))
        await servers.close()
        await servers.close()

    asyncio.run(story())
    assert "'silent' of the client did not answer in time" in caplog.text


def test_a_sessions_own_tool_takes_no_name_of_the_agents(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(client: Any, person: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[server()])
        turn = script('call mine__add {"text": "x"}', "---", "say got $result")
        await client.prompt(session_id=session.session_id, prompt=text(turn))
        assert "got noted x" in person.said()

    with_sdk(tmp_path, story, tools=[make_tool("mine__add")])
    assert "brings 1 tools that are left out" in caplog.text


@pytest.mark.parametrize(
    "servers",
    [
        "x",
        [1],
        [{"name": "", "command": "x"}],
        [{"name": "a"}],
        [{"name": "a", "command": "x", "args": [1]}],
        [{"name": "a", "command": "x", "env": {"A": "sk-planted"}}],
        [{"name": "a", "command": "x"}, {"name": "a", "command": "y"}],
        [{"type": "http", "name": "a", "url": "https://example.test/mcp", "headers": []}],
    ],
)
def test_servers_that_cannot_be_read_or_are_no_programs_are_refused(servers: Any) -> None:
    params: Params = {"mcpServers": servers}
    with pytest.raises(RpcError) as refused:
        servers_in(params)
    assert refused.value.code == -32602
    assert "sk-planted" not in refused.value.message


def test_no_servers_are_none() -> None:
    assert servers_in({}) == servers_in({"mcpServers": None}) == servers_in({"mcpServers": []}) == ()


def test_a_refused_list_begins_no_session(tmp_path: Path) -> None:
    async def story(client: Any, _: Person) -> None:
        work = str(tmp_path / "work")
        http = schema.HttpMcpServer(type="http", name="a", url="https://example.test/mcp", headers=[])
        with pytest.raises(acp.RequestError):
            await client.new_session(cwd=work, mcp_servers=[http])
        assert (await client.list_sessions(cwd=work)).sessions == []

    with_sdk(tmp_path, story)
