"""The ACP server with the protocol's own SDK as its client: an independent reading of every message."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema

from inspan.agent.commands import COMMANDS
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import Diff, JsonObject, Location, ToolResult
from support.acp_sdk import Person, text, with_sdk
from support.agent_ground import make_tool, script


def test_it_says_what_it_can(tmp_path: Path) -> None:
    async def story(client: Any, _: Person) -> None:
        told = await client.initialize(protocol_version=1)
        assert told.protocol_version == 1
        assert told.agent_info.name == "inspan"
        can = told.agent_capabilities
        assert can.load_session
        assert can.prompt_capabilities.image
        assert can.prompt_capabilities.embedded_context
        assert not can.prompt_capabilities.audio
        offered = can.session_capabilities
        assert all(
            one is not None
            for one in (offered.list, offered.resume, offered.fork, offered.close, offered.delete)
        )

    with_sdk(tmp_path, story)


def test_a_turn_streams_thinks_calls_and_ends_with_its_usage(tmp_path: Path) -> None:
    path = str(tmp_path / "work" / "a.txt")

    async def work(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        call.progress("half way")
        await asyncio.sleep(0)
        return ToolResult(
            content=ToolResult.of_text(f"wrote {arguments['text']}").content,
            diffs=(Diff(path=path, old_text=None, new_text="new\n"),),
        )

    def put_title(_: JsonObject) -> str:
        return "Put a.txt"

    def put_places(_: JsonObject, __: Path) -> tuple[Location, ...]:
        return (Location(path=path, line=3),)

    tool = make_tool(
        "put",
        work,
        kind="edit",
        title=put_title,
        locations=put_places,
    )

    async def story(client: Any, person: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        turn = script("think hm", "say 3: abc", 'call put {"text": "x"}', "---", "say done: $result")
        ended = await client.prompt(session_id=session.session_id, prompt=text(turn))
        assert ended.stop_reason == "end_turn"
        assert ended.usage.input_tokens > 0
        assert ended.usage.total_tokens == ended.usage.input_tokens + ended.usage.output_tokens
        assert next(one.content.text for one in person.of("agent_thought_chunk")).startswith("hm")
        assert "abc" in person.said()
        assert person.said().rstrip().endswith("done: wrote x")
        ((asked, kinds),) = person.asked
        assert asked.title == "Put a.txt"
        assert kinds == ["allow_once", "allow_always", "reject_once", "reject_always"]
        (call,) = person.of("tool_call")
        assert (call.kind, call.status, call.title) == ("edit", "pending", "Put a.txt")
        assert call.locations[0].path == path
        assert call.locations[0].line == 3
        assert call.raw_input == {"text": "x"}
        states = [one.status for one in person.of("tool_call_update") if one.status]
        assert states == ["in_progress", "completed"]
        shown = [one for one in person.of("tool_call_update") if one.content][-1].content
        assert (shown[0].type, shown[0].path, shown[0].old_text, shown[0].new_text) == (
            "diff",
            path,
            None,
            "new\n",
        )
        usage = person.of("usage_update")[-1]
        assert 0 < usage.used < usage.size == 200_000
        assert usage.cost.currency == "USD"
        assert person.of("session_info_update")[-1].title

    with_sdk(tmp_path, story, tools=[tool])


@pytest.mark.parametrize(
    ("answer", "runs", "again"),
    [
        ("allow_once", 1, 2),
        ("allow_always", 1, 1),
        ("reject_once", 0, 2),
        ("reject_always", 0, 1),
        ("cancelled", 0, 2),
    ],
)
def test_what_a_person_answers_is_done_and_an_always_is_remembered(
    answer: str, runs: int, again: int, tmp_path: Path
) -> None:
    ran: list[str] = []

    async def work(arguments: JsonObject, _: ToolCallContext) -> ToolResult:
        ran.append(str(arguments["text"]))
        await asyncio.sleep(0)
        return ToolResult.of_text("ok")

    async def story(client: Any, person: Person) -> None:
        person.answer = answer
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        for word in ("one", "two"):
            await client.prompt(
                session_id=session.session_id,
                prompt=text(script(f'call put {{"text": "{word}"}}', "---", "say over")),
            )
        assert len(ran) == runs * 2
        assert len(person.asked) == again
        ends = [one.status for one in person.of("tool_call_update") if one.status in ("completed", "failed")]
        assert ends == ["completed" if runs else "failed"] * 2

    with_sdk(tmp_path, story, tools=[make_tool("put", work)])


def test_a_question_that_the_client_cannot_put_is_no_answer_of_a_person(tmp_path: Path) -> None:
    async def story(client: Any, person: Person) -> None:
        person.answer = "fails"
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        call = script('call put {"text": "x"}', "---", "say $result")
        await client.prompt(session_id=session.session_id, prompt=text(call))
        assert "could not be put" in person.said()

    with_sdk(tmp_path, story, tools=[make_tool("put")])


def test_a_cancel_ends_the_turn_in_the_stream_and_in_a_question(tmp_path: Path) -> None:
    async def story(client: Any, person: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        id = session.session_id
        streaming = asyncio.create_task(
            client.prompt(session_id=id, prompt=text(script("say begun", "wait forever")))
        )
        await person.spoke.wait()
        await client.cancel(session_id=id)
        assert (await streaming).stop_reason == "cancelled"
        person.answer = None
        asking = asyncio.create_task(
            client.prompt(session_id=id, prompt=text(script('call put {"text": "x"}')))
        )
        await person.is_asked.wait()
        await client.cancel(session_id=id)
        assert (await asking).stop_reason == "cancelled"
        after = await client.prompt(session_id=id, prompt=text(script("say still here")))
        assert after.stop_reason == "end_turn"
        assert "still here" in person.said()

    with_sdk(tmp_path, story, tools=[make_tool("put")])


def test_sessions_are_listed_loaded_resumed_forked_closed_and_deleted(tmp_path: Path) -> None:
    work = str(tmp_path / "work")

    async def story(client: Any, person: Person) -> None:
        first = (await client.new_session(cwd=work, mcp_servers=[])).session_id
        await client.prompt(session_id=first, prompt=text("remember the heron"))
        await client.close_session(session_id=first)
        with pytest.raises(acp.RequestError):
            await client.prompt(session_id=first, prompt=text("closed"))
        listed = (await client.list_sessions(cwd=work)).sessions
        assert [one.session_id for one in listed] == [first]
        assert "heron" in listed[0].title
        assert (await client.list_sessions(cwd="/elsewhere")).sessions == []
        person.updates.clear()
        loaded = await client.load_session(cwd=work, session_id=first, mcp_servers=[])
        assert loaded.modes.current_mode_id == "default"
        told = [one for one in person.updates if one.session_update.endswith("message_chunk")]
        assert [one.session_update for one in told] == ["user_message_chunk", "agent_message_chunk"]
        assert told[0].content.text == "remember the heron"
        person.updates.clear()
        await client.resume_session(cwd=work, session_id=first, mcp_servers=[])
        assert not [one for one in person.updates if one.session_update.endswith("message_chunk")]
        forked = (await client.fork_session(cwd=work, session_id=first, mcp_servers=[])).session_id
        assert forked != first
        await client.prompt(session_id=forked, prompt=text("only in the fork"))
        await client.close_session(session_id=forked)
        person.updates.clear()
        await client.load_session(cwd=work, session_id=first, mcp_servers=[])
        assert "fork" not in person.said()
        for missing in ("s_0000000000000000000", "../../etc", ""):
            with pytest.raises(acp.RequestError):
                await client.load_session(cwd=work, session_id=missing, mcp_servers=[])
        await client._conn.send_request(
            "session/delete", {"sessionId": first}
        )  # the SDK has no method for it yet
        assert [one.session_id for one in (await client.list_sessions(cwd=work)).sessions] == [forked]

    with_sdk(tmp_path, story)


def test_modes_and_options_are_told_set_and_kept(tmp_path: Path) -> None:
    async def story(client: Any, person: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        id = session.session_id
        assert [mode.id for mode in session.modes.available_modes] == [
            "default",
            "plan",
            "accept_edits",
            "bypass",
        ]
        assert {option.id: option.current_value for option in session.config_options} == {
            "mode": "default",
            "model": "scripted:demo",
            "effort": "default",
        }
        await client.set_session_mode(session_id=id, mode_id="bypass")
        assert person.of("current_mode_update")[-1].current_mode_id == "bypass"
        kept = person.of("config_option_update")[-1].config_options
        assert {option.id: option.current_value for option in kept}["mode"] == "bypass"
        await client.prompt(session_id=id, prompt=text(script('call put {"text": "x"}', "---", "say over")))
        assert person.asked == []
        told = await client.set_config_option(session_id=id, config_id="effort", value="high")
        assert {option.id: option.current_value for option in told.config_options}["effort"] == "high"
        told = await client.set_config_option(session_id=id, config_id="mode", value="plan")
        assert person.of("current_mode_update")[-1].current_mode_id == "plan"
        for config, value in (("mode", "no"), ("model", "no:model"), ("effort", "no"), ("other", "x")):
            with pytest.raises(acp.RequestError):
                await client.set_config_option(session_id=id, config_id=config, value=value)
        with pytest.raises(acp.RequestError):
            await client.set_session_mode(session_id=id, mode_id="no")
        await client.close_session(session_id=id)
        again = await client.resume_session(cwd=str(tmp_path / "work"), session_id=id, mcp_servers=[])
        assert again.modes.current_mode_id == "plan"

    with_sdk(tmp_path, story, tools=[make_tool("put")])


def test_the_todo_tool_shows_the_plan_as_it_goes_on(tmp_path: Path) -> None:
    def todo(*states: str) -> str:
        entries = [
            {"content": f"step {number}", "status": state, "priority": "high"}
            for number, state in enumerate(states)
        ]
        return f"call todo {json.dumps({'entries': entries})}"

    async def story(client: Any, person: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        plan = script(
            todo("in_progress", "pending"), "---", todo("completed", "in_progress"), "---", "say so"
        )
        await client.prompt(session_id=session.session_id, prompt=text(plan))
        assert person.asked == []
        assert [
            [(entry.content, entry.status, entry.priority) for entry in one.entries]
            for one in person.of("plan")
        ] == [
            [("step 0", "in_progress", "high"), ("step 1", "pending", "high")],
            [("step 0", "completed", "high"), ("step 1", "in_progress", "high")],
        ]

    with_sdk(tmp_path, story)


def test_a_command_is_answered_by_the_agent_and_asks_no_model(tmp_path: Path) -> None:
    async def story(client: Any, person: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        await person.has_commands.wait()
        offered = [one.name for one in person.of("available_commands_update")[-1].available_commands]
        assert offered == [one.name for one in COMMANDS]
        for name in offered:
            person.updates.clear()
            ended = await client.prompt(session_id=session.session_id, prompt=text(f"/{name}"))
            assert (ended.stop_reason, ended.usage.total_tokens) == ("end_turn", 0)
            assert person.said()
        person.updates.clear()
        await client.prompt(session_id=session.session_id, prompt=text("/unknown command"))
        assert "scripted" in person.said()

    with_sdk(tmp_path, story)


@pytest.mark.parametrize(
    ("fail", "code", "kind"),
    [("quota", 429, "limited"), ("auth", -32603, "failed"), ("raised", -32603, "failed")],
)
def test_a_model_that_fails_is_an_error_with_its_kind(
    fail: str, code: int, kind: str, tmp_path: Path
) -> None:
    async def story(client: Any, _: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        with pytest.raises(acp.RequestError) as failed:
            await client.prompt(session_id=session.session_id, prompt=text(script(f"fail {fail}")))
        assert failed.value.code == code
        told: Any = failed.value.data
        assert told["code"] == kind
        assert str(failed.value)

    with_sdk(tmp_path, story)


def test_without_a_model_and_a_key_a_session_says_what_to_do(tmp_path: Path) -> None:
    async def story(client: Any, _: Person) -> None:
        with pytest.raises(acp.RequestError) as refused:
            await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        assert refused.value.code == -32000
        assert "ANTHROPIC_API_KEY" in str(refused.value)
        with pytest.raises(acp.RequestError):
            await client.authenticate(method_id="environment")

    with_sdk(tmp_path, story, model=None)


def test_pictures_links_and_embedded_files_reach_the_model_as_content(tmp_path: Path) -> None:
    async def story(client: Any, person: Person) -> None:
        session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
        await client.prompt(
            session_id=session.session_id,
            prompt=[
                acp.text_block("look"),
                schema.ImageContentBlock(type="image", data="aGk=", mime_type="image/png"),
                schema.ResourceContentBlock(type="resource_link", name="a.txt", uri="file:///a.txt"),
                schema.EmbeddedResourceContentBlock(
                    type="resource", resource=schema.TextResourceContents(uri="file:///b.txt", text="inside")
                ),
            ],
        )
        person.updates.clear()
        await client.load_session(cwd=str(tmp_path / "work"), session_id=session.session_id, mcp_servers=[])
        told = [one.content for one in person.of("user_message_chunk")]
        assert [one.type for one in told] == ["text", "image", "text", "text"]
        assert "a.txt" in told[2].text
        assert "inside" in told[3].text

    with_sdk(tmp_path, story)


def test_it_is_a_program_that_ends_with_its_input(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()

    async def run() -> None:
        person = Person()
        environment = {"PATH": os.defpath, "HOME": str(tmp_path), "INSPAN_HOME": str(tmp_path / "home")}
        async with acp.spawn_agent_process(
            person,  # type: ignore[arg-type]
            sys.executable,
            "-m",
            "inspan.agent.acp",
            "--model",
            "scripted:demo",
            env=environment,
            use_unstable_protocol=True,
        ) as (client, process):
            await client.initialize(protocol_version=1)
            session = await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])
            ended = await client.prompt(session_id=session.session_id, prompt=text("hello"))
            assert ended.stop_reason == "end_turn"
            assert "hello" in person.said()
        assert process.returncode == 0

    asyncio.run(run())


@pytest.mark.parametrize("module", ["inspan.agent.acp", "inspan.apps.mcp"])
@pytest.mark.parametrize("kind", ["nothing", "a file"])
def test_an_input_that_cannot_be_waited_for_is_read_to_its_end(
    tmp_path: Path, module: str, kind: str
) -> None:
    asked = tmp_path / "asked"
    asked.write_text('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n', encoding="utf-8")
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), "INSPAN_HOME": str(tmp_path / "home")}
    with open(os.devnull if kind == "nothing" else asked, "rb") as given:
        ended = subprocess.run(
            [sys.executable, "-m", module],
            stdin=given, capture_output=True, env=environment, timeout=60, check=False,
        )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert [json.loads(line)["id"] for line in ended.stdout.splitlines()] == (
        [] if kind == "nothing" else [1]
    )
