"""`session/load`: a conversation that is over is told as its turns told it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.acp.replay import replay
from inspan.agent.acp.shapes import update_of
from inspan.agent.announcement import announce
from inspan.agent.events import ToolCalled
from inspan.agent.hook_events import Veto
from inspan.agent.leases import OwnerLease
from inspan.agent.registries import OwnedTool
from inspan.agent.session import Session
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import JsonObject, ToolCall, ToolResult
from support.acp_sdk import Person, text, with_sdk
from support.agent_ground import make_tool, open_agent, script

TOLD = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "plan")


Told = dict[str, Any]


def told_in(person: Person) -> list[Told]:
    """What the conversation's updates came to: words joined, each call as it stands at last, in the order of its beginning."""
    told: list[Told] = []
    calls: dict[str, Told] = {}
    for one in person.updates:
        update: Told = one.model_dump(by_alias=True, exclude_none=True)
        match update["sessionUpdate"]:
            case "tool_call":
                calls[update["toolCallId"]] = update
                told.append(update)
            case "tool_call_update":
                calls[update["toolCallId"]].update({**update, "sessionUpdate": "tool_call"})
            case "agent_message_chunk" if told and told[-1]["sessionUpdate"] == "agent_message_chunk":
                told[-1]["content"]["text"] += update["content"]["text"]
            case kind if kind in TOLD:
                told.append(update)
            case _:
                pass
    return told


async def tell(client: Any, person: Person, session_id: str, *lines: str) -> list[Told]:
    """A turn: what it told, its prompt first, which whoever sent it is not told."""
    person.updates.clear()
    prompt = script(*lines)
    await client.prompt(session_id=session_id, prompt=text(prompt))
    said: Told = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": prompt}}
    return [said, *told_in(person)]


def test_a_loaded_session_tells_its_calls_plans_and_words_as_its_turns_did(tmp_path: Path) -> None:
    work = str(tmp_path / "work")
    entries = [{"content": "a  step\nof two lines", "status": "in_progress", "priority": "high"}]

    async def fail(_: JsonObject, __: ToolCallContext) -> ToolResult:
        raise ValueError("a secret")

    def long_title(arguments: JsonObject) -> str:
        return f"Note {arguments['text']} " + "long " * 100

    def no_title(_: JsonObject) -> str:
        raise ValueError("a secret")

    tools = [make_tool("note", kind="think", title=long_title), make_tool("break", fail, title=no_title)]

    async def story(client: Any, person: Person) -> None:
        id = (await client.new_session(cwd=work, mcp_servers=[])).session_id
        turns = await tell(
            client,
            person,
            id,
            "think hm",
            "say 3: I begin.",
            'call write {"path": "a.txt", "content": "one\\n"}',
            "---",
            'call edit {"path": "a.txt", "old_text": "one", "new_text": "two"}',
            'call note {"text": "x"}',
            'call break {"text": "x"}',
            "call nowhere {}",
            "call note no JSON",
            "---",
            f"call todo {json.dumps({'entries': entries})}",
            "---",
            "say Done: $result",
        )
        person.answer = "reject_once"
        turns += await tell(
            client, person, id, 'call write {"path": "b.txt", "content": "x"}', "---", "say Refused."
        )
        calls = [one for one in turns if one["sessionUpdate"] == "tool_call"]
        assert [one["kind"] for one in calls] == [
            "edit",
            "edit",
            "think",
            "other",
            "other",
            "think",
            "think",
            "edit",
        ]
        assert calls[0]["status"] == "completed"
        assert calls[0]["title"] == "Write a.txt"
        assert calls[0]["locations"] == [{"path": str((tmp_path / "work" / "a.txt").resolve())}]
        assert calls[0]["content"][0]["type"] == "diff"
        assert calls[-1]["status"] == "failed"
        assert [one["sessionUpdate"] for one in turns].count("plan") == 1

        for again in (False, True):
            if again:
                await client.close_session(session_id=id)
            person.updates.clear()
            await client.load_session(cwd=work, session_id=id, mcp_servers=[])
            assert told_in(person) == turns
        assert "a secret" not in json.dumps(turns)

    with_sdk(tmp_path, story, tools=tools)


def test_the_commands_of_a_loaded_session_come_after_its_conversation(tmp_path: Path) -> None:
    async def story(client: Any, person: Person) -> None:
        id = (await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])).session_id
        await client.prompt(session_id=id, prompt=text("hello"))
        await person.has_commands.wait()
        person.updates.clear()
        person.has_commands.clear()
        await client.load_session(cwd=str(tmp_path / "work"), session_id=id, mcp_servers=[])
        await person.has_commands.wait()
        assert [one.session_update for one in person.updates] == [
            "user_message_chunk",
            "agent_message_chunk",
            "available_commands_update",
        ]

    with_sdk(tmp_path, story)


def test_what_the_agent_added_itself_is_no_word_of_a_person_and_a_summary_is_told_as_one(
    tmp_path: Path,
) -> None:
    async def story() -> list[str]:
        async with open_agent(tmp_path) as agent:
            vetoes = iter(["Look again."])

            async def veto(_: Any) -> Any:
                reason = next(vetoes, "")
                return Veto(reason=reason) if reason else None

            agent.register.hook("stop", veto)
            session: Session = await agent.new_session()
            await session.run("hello")
            await session.compact()
            return [one["sessionUpdate"] for one in replay(session.transcript, session.announce)]

    assert asyncio.run(story()) == [
        "user_message_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
    ]


@pytest.mark.parametrize("given", [("/a/path",), (None,), 3], ids=["a text", "nothing", "a number"])
def test_a_tool_whose_places_are_none_is_announced_without_them(given: Any) -> None:
    def places(_: JsonObject, __: Path) -> Any:
        return given

    tool = make_tool("odd", kind=["a", "list"], locations=places)
    owned = OwnedTool(tool=tool, owner="plugin", lease=OwnerLease("plugin"))
    told = announce(ToolCall(id="c_1", tool="odd", arguments={}), owned, Path("/work"))
    assert isinstance(told, ToolCalled)
    assert update_of(told) == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c_1",
        "title": "odd",
        "kind": "other",
        "status": "pending",
        "rawInput": {},
        "locations": [],
    }
