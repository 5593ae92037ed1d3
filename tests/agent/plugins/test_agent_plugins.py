"""Plugins in a whole agent: what they bring is used in turns, what they guard is guarded, and each agent has its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspan.agent import Agent
from inspan.agent.agent import AgentLimits
from inspan.agent.audit.events import AuditEvent, PermissionEvent, ToolExecution
from inspan.agent.cancelling import CancelSignal
from inspan.agent.engine.contract import StopReason
from inspan.agent.events import ToolEnded
from inspan.agent.hook_events import HOOK_EVENTS, PreTool, Veto
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest, TextDelta
from inspan.agent.permissions.values import Effect, PermissionMode, Rule
from inspan.agent.plugins.contract import PromptSource, RuntimeSkill
from inspan.agent.session import SessionLimits
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import JsonObject, ToolResult
from inspan.model.errors import PluginError, UsageError
from support.agent_ground import QUICK, allow, events_of, make_tool, open_agent, script
from support.holders import until
from support.runtime_plugins import Context, MadePlugin


def states(agent: Agent) -> dict[str, str]:
    return {one.id: one.state for one in agent.runtime_plugin_status()}


@pytest.mark.requirement("R100", "R102", "R103", "RD7")
@pytest.mark.parametrize(
    ("options", "entry", "memory", "cloud"),
    [
        pytest.param({}, None, "active", "active", id="as it comes"),
        pytest.param({"is_ephemeral": True}, None, "active", "disabled", id="ephemeral"),
        pytest.param({"cloud_connectors": False}, None, "active", "disabled", id="without cloud connectors"),
        pytest.param(
            {}, {"id": "connector-cloud", "enabled": False}, "active", "disabled", id="cloud disabled"
        ),
        pytest.param({}, {"id": "memory", "enabled": False}, "disabled", "active", id="memory disabled"),
        pytest.param(
            {"is_ephemeral": True}, {"id": "memory", "enabled": False}, "disabled", "disabled", id="neither"
        ),
        pytest.param(
            {"is_ephemeral": True},
            {"id": "connector-cloud"},
            "active",
            "disabled",
            id="ephemeral, whoever asks",
        ),
    ],
)
def test_which_builtin_plugins_an_agent_has(
    tmp_path: Path, options: Any, entry: Any, memory: str, cloud: str
) -> None:
    async def story() -> None:
        config = None if entry is None else [entry]
        async with open_agent(tmp_path, plugin_config=config, **options) as agent:
            assert states(agent) == {"memory": memory, "connector-cloud": cloud}
            names = {tool.name for tool in agent.tools}
            assert {"memory", "remember"} <= names or memory == "disabled"
            assert ("memory" in names) is (memory == "active")
            assert ("connector_search" in names) is (cloud == "active")
            assert ("memory" in {one.page.id for one in agent.pages.list()}) is (memory == "active")

    asyncio.run(story())


@pytest.mark.requirement("R13", "R15", "R16", "R38", "R71", "R72")
def test_a_plugins_tool_is_asked_for_called_and_audited_with_its_owner(tmp_path: Path) -> None:
    async def story() -> None:
        events: list[AuditEvent] = []

        class Sink:
            async def write(self, event: AuditEvent) -> None:
                events.append(event)

        async def fail(_: JsonObject, __: ToolCallContext) -> ToolResult:
            raise ValueError("sk-planted")

        def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool("note"))
            ctx.tools.register(make_tool("fail", fail))
            ctx.audit.register_sink(Sink())

        plugins = [{"plugin": MadePlugin(id="mine", setup=set_up), "required": True}]
        async with open_agent(tmp_path, runtime_plugins=plugins, responder=allow) as agent:
            session = await agent.new_session()
            shown, _ = await events_of(
                session, script('call note {"text": "sk-body"}', "---", "call fail {}", "---", "say $result")
            )
        results = [event.result.text for event in shown if isinstance(event, ToolEnded)]
        assert results == ["noted sk-body", "The tool failed with ValueError."]
        permissions = [event.record for event in events if isinstance(event, PermissionEvent)]
        assert [(one.tool, one.owner, one.decision.reason) for one in permissions] == [
            ("note", "mine", "answer"),
            ("fail", "mine", "answer"),
        ]
        executions = [event for event in events if isinstance(event, ToolExecution)]
        assert [(one.tool, one.owner, one.is_error, one.exception) for one in executions] == [
            ("note", "mine", False, ""),
            ("fail", "mine", True, "ValueError"),
        ]
        assert all(one.duration_s >= 0 for one in executions)
        assert "sk-" not in repr(executions)

    asyncio.run(story())


@pytest.mark.requirement("R75")
def test_a_call_that_never_reaches_the_permission_engine_leaves_no_record_of_a_decision(
    tmp_path: Path,
) -> None:
    async def story() -> list[AuditEvent]:
        events: list[AuditEvent] = []

        class Sink:
            async def write(self, event: AuditEvent) -> None:
                events.append(event)

        plugin = MadePlugin(id="mine", setup=lambda ctx: ctx.audit.register_sink(Sink()))
        async with open_agent(tmp_path, runtime_plugins=[plugin], tools=[make_tool()]) as agent:
            session = await agent.new_session()
            await session.run(script("call no_such_tool {}", 'call note {"text": 7}', "---", "say done"))
        return events

    assert asyncio.run(story()) == []


@pytest.mark.requirement("R74")
def test_a_permissions_record_keeps_the_rule_that_decided(tmp_path: Path) -> None:
    rule = Rule(effect=Effect.DENY, tool="note", arguments={"text": "/secret/*"}, id="r1")

    async def story() -> list[AuditEvent]:
        events: list[AuditEvent] = []

        class Sink:
            async def write(self, event: AuditEvent) -> None:
                events.append(event)

        plugin = MadePlugin(id="mine", setup=lambda ctx: ctx.audit.register_sink(Sink()))
        async with open_agent(tmp_path, runtime_plugins=[plugin], tools=[make_tool()], rules=[rule]) as agent:
            session = await agent.new_session()
            await session.run(script('call note {"text": "/secret/plan"}', "---", "say done"))
        return events

    (event,) = asyncio.run(story())
    assert isinstance(event, PermissionEvent)
    assert event.record.rule == rule


@pytest.mark.requirement("R80")
def test_without_audit_no_sink_hears_anything_and_no_session_keeps_its_permissions(tmp_path: Path) -> None:
    async def story(*, audit: bool) -> tuple[int, bool]:
        events: list[AuditEvent] = []

        class Sink:
            async def write(self, event: AuditEvent) -> None:
                events.append(event)

        plugin = MadePlugin(id="mine", setup=lambda ctx: ctx.audit.register_sink(Sink()))
        home = tmp_path / str(audit)
        async with open_agent(
            tmp_path, home=home, runtime_plugins=[plugin], tools=[make_tool()], responder=allow, audit=audit
        ) as agent:
            session = await agent.new_session()
            await session.run(script("call note {}", "---", "say done"))
            assert "active" in states(agent)["mine"]
        (log,) = (home / "agent" / "sessions").glob("*.jsonl")
        return len(events), '"permission"' in log.read_text()

    assert asyncio.run(story(audit=True)) == (2, True)
    assert asyncio.run(story(audit=False)) == (0, False)


class Slow:
    """A provider of a model that says one word and then waits until it is told to stop."""

    def __init__(self) -> None:
        self.id = "slow"
        self.signals: list[CancelSignal] = []
        self.ended: list[str] = []

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        self.signals.append(cancel)
        yield TextDelta(text="word ")
        try:
            await cancel.wait()
        finally:
            self.ended.append(cancel.reason)


@pytest.mark.requirement("R47", "R49", "R63")
def test_a_plugins_model_is_chosen_like_any_other_and_its_stream_is_told_to_stop(tmp_path: Path) -> None:
    async def story(*, by_turn: bool) -> None:
        provider = Slow()
        plugin = MadePlugin(
            id="mine", setup=lambda ctx: ctx.models.register(provider, [ModelDefinition(id="m", title="M")])
        )
        async with open_agent(tmp_path, runtime_plugins=[plugin], model="slow:m") as agent:
            assert "slow:m" in [one.name for one in agent.models]
            session = await agent.new_session()
            assert session.settings.model == "slow:m"
            turn = session.prompt("hello")
            await until(lambda: provider.signals, "the stream began")
            if by_turn:
                session.cancel()
            else:
                await agent.close()
            ended = await turn.wait()
            assert ended.stop_reason is StopReason.CANCELLED
        assert provider.signals[0].is_set
        assert len(provider.ended) == 1

    asyncio.run(story(by_turn=True))
    asyncio.run(story(by_turn=False))


@pytest.mark.requirement("R52", "RD10")
def test_hooks_hear_of_a_session_a_turn_a_prompt_and_a_call(tmp_path: Path) -> None:
    async def story() -> list[str]:
        heard: list[str] = []

        def set_up(ctx: Context) -> None:
            for name in HOOK_EVENTS:
                ctx.hooks.on(name, lambda _, name=name: heard.append(name))

        async def fail(_: JsonObject, __: ToolCallContext) -> ToolResult:
            raise ValueError

        plugin = MadePlugin(id="mine", setup=set_up)
        tools = [make_tool(), make_tool("fail", fail)]
        async with open_agent(tmp_path, runtime_plugins=[plugin], tools=tools, responder=allow) as agent:
            session = await agent.new_session()
            await session.run(script("call note {}", "---", "call fail {}", "---", "say done"))
            await session.close()
        return heard

    assert asyncio.run(story()) == [
        "session_start",
        "user_prompt",
        "turn_start",
        "pre_tool",
        "post_tool",
        "pre_tool",
        "tool_error",
        "stop",
        "turn_end",
        "session_end",
    ]


@pytest.mark.requirement("RD1")
@pytest.mark.parametrize("is_required", [True, False])
def test_a_guard_that_fails_stops_the_call_if_it_is_required(tmp_path: Path, is_required: bool) -> None:
    async def story() -> list[str]:
        def guard(_: PreTool) -> Veto | None:
            raise ValueError

        plugin = MadePlugin(id="mine", setup=lambda ctx: ctx.hooks.on("pre_tool", guard))
        plugins = [{"plugin": plugin, "required": is_required}]
        async with open_agent(
            tmp_path, runtime_plugins=plugins, tools=[make_tool()], responder=allow
        ) as agent:
            session = await agent.new_session()
            events, _ = await events_of(session, script("call note {}", "---", "say done"))
        return [event.result.text for event in events if isinstance(event, ToolEnded)]

    said = "This call was not run: The guard 'mine' failed, and it is required." if is_required else "noted "
    assert asyncio.run(story()) == [said]


class Asking:
    """A provider that keeps the instructions it was given."""

    id = "asking"

    def __init__(self) -> None:
        self.instructions: list[str] = []

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        self.instructions.append(request.instructions)
        yield TextDelta(text="ok")


@pytest.mark.requirement("R43", "R54", "RD12")
def test_sections_come_in_order_and_are_made_once_a_turn(tmp_path: Path) -> None:
    async def story() -> list[str]:
        provider = Asking()
        turns: list[int] = []

        def sections(*names: str) -> Any:
            async def render(ctx: Any) -> str:
                turns.append(ctx.turn)
                return f"section of turn {ctx.turn}"

            def set_up(ctx: Context) -> None:
                for name in names:
                    ctx.prompts.register(PromptSource(name=name, render=render))
                ctx.skills.register(RuntimeSkill(name=f"skill-{names[0]}", description="d", body="b"))

            return set_up

        plugins = [
            MadePlugin(id="z", setup=sections("one", "two")),
            MadePlugin(id="a", setup=sections("three")),
        ]
        async with open_agent(
            tmp_path,
            runtime_plugins=plugins,
            models=[(provider, [ModelDefinition(id="m")])],
            model="asking:m",
            instructions="The base.",
        ) as agent:
            session = await agent.new_session()
            await session.run("first")
            await session.run("second")
        assert turns == [1, 1, 1, 2, 2, 2]
        return provider.instructions

    first, second = asyncio.run(story())

    import re

    assert re.findall(r'<section name="([^"]+)" owner="([^"]+)">', first) == [
        ("base", "builtin"),
        ("environment", "builtin"),
        ("skills", "builtin"),
        ("one", "z"),
        ("two", "z"),
        ("three", "a"),
    ]
    assert "The base." in first
    assert "- skill-one: d" in first
    assert "section of turn 1" in first
    assert "section of turn 2" in second


@pytest.mark.requirement("R14", "R15", "R84", "R85")
def test_a_close_ends_the_turns_first_then_the_plugins_and_the_status_stays(tmp_path: Path) -> None:
    async def story() -> list[str]:
        log: list[str] = []
        began = asyncio.Event()

        async def work(_: JsonObject, ctx: ToolCallContext) -> ToolResult:
            began.set()
            await ctx.cancel.wait()
            log.append(f"call ended: {ctx.cancel.reason}")
            return ToolResult()

        def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool("work", work))
            ctx.hooks.on("session_end", lambda _: log.append("session ended"))
            ctx.on_dispose(lambda: log.append("disposed"))

        agent = await Agent.create(
            workspace=tmp_path,
            home=tmp_path / "home",
            model="scripted:demo",
            environment={},
            runtime_plugins=[MadePlugin(id="mine", setup=set_up)],
            responder=allow,
        )
        session = await agent.new_session()
        turn = session.prompt(script("call work {}", "---", "say done"))
        await began.wait()
        await agent.close()
        await agent.close()
        assert (await turn.wait()).stop_reason is StopReason.CANCELLED
        assert states(agent) == {"memory": "stopped", "connector-cloud": "stopped", "mine": "stopped"}
        with pytest.raises(UsageError):
            await agent.new_session()
        return log

    log = asyncio.run(story())

    assert [one.partition(":")[0] for one in log] == ["call ended", "session ended", "disposed"]


@pytest.mark.requirement("R86", "R87")
def test_a_turn_and_a_plugin_that_do_not_end_hold_a_close_up_no_longer_than_their_limits(
    tmp_path: Path,
) -> None:
    async def story() -> Any:
        release, began = asyncio.Event(), asyncio.Event()

        async def deaf(*_: Any) -> ToolResult:
            began.set()
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return ToolResult()

        def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool("work", deaf))
            ctx.on_dispose(lambda: deaf())

        limits = AgentLimits(
            engine=QUICK.engine,
            session=SessionLimits(calls=QUICK.session.calls, end_s=0.1),
            plugins=replace(QUICK.plugins, stop_s=0.2),
        )
        plugin = MadePlugin(id="mine", setup=set_up)
        async with open_agent(tmp_path, runtime_plugins=[plugin], responder=allow, limits=limits) as agent:
            session = await agent.new_session()
            session.prompt(script("call work {}", "---", "say done"))
            await began.wait()
        release.set()
        return next(one for one in agent.runtime_plugin_status() if one.id == "mine")

    status = asyncio.run(story())

    assert status.state == "stopped"
    assert status.error == "TimeoutError"


@pytest.mark.requirement("R65", "R86", "RD2")
def test_the_limits_of_a_close_are_those_of_the_requirement() -> None:
    limits = AgentLimits()

    assert (limits.session.end_s, limits.plugins.stop_s, limits.plugins.start_s) == (5.0, 5.0, 30.0)


@pytest.mark.requirement("R31", "R83")
def test_a_required_plugin_that_fails_leaves_no_agent_and_nothing_behind(tmp_path: Path) -> None:
    async def story() -> list[str]:
        log: list[str] = []

        def fine(ctx: Context) -> None:
            ctx.on_dispose(lambda: log.append("disposed"))

        def fail(_: Context) -> None:
            raise ValueError("sk-planted")

        plugins = [MadePlugin(id="fine", setup=fine), MadePlugin(id="bad", setup=fail)]
        with pytest.raises(PluginError) as failure:
            async with open_agent(tmp_path, runtime_plugins=plugins):
                raise AssertionError
        assert failure.value.detail["plugin"] == "bad"
        assert "sk-planted" not in str(failure.value)
        return log

    assert asyncio.run(story()) == ["disposed"]


@pytest.mark.requirement("R2", "R12")
def test_two_agents_of_one_home_share_no_plugin(tmp_path: Path) -> None:
    async def story() -> None:
        contexts: list[Context] = []
        plugin = MadePlugin(id="mine", setup=contexts.append)
        async with open_agent(tmp_path, runtime_plugins=[plugin]) as one:
            async with open_agent(tmp_path, runtime_plugins=[plugin]) as two:
                assert contexts[0] is not contexts[1]
                assert one.pages is not two.pages
            assert states(two)["mine"] == "stopped"
            assert states(one)["mine"] == "active"
            assert not contexts[0].signal.is_set

    asyncio.run(story())


@pytest.mark.requirement("R17", "R32", "R33")
def test_the_list_of_the_home_counts_unless_another_one_is_given_and_changes_count_for_the_next_agent(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    module = tmp_path / "mine.py"
    module.write_text(
        "class P:\n"
        "    id, version, api_version = 'mine', '1', 1\n"
        "    def parse_config(self, raw): return raw\n"
        "    def setup(self, ctx): pass\n"
        "plugin = P()\n"
    )
    file = home / "plugins.json"

    async def story() -> None:
        file.write_text(json.dumps({"runtimePlugins": [{"id": "mine", "module": str(module)}]}))
        async with open_agent(tmp_path) as agent:
            assert states(agent)["mine"] == "active"
            file.write_text(json.dumps({"runtimePlugins": [{"id": "memory", "enabled": False}]}))
            assert states(agent)["mine"] == "active"
            session = await agent.new_session()
            await session.run("hello")
            assert "memory" in {tool.name for tool in agent.tools}
        async with open_agent(tmp_path) as agent:
            assert states(agent) == {"memory": "disabled", "connector-cloud": "active"}
        async with open_agent(tmp_path, plugin_config=[]) as agent:
            assert states(agent) == {"memory": "active", "connector-cloud": "active"}
        file.write_text("{")
        with pytest.raises(UsageError, match="is not JSON"):
            async with open_agent(tmp_path):
                raise AssertionError

    asyncio.run(story())


@pytest.mark.requirement("R34", "R35", "R36", "RD8")
def test_a_project_brings_changes_and_disables_no_plugin(tmp_path: Path) -> None:
    folder = tmp_path / "work" / ".inspan"
    folder.mkdir(parents=True)
    evil = folder / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    raw = {"runtimePlugins": [{"id": "evil", "module": str(evil)}, {"id": "memory", "enabled": False}]}
    (folder / "plugins.json").write_text(json.dumps(raw))

    async def story() -> Any:
        async with open_agent(tmp_path) as agent:
            assert states(agent) == {
                "memory": "active",
                "connector-cloud": "active",
                ".inspan/plugins.json": "ignored",
            }
            (warning,) = agent.runtime_plugin_status()[-1].warnings
            assert "It was ignored" in warning
        with pytest.raises(UsageError) as failure:
            async with open_agent(tmp_path, is_strict=True):
                raise AssertionError
        return failure.value.code

    assert asyncio.run(story()) == "plugin_config_in_project"
    assert not (tmp_path / "ran").exists()


@pytest.mark.requirement("R60", "R61")
def test_an_embedder_adds_by_hand_beside_plugins_and_neither_takes_the_others_names(tmp_path: Path) -> None:
    async def story() -> None:
        heard: list[str] = []
        plugin = MadePlugin(id="mine", setup=lambda ctx: ctx.tools.register(make_tool("theirs")))

        async def render(_: Any) -> str:
            return "by hand"

        async with open_agent(
            tmp_path, runtime_plugins=[plugin], tools=[make_tool("given")], responder=allow
        ) as agent:
            agent.register.tool(make_tool("added")).hook("turn_start", lambda _: heard.append("turn")).prompt(
                PromptSource(name="by-hand", render=render)
            ).skill(RuntimeSkill(name="by-hand", description="d", body="b"))
            with pytest.raises(PluginError) as failure:
                agent.register.tool(make_tool("theirs"))
            assert failure.value.code == "plugin_conflict"
            session = await agent.new_session()
            events, _ = await events_of(
                session, script("call given {}", "call added {}", "call theirs {}", "---", "say done")
            )
            assert [e.outcome for e in events if isinstance(e, ToolEnded)] == ["done"] * 3
            assert heard == ["turn"]
        taken = MadePlugin(id="late", setup=lambda ctx: ctx.tools.register(make_tool("given")))
        with pytest.raises(PluginError):
            async with open_agent(tmp_path, runtime_plugins=[taken], tools=[make_tool("given")]):
                raise AssertionError

    asyncio.run(story())


@pytest.mark.requirement("R96")
def test_no_tool_from_outside_runs_in_plan_mode_whatever_its_vendor_claims(tmp_path: Path) -> None:
    from inspan.agent.plugins.connector import ConnectContext, create_connector_plugin

    class Client:
        async def tools(self) -> Any:
            return [make_tool("look", read_only=True, session_local=True)]

        async def close(self) -> None:
            pass

    async def connect(_: Any, __: ConnectContext) -> Client:
        return Client()

    async def story() -> str:
        plugin = create_connector_plugin(
            id="vendor", version="1", parse_config=lambda raw: raw, connect=connect
        )
        async with open_agent(
            tmp_path, runtime_plugins=[plugin], permission_mode=PermissionMode.PLAN
        ) as agent:
            session = await agent.new_session()
            events, _ = await events_of(session, script("call vendor__look {}", "---", "say done"))
        return next(event.outcome for event in events if isinstance(event, ToolEnded))

    assert asyncio.run(story()) == "denied"


@pytest.mark.requirement("R5")
def test_a_plugin_is_given_no_way_to_the_loop_the_sessions_the_permissions_or_the_records(
    tmp_path: Path,
) -> None:
    async def story() -> set[str]:
        contexts: list[Context] = []
        async with open_agent(tmp_path, runtime_plugins=[MadePlugin(id="mine", setup=contexts.append)]):
            return {name for name in dir(contexts[0]) if not name.startswith("_")}

    assert asyncio.run(story()) == {
        "audit", "auth", "config", "data_dir", "hooks", "logger", "models", "on_dispose",
        "on_start", "pages", "prompts", "run_sync", "signal", "skills", "tools", "workspace",
    }  # fmt: skip


def test_importing_the_agent_reads_no_model_library_and_no_connector_library() -> None:
    import subprocess
    import sys

    program = "import sys, inspan.agent; print([m for m in ('pydantic_ai', 'mcp') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"
