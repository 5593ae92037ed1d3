"""What of a session's life others hear of, what they cannot touch, and how long an end may take."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from inspan.agent.agent import Agent, AgentLimits
from inspan.agent.audit.events import AuditEvent, PermissionEvent, ToolExecution
from inspan.agent.faults import TRACEBACKS
from inspan.agent.hook_events import HOOK_EVENTS, HookEvent, SessionStart, TurnEnd
from inspan.agent.permissions.values import PermissionMode, Rule
from inspan.agent.plugins.contract import PluginContext
from inspan.agent.session import SessionLimits
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.tools.settings import ToolSettings
from inspan.agent.values import JsonObject, ToolResult
from inspan.model.errors import PluginError
from support.agent_ground import QUICK, allow, make_tool, open_agent, script, temporary_folder

SECRET = "sk-very-secret"


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


class Sink:
    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    async def write(self, event: AuditEvent) -> None:
        self.events.append(event)


async def _raise(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
    raise ValueError(SECRET)


@pytest.mark.requirement("RD10")
def test_every_moment_of_a_sessions_life_is_told_as_a_typed_value(folder: Path) -> None:
    async def story() -> None:
        heard: list[HookEvent] = []
        tools = [make_tool(), make_tool("fall", _raise)]
        async with open_agent(
            folder, tools=tools, builtin_tools=ToolSettings(), permission_mode=PermissionMode.BYPASS
        ) as agent:
            for name in HOOK_EVENTS:
                agent.register.hook(name, heard.append)
            session = await agent.new_session()
            child = 'call subagent {"name": "scout", "prompt": "hello"}'
            await session.run(script('call note {"text": "a"}', "call fall {}", child, "---", "say end"))
            await session.compact()
            await session.close()
            await agent.resume_session(session.id)
        kinds = {type(event) for event in heard}
        assert kinds == set(HOOK_EVENTS.values())
        starts = [event.is_resumed for event in heard if isinstance(event, SessionStart)]
        assert starts == [False, True]
        assert {event.session_id for event in heard} == {session.id}
        (ended,) = [event for event in heard if isinstance(event, TurnEnd)]
        assert (ended.turn, ended.stop_reason, ended.usage.requests) == (1, "end_turn", 3)
        names = [type(event).__name__ for event in heard]
        assert names[:3] == ["SessionStart", "UserPrompt", "TurnStart"]
        assert names.index("PreTool") < names.index("PostTool") < names.index("Stop") < names.index("TurnEnd")
        assert names.count("SessionEnd") == 2

    asyncio.run(story())


@pytest.mark.requirement("R71", "R72", "R73", "R75")
def test_the_audit_is_told_of_decisions_and_completed_calls_without_what_was_in_them(folder: Path) -> None:
    async def story() -> None:
        sink = Sink()
        tools = [make_tool(), make_tool("fall", _raise), make_tool("never")]
        rules = [Rule(effect="deny", tool="never")]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        async with open_agent(folder, tools=tools, responder=allow, rules=rules) as agent:
            agent.register.audit_sink(sink)
            session = await agent.new_session()
            lines = [f'call note {{"text": "{SECRET}"}}', "call fall {}", "call never {}", "call nothing {}"]
            await session.run(script(*lines, 'call note {"wrong": 1}', "---", "say end"))
        decisions = [event.record for event in sink.events if isinstance(event, PermissionEvent)]
        assert sorted(record.tool for record in decisions) == ["fall", "never", "note"]
        calls = {event.tool: event for event in sink.events if isinstance(event, ToolExecution)}
        assert len(calls) == len(sink.events) - 3 == 2
        assert (calls["note"].is_error, calls["note"].exception) == (False, "")
        assert (calls["fall"].is_error, calls["fall"].exception) == (True, "ValueError")
        assert {event.owner for event in calls.values()} == {"embedder"}
        assert all(event.duration_s > 0 for event in calls.values())
        assert SECRET not in repr(sink.events)

    asyncio.run(story())


@pytest.mark.requirement("R80")
def test_without_audit_no_sink_is_told_anything(folder: Path) -> None:
    async def story() -> None:
        sink = Sink()
        async with open_agent(folder, tools=[make_tool()], responder=allow, audit=False) as agent:
            agent.register.audit_sink(sink)
            await (await agent.new_session()).run(script('call note {"text": "a"}'))
        assert sink.events == []

    asyncio.run(story())


@pytest.mark.requirement("R5")
def test_a_plugin_is_given_no_way_to_the_loop_the_sessions_the_permissions_or_the_records(
    folder: Path,
) -> None:
    offered = {name for name in vars(PluginContext) if not name.startswith("_")}
    assert offered == {
        "audit",
        "auth",
        "config",
        "data_dir",
        "hooks",
        "logger",
        "models",
        "on_dispose",
        "on_start",
        "pages",
        "prompts",
        "run_sync",
        "signal",
        "skills",
        "tools",
        "workspace",
    }

    async def story() -> None:
        class Taker:
            id, version, api_version = "taker", "1", 1

            def parse_config(self, raw: object) -> None:
                return None

            def setup(self, ctx: PluginContext[None]) -> None:
                ctx.tools.register(make_tool("read"))

        with pytest.raises(PluginError):
            async with open_agent(folder, builtin_tools=ToolSettings(), runtime_plugins=[Taker()]):
                raise AssertionError

        class Bringer(Taker):
            def setup(self, ctx: PluginContext[None]) -> None:
                ctx.tools.register(make_tool("bring"))

        async with open_agent(folder, runtime_plugins=[Bringer()]) as agent:
            session = await agent.new_session()
            await session.run(script("call bring {}"))
            assert "Nobody is there to allow this call." in str(session.transcript)

    asyncio.run(story())


@pytest.mark.requirement("RD5")
def test_what_a_tool_raised_is_told_whole_only_to_a_logger_that_a_person_turned_on(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool("fall", _raise)], responder=allow) as agent:
            session = await agent.new_session()
            await session.run(script("call fall {}"))
            assert "ValueError" in str(session.transcript)
            assert SECRET not in str(session.transcript)

    caplog.set_level(logging.DEBUG)
    asyncio.run(story())
    assert SECRET not in caplog.text
    before = TRACEBACKS.level
    TRACEBACKS.setLevel(logging.DEBUG)
    try:
        asyncio.run(story())
    finally:
        TRACEBACKS.setLevel(before)
    assert SECRET in caplog.text


@pytest.mark.requirement("R86", "R87")
def test_the_agents_end_is_bounded_though_a_call_does_not_let_itself_be_stopped(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert AgentLimits().session.end_s == 5.0
    release = asyncio.Event()

    async def story() -> None:
        started = asyncio.Event()

        async def stubborn(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            started.set()
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            return ToolResult()

        calls = structs.replace(QUICK.session.calls, heed_s=3600.0, grace_s=0.05)
        limits = structs.replace(QUICK, session=structs.replace(SessionLimits(), end_s=1.0, calls=calls))
        async with open_agent(
            folder, tools=[make_tool("hold", stubborn)], responder=allow, limits=limits
        ) as agent:
            turn = (await agent.new_session()).prompt(script("call hold {}"))
            await started.wait()
            asyncio.get_running_loop().call_later(60, release.set)  # so that a failure ends too
        release.set()
        assert (await turn.wait()).stop_reason == "cancelled"
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(story())
    assert "did not end when it was cancelled" in caplog.text


@pytest.mark.requirement("R2")
def test_two_agents_of_one_process_share_nothing(folder: Path) -> None:
    async def story() -> None:
        async with (
            open_agent(folder, tools=[make_tool("one")]) as one,
            open_agent(folder, tools=[make_tool("two")]) as two,
        ):
            heard: list[HookEvent] = []
            one.register.hook("session_start", heard.append)
            await two.new_session()
            assert heard == []
            assert "two" not in {tool.name for tool in one.tools}
            await one.close()
            assert (await (await two.new_session()).run("hello")).stop_reason == "end_turn"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("missing", "model"),
    [("jsonschema", "scripted:demo"), ("yaml", "scripted:demo"), ("pydantic_ai", "openai:gpt-x")],
)
def test_without_its_libraries_the_agent_says_what_to_install(folder: Path, missing: str, model: str) -> None:
    program = f"""
import asyncio, importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {missing!r} else find(name, package)
from inspan.agent import Agent
from inspan.model.errors import HarnessError
async def main():
    try:
        async with Agent.create(workspace={str(folder)!r}, home={str(folder / "h")!r}, model={model!r}) as agent:
            await agent.new_session()
    except HarnessError as error:
        print(error.code, "|", error.hint)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "agent_extra_missing | Run `pip install 'inspan[agent]'`."


def test_an_agent_may_be_entered_only_through_its_creation() -> None:
    with pytest.raises(Exception, match=r"Agent\.create"):
        Agent()
