"""The MCP server: spoken to by the official client, and by hand where that client is too polite."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from inspan.apps.mcp.server import LONGEST_LINE_BYTES, PROTOCOL_VERSIONS, McpServer
from inspan.apps.tools.running import ProgramResult
from inspan.apps.tools.table import TOOLS, ToolSpec

_SCRIPT = """#!{python}
import json, os, sys, time
words = sys.argv[1:]
if "slow" in words:
    open(os.environ["STARTED"], "w").write(str(os.getpid()))
    time.sleep(600)
if "gone" in words:
    print("nothing answers there", file=sys.stderr); sys.exit(3)
if "blocked" in words:
    print(json.dumps({{"ok": False, "code": "invalid_enum"}})); print("not allowed", file=sys.stderr); sys.exit(1)
print(json.dumps({{"program": os.path.basename(sys.argv[0]), "words": words}}, ensure_ascii=False))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Two scripted programs in the place of the real ones: they say how they were called."""
    for name in ("operate", "build"):
        (tmp_path / name).write_text(_SCRIPT.format(python=sys.executable))
        (tmp_path / name).chmod(0o755)
    os.mkfifo(tmp_path / "started")
    return {
        "PATH": os.defpath,
        "A2APP_CLI": str(tmp_path / "operate"),
        "AGENT_APP_CLI": str(tmp_path / "build"),
        "STARTED": str(tmp_path / "started"),
    }


def with_client(environment: dict[str, str], story: Callable[[ClientSession], Awaitable[None]]) -> None:
    async def run() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "inspan.apps.mcp"], env=environment
        )
        async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
            await session.initialize()
            await story(session)

    asyncio.run(run())


def said(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


@pytest.mark.requirement("P16")
def test_the_official_client_lists_and_calls_all_seventeen_tools(environment: dict[str, str]) -> None:
    arguments: dict[str, Any] = {
        "dir": ".",
        "path": "board",
        "term": "card",
        "entity": "cards",
        "id": "c1",
        "fields": {"title": "Ä ß"},
        "operation": "count",
    }

    async def story(session: ClientSession) -> None:
        listed = (await session.list_tools()).tools
        assert [tool.name for tool in listed] == [tool.name for tool in TOOLS]
        calls: list[Awaitable[Any]] = []
        for tool in TOOLS:
            takes = {argument.name for argument in tool.arguments}
            calls.append(
                session.call_tool(tool.name, {key: arguments[key] for key in arguments if key in takes})
            )
        for tool, result in zip(TOOLS, await asyncio.gather(*calls), strict=True):
            assert not _is_error(result)
            ran = json.loads(said(result))
            assert ran["program"] == {"a2app": "operate", "agent-app": "build"}[tool.program]
            assert ran["words"][0] == "."

    with_client(environment, story)


@pytest.mark.requirement("P14")
def test_a_refusal_is_data_and_an_app_that_is_gone_is_an_error(environment: dict[str, str]) -> None:
    async def story(session: ClientSession) -> None:
        blocked = await session.call_tool("agent_app_describe", {"dir": "blocked"})
        assert not _is_error(blocked)
        assert "invalid_enum" in said(blocked)
        assert "not allowed" in said(blocked)
        gone = await session.call_tool("agent_app_describe", {"dir": "gone"})
        assert _is_error(gone)
        assert said(gone) == "nothing answers there"
        refused = await session.call_tool("agent_app_describe", {"dir": "--help"})
        assert _is_error(refused)
        assert "flag" in said(refused)

    with_client(environment, story)


@pytest.mark.requirement("P14")
def test_a_program_that_is_not_there_is_an_error_that_says_so(environment: dict[str, str]) -> None:
    async def story(session: ClientSession) -> None:
        missing = await session.call_tool("agent_app_list", {"dir": ".", "entity": "cards"})
        assert _is_error(missing)
        assert "could not be started" in said(missing)

    with_client({**environment, "A2APP_CLI": "/nowhere/a2app"}, story)


def _is_error(result: Any) -> bool:
    return bool(result.is_error)


class Wire:
    """A server in this process, and what it wrote."""

    def __init__(
        self, run: Callable[[ToolSpec, Mapping[str, Any]], Awaitable[ProgramResult]] | None = None
    ) -> None:
        self.out: list[dict[str, Any]] = []
        self.reader = asyncio.StreamReader(limit=LONGEST_LINE_BYTES)
        self.wrote = asyncio.Event()

        async def write(line: bytes) -> None:
            self.out.append(json.loads(line))
            self.wrote.set()

        more: dict[str, Any] = {} if run is None else {"run": run}
        self.server = McpServer(write, version="9", **more)

    def say(self, *messages: object) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.reader.feed_data(line + b"\n")

    async def ended(self) -> list[dict[str, Any]]:
        self.reader.feed_eof()
        await self.server.serve(self.reader)
        return self.out


def on_wire(*messages: object) -> list[dict[str, Any]]:
    async def run() -> list[dict[str, Any]]:
        wire = Wire()
        wire.say(*messages)
        return await wire.ended()

    return asyncio.run(run())


def request(method: str, params: Mapping[str, Any] | None = None, id: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


@pytest.mark.requirement("P16")
@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_the_clients_version_is_spoken_where_it_is_known(version: str) -> None:
    (hello,) = on_wire(request("initialize", {"protocolVersion": version}))
    assert hello["result"]["protocolVersion"] == version
    assert hello["result"]["serverInfo"] == {"name": "a2app", "version": "9"}


@pytest.mark.requirement("P16")
def test_a_version_that_is_not_known_is_answered_with_the_newest() -> None:
    for version in ("2099-01-01", None, 7):
        (hello,) = on_wire(request("initialize", {"protocolVersion": version}))
        assert hello["result"]["protocolVersion"] == PROTOCOL_VERSIONS[0]


def test_chatter_notices_and_answers_get_no_answer_and_mistakes_get_one() -> None:
    out = on_wire(
        b"hello?",
        b"",
        b"[" * 100_000,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        request("ping", id="p"),
        request("no/such"),
        request("tools/call", {"name": "no_such"}),
        request("tools/call", {"name": "agent_app_list", "arguments": []}),
        [request("ping")],
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
    )
    assert out[0] == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert [one["error"]["code"] for one in out[1:]] == [-32601, -32602, -32602, -32600, -32600, -32600]


def test_a_line_over_the_limit_is_refused_and_the_next_one_is_read() -> None:
    out = on_wire(b"x" * (LONGEST_LINE_BYTES * 2 + 5), request("ping", id=2))
    assert [one["id"] for one in out] == [None, 2]
    assert out[0]["error"]["code"] == -32600


@pytest.mark.requirement("P16")
def test_calls_run_side_by_side_and_one_that_is_cancelled_gives_no_answer() -> None:
    async def run_all() -> None:
        both = asyncio.Barrier(2)
        forever, waiting = asyncio.Event(), asyncio.Event()
        ended: list[str] = []

        async def run(tool: ToolSpec, arguments: Mapping[str, Any]) -> ProgramResult:
            if arguments["dir"] == "forever":
                waiting.set()
                try:
                    await forever.wait()
                finally:
                    ended.append("forever")
            await both.wait()
            return ProgramResult(0, str(arguments["dir"]), "")

        wire = Wire(run)
        serving = asyncio.ensure_future(wire.server.serve(wire.reader))
        wire.say(
            *[
                request("tools/call", {"name": "agent_app_stop", "arguments": {"dir": d}}, d)
                for d in ("forever", "a", "b")
            ]
        )
        await waiting.wait()
        wire.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "forever"}})
        while len(wire.out) < 2:
            wire.wrote.clear()
            await wire.wrote.wait()
        wire.reader.feed_eof()
        await serving
        assert {one["id"] for one in wire.out} == {"a", "b"}
        assert ended == ["forever"]

    asyncio.run(run_all())


def test_when_the_client_goes_the_program_of_a_running_call_is_ended(environment: dict[str, str]) -> None:
    async def run() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "inspan.apps.mcp",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
        )
        assert process.stdin is not None
        call = request("tools/call", {"name": "agent_app_stop", "arguments": {"dir": "slow"}})
        process.stdin.write(json.dumps(call).encode() + b"\n")
        await process.stdin.drain()
        program = int(await asyncio.to_thread(Path(environment["STARTED"]).read_bytes))
        process.stdin.close()
        assert await process.wait() == 0
        with pytest.raises(ProcessLookupError):
            os.kill(program, 0)

    asyncio.run(run())


def test_only_messages_come_out_even_when_the_input_is_a_file(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "in").write_text(json.dumps(request("ping")) + "\nchatter\n")

    async def run() -> bytes:
        with (tmp_path / "in").open() as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "inspan.apps.mcp",
                stdin=file,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
            )
            out, _ = await process.communicate()
            return out

    assert json.loads(asyncio.run(run())) == {"jsonrpc": "2.0", "id": 1, "result": {}}
