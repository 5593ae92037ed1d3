"""The agent's own tools, plans and child agents in whole turns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspan.agent.audit.events import AuditEvent, PermissionEvent
from inspan.agent.conversation import ToolMessage
from inspan.agent.engine.contract import StopReason
from inspan.agent.events import PermissionAsked, PlanUpdated, TextDelta, ToolCalled, ToolEnded
from inspan.agent.hook_events import HookEvent, SubagentStart, SubagentStop
from inspan.agent.permissions.values import Answer, PermissionMode, PermissionQuestion
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.tools.settings import ToolSettings
from inspan.agent.values import JsonObject, ToolResult
from inspan.model.errors import PluginError
from support.agent_ground import allow, events_of, make_tool, open_agent, script, temporary_folder

OWN = ToolSettings()


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


def _call(tool: str, **arguments: object) -> str:
    return f"call {tool} {json.dumps(arguments)}"


def test_the_agent_has_its_own_tools_and_nobody_takes_their_names(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, builtin_tools=OWN) as agent:
            names = {tool.name for tool in agent.tools}
        assert {"todo", "skill", "subagent"} <= names
        with pytest.raises(PluginError) as conflict:
            async with open_agent(folder, builtin_tools=OWN, tools=[make_tool("todo")]):
                raise AssertionError
        assert conflict.value.code == "plugin_conflict"
        async with open_agent(folder, builtin_tools=None, tools=[make_tool("todo")]):
            pass

    asyncio.run(story())


def test_a_file_is_written_and_read_and_its_diff_is_shown(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(
            folder, builtin_tools=OWN, permission_mode=PermissionMode.ACCEPT_EDITS
        ) as agent:
            session = await agent.new_session()
            events, ended = await events_of(
                session,
                script(
                    _call("write", path="made.txt", content="hello\n"),
                    "---",
                    _call("read", path="made.txt"),
                    "---",
                    "say $result",
                ),
            )
            assert ended.stop_reason is StopReason.END_TURN
            done = [event for event in events if isinstance(event, ToolEnded)]
            assert [event.outcome for event in done] == ["done", "done"], [one.result.text for one in done]
            assert done[0].result.diffs[0].new_text == "hello\n"
            assert "hello" in "".join(event.text for event in events if isinstance(event, TextDelta))
        assert (folder / "work" / "made.txt").read_text(encoding="utf-8") == "hello\n"

    asyncio.run(story())


def test_a_plan_is_shown_as_it_changes(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, builtin_tools=OWN) as agent:
            session = await agent.new_session()
            entries = [{"content": "look", "status": "in_progress"}, {"content": "leap"}]
            events, _ = await events_of(session, script(_call("todo", entries=entries)))
            (updated,) = [event for event in events if isinstance(event, PlanUpdated)]
            assert [(one.content, one.status) for one in updated.entries] == [
                ("look", "in_progress"),
                ("leap", "pending"),
            ]

    asyncio.run(story())


@pytest.mark.requirement("R71")
def test_a_child_works_with_its_own_calls_under_the_same_permissions_and_its_words_stay_inside(
    folder: Path,
) -> None:
    async def story() -> None:
        questions: list[PermissionQuestion] = []
        audited: list[AuditEvent] = []
        heard: list[HookEvent] = []

        async def responder(question: PermissionQuestion) -> Answer:
            questions.append(question)
            return Answer.ALLOW_ONCE

        class Sink:
            async def write(self, event: AuditEvent) -> None:
                audited.append(event)

        async def run_children(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            tool = next(tool for tool in agent.tools if tool.name == "subagent")
            prompt = script('call note {"text": "from the child"}', "---", "say I have $result")
            results = await asyncio.gather(
                *(tool.execute({"name": "scout", "prompt": prompt}, ctx) for _ in range(2))
            )
            return ToolResult.of_text(" | ".join(result.text for result in results))

        async with open_agent(
            folder,
            builtin_tools=OWN,
            tools=[make_tool(), make_tool("delegate", run_children, session_local=True)],
            responder=responder,
        ) as agent:
            agent.register.audit_sink(Sink())
            for name in ("subagent_start", "subagent_stop"):
                agent.register.hook(name, heard.append)
            session = await agent.new_session()
            events, ended = await events_of(session, script("call delegate {}", "---", "say $result"))
            said = "".join(event.text for event in events if isinstance(event, TextDelta))
            assert said == "I have noted from the child | I have noted from the child\n"
            assert ended.usage.requests == 6
            assert session.usage.requests == 6
            called = [event for event in events if isinstance(event, ToolCalled)]
            assert [event.subagent for event in called] == ["", "scout", "scout (2)"]
            assert len({event.call_id for event in called}) == 3
            assert len([event for event in events if isinstance(event, PermissionAsked)]) == 2
            assert {question.subagent for question in questions} == {"scout", "scout (2)"}
            assert len(session.transcript) == 4
            usage = session.usage
            await session.close()
            assert (await agent.resume_session(session.id)).usage == usage
        records = [event.record for event in audited if isinstance(event, PermissionEvent)]
        assert sorted(record.subagent for record in records) == ["", "scout", "scout (2)"]
        starts = [event.name for event in heard if isinstance(event, SubagentStart)]
        stops = [(event.name, event.stop_reason) for event in heard if isinstance(event, SubagentStop)]
        assert starts == ["scout", "scout (2)"]
        assert sorted(stops) == [("scout", "end_turn"), ("scout (2)", "end_turn")]

    asyncio.run(story())


def test_a_child_has_no_more_tools_than_it_was_given_and_ends_with_its_parents_turn(folder: Path) -> None:
    async def story() -> None:
        async def run_child(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            tool = next(tool for tool in agent.tools if tool.name == "subagent")
            prompt = script('call note {"text": "x"}', "call todo {}", "---", "wait forever")
            return await tool.execute({"name": "scout", "prompt": prompt, "tools": ["todo"]}, ctx)

        async with open_agent(
            folder,
            builtin_tools=OWN,
            tools=[make_tool(), make_tool("delegate", run_child, session_local=True)],
            responder=allow,
        ) as agent:
            session = await agent.new_session()
            turn = session.prompt(script("call delegate {}"))
            ended: list[ToolEnded] = []
            async for event in turn:
                if isinstance(event, ToolEnded):
                    ended.append(event)
                    if len(ended) == 2:
                        session.cancel()
            assert (await turn.wait()).stop_reason is StopReason.CANCELLED
            first = next(event for event in ended if event.tool == "note")
            assert "There is no tool 'note'" in first.result.text
            newest = session.transcript[-1]
            assert isinstance(newest, ToolMessage)
            assert newest.results[0].result.is_error

    asyncio.run(story())
