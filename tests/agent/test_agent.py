"""An agent from its making to its end: sessions, turns, settings, and what is on disk afterwards."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import inspan.agent
from inspan.agent import Agent, Session
from inspan.agent.commands import run_command
from inspan.agent.conversation import AssistantMessage, ToolMessage, UserMessage
from inspan.agent.engine.contract import StopReason
from inspan.agent.events import (
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    UsageUpdated,
)
from inspan.agent.permissions.values import PermissionMode
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import Diff, ImageContent, JsonObject, TextContent, ToolResult
from inspan.model.errors import HarnessError, InspanError, PluginError, UsageError
from support.agent_ground import allow, events_of, make_tool, open_agent, script, temporary_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


def _title(arguments: JsonObject) -> str:
    return f"Write {arguments['text']}"


def test_a_turn_streams_text_thinking_calls_with_their_diffs_and_its_end(folder: Path) -> None:
    async def write(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        ctx.progress("half of it")
        change = Diff(path="/w/a", old_text=None, new_text=str(arguments["text"]))
        return ToolResult(content=(TextContent(text="written"),), diffs=(change,))

    async def story() -> None:
        tool = make_tool("write", write, kind="edit", title=_title)
        async with open_agent(folder, tools=[tool], responder=allow) as agent:
            session = await agent.new_session()
            events, ended = await events_of(
                session,
                script(
                    "think so", "say 3: I write it", 'call write {"text": "x"}', "---", "say done: $result"
                ),
            )
        kinds = [type(event) for event in events]
        assert kinds[0] is ThinkingDelta
        texts = [event.text for event in events if isinstance(event, TextDelta)]
        assert len(texts) == 4
        assert "".join(texts) == "I write it\ndone: written\n"
        called = next(event for event in events if isinstance(event, ToolCalled))
        assert (called.title, called.kind) == ("Write x", "edit")
        assert [event.text for event in events if isinstance(event, ToolProgressed)] == ["half of it"]
        done = next(event for event in events if isinstance(event, ToolEnded))
        assert done.outcome == "done"
        assert done.result.diffs == (Diff(path="/w/a", old_text=None, new_text="x"),)
        assert kinds.index(ToolCalled) < kinds.index(ToolStarted) < kinds.index(ToolEnded)
        assert UsageUpdated in kinds
        assert events[-1] == ended
        assert kinds.count(TurnEnded) == 1
        assert ended.stop_reason is StopReason.END_TURN
        assert ended.usage.requests == 2

    asyncio.run(story())


def test_a_session_goes_on_after_its_agent_was_closed_with_its_messages_settings_and_usage(
    folder: Path,
) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool()], responder=allow) as agent:
            session = await agent.new_session()
            await session.configure(permission_mode=PermissionMode.ACCEPT_EDITS, effort="high")
            await session.run(script('call note {"text": "a"}', "---", "say ok"))
            before = (session.transcript, session.settings, session.usage, session.turns, session.title)
            session_id = session.id
        async with open_agent(folder) as agent:
            again = await agent.resume_session(session_id)
            assert (again.transcript, again.settings, again.usage, again.turns, again.title) == before
            assert again.settings.permission_mode is PermissionMode.ACCEPT_EDITS
            ended = await again.run("and now?")
            assert ended.stop_reason is StopReason.END_TURN
            assert again.turns == 2
            assert await agent.resume_session(session_id) is again

    asyncio.run(story())


def test_a_fork_goes_its_own_way_and_leaves_the_original_as_it_was(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            await session.run("first")
            fork = await agent.fork_session(session.id)
            assert fork.id != session.id
            assert fork.transcript == session.transcript
            await fork.run("second")
            assert len(session.transcript) == 2
            assert len(fork.transcript) == 4
            await session.close()
            offline = await agent.fork_session(session.id)
            assert offline.transcript == session.transcript
            listed = {info.id: info.forked_from for info in agent.list_sessions()}
            assert listed == {session.id: "", fork.id: session.id, offline.id: session.id}

    asyncio.run(story())


def test_sessions_are_listed_with_their_titles_and_are_gone_once_they_are_deleted(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            assert agent.list_sessions() == ()
            one = await agent.new_session()
            await one.run("  Mend   the\nroof, please.  ")
            two = await agent.new_session()
            titles = {info.id: info.title for info in agent.list_sessions()}
            assert titles == {one.id: "Mend the roof, please.", two.id: ""}
            await agent.delete_session(one.id)
            assert [info.id for info in agent.list_sessions()] == [two.id]
            with pytest.raises(HarnessError) as missing:
                await agent.resume_session(one.id)
            assert missing.value.code == "session_missing"
            with pytest.raises(UsageError) as closed:
                one.prompt("hello?")
            assert closed.value.code == "session_closed"

    asyncio.run(story())


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "s_", "s_0000000000/../x", "S_0123456789abcdef"])
def test_no_session_is_looked_for_outside_its_folder(folder: Path, name: str) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            for attempt in (agent.resume_session, agent.delete_session, agent.fork_session):
                with pytest.raises(HarnessError) as missing:
                    await attempt(name)
                assert missing.value.code == "session_missing"

    asyncio.run(story())


def test_sessions_on_disk_are_for_their_owner_alone_whatever_the_umask(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            await (await agent.new_session()).run("a secret")

    before = os.umask(0)
    try:
        asyncio.run(story())
    finally:
        os.umask(before)
    home = folder / "home"
    for path in (home, home / "agent", home / "agent" / "sessions"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
    files = list((home / "agent" / "sessions").iterdir())
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600]


def test_an_ephemeral_agent_leaves_nothing_on_disk(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, is_ephemeral=True) as agent:
            session = await agent.new_session()
            await session.run("hello")
            fork = await agent.fork_session(session.id)
            assert fork.transcript == session.transcript
            assert {info.id for info in agent.list_sessions()} == {session.id, fork.id}
            await agent.delete_session(fork.id)
            with pytest.raises(HarnessError):
                await agent.resume_session(fork.id)

    asyncio.run(story())
    assert not (folder / "home").exists()


def test_a_session_runs_one_turn_at_a_time_and_an_agent_several_sessions_side_by_side(folder: Path) -> None:
    started = asyncio.Event()

    async def story() -> None:
        async def wait_for_the_other(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            del ctx
            if arguments["text"] == "first":
                await started.wait()
            else:
                started.set()
            return ToolResult.of_text("met")

        tool = make_tool("meet", wait_for_the_other)
        async with open_agent(folder, tools=[tool], responder=allow) as agent:
            first, second = await agent.new_session(), await agent.new_session()
            turn = first.prompt(script('call meet {"text": "first"}', "---", "say $result"))
            with pytest.raises(UsageError) as running:
                first.prompt("me too")
            assert running.value.code == "turn_running"
            with pytest.raises(UsageError):
                await first.compact()
            with pytest.raises(UsageError):
                await agent.fork_session(first.id)
            ended = await second.run(script('call meet {"text": "second"}', "---", "say $result"))
            assert ended.stop_reason is StopReason.END_TURN
            assert (await turn.wait()).stop_reason is StopReason.END_TURN
            assert (await first.run("now me")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


def test_the_next_turn_may_begin_as_soon_as_the_end_of_the_last_one_was_seen(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            async for event in session.prompt("one"):
                if isinstance(event, TurnEnded):
                    assert (await session.run("two")).stop_reason is StopReason.END_TURN
            assert session.turns == 2

    asyncio.run(story())


def test_leaving_the_block_of_a_turn_cancels_it(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            async with session.prompt(script("say begun", "wait forever")) as turn:
                async for event in turn:
                    assert isinstance(event, TextDelta)
                    break
            assert not session.is_running
            newest = session.transcript[-1]
            assert isinstance(newest, AssistantMessage)
            assert newest.is_partial

    asyncio.run(story())


@pytest.mark.requirement("R15")
def test_closing_an_agent_ends_its_turns_and_may_be_done_twice(folder: Path) -> None:
    async def story() -> None:
        (folder / "work").mkdir()
        agent = await Agent.create(
            workspace=folder / "work", home=folder / "home", model="scripted:demo", environment={}
        )
        session = await agent.new_session()
        turn = session.prompt(script("say begun", "wait forever"))
        await anext(turn)
        await asyncio.gather(agent.close(), agent.close())
        assert (await turn.wait()).stop_reason is StopReason.CANCELLED
        assert session.is_closed
        await agent.close()
        with pytest.raises(UsageError) as closed:
            await agent.new_session()
        assert closed.value.code == "agent_closed"

    asyncio.run(story())


def test_a_prompt_that_says_nothing_is_refused_before_anything_is_kept(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            for empty in ("", " \n", ()):
                with pytest.raises(UsageError):
                    session.prompt(empty)
            assert session.transcript == ()

    asyncio.run(story())


def test_a_picture_that_no_provider_could_be_sent_is_refused_before_anything_is_kept(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            for data in ("abc", "é", "aGk"):
                with pytest.raises(UsageError, match="no base64"):
                    session.prompt(
                        [TextContent(text="look"), ImageContent(media_type="image/png", data=data)]
                    )
            assert session.transcript == ()
            picture = ImageContent(media_type="image/png", data="aGk=\n")
            assert (await session.run([picture])).stop_reason is StopReason.END_TURN

    asyncio.run(story())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"workspace": "/nowhere/at/all"}, "workspace_missing"),
        ({"workspace": __file__}, "workspace_not_a_folder"),
        ({"effort": "enormous"}, "invalid_argument"),
        ({"tools": [make_tool(), make_tool()]}, "plugin_conflict"),
        ({"tools": [make_tool("no good name")]}, "plugin_contribution_invalid"),
    ],
)
def test_an_agent_that_cannot_be_made_says_why(folder: Path, options: dict[str, object], code: str) -> None:
    async def story() -> None:
        async with open_agent(folder, **options):
            raise AssertionError

    with pytest.raises(InspanError) as wrong:
        asyncio.run(story())
    assert wrong.value.code == code


def test_two_tools_of_one_name_are_refused_at_registration(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool("a"), make_tool("a")]):
            raise AssertionError

    with pytest.raises(PluginError, match="'a'"):
        asyncio.run(story())


def test_importing_the_agent_and_running_the_scripted_model_loads_no_model_library(folder: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from inspan.agent import Agent\n"
        "async def main():\n"
        f"    async with Agent.create(workspace={str(folder)!r}, home={str(folder / 'h')!r},"
        " model='scripted:demo') as agent:\n"
        "        await (await agent.new_session()).run('hello')\n"
        "asyncio.run(main())\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'pydantic_ai', 'openai', 'anthropic',"
        " 'google'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_was_said_and_done_stands_in_the_transcript_in_its_order(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool()], responder=allow) as agent:
            session = await agent.new_session()
            await session.run(script('call note {"text": "a"}', 'call note {"text": "b"}', "---", "say end"))
            kinds = [type(message) for message in session.transcript]
            assert kinds == [UserMessage, AssistantMessage, ToolMessage, AssistantMessage]
            results = session.transcript[2]
            assert isinstance(results, ToolMessage)
            assert [one.result.text for one in results.results] == ["noted a", "noted b"]

    asyncio.run(story())


def test_skills_of_folders_that_the_embedder_names_are_configured_ones(folder: Path) -> None:
    skill = folder / "shelf" / "release-notes"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: release-notes\ndescription: How.\n---\nOne line a change.\n")

    async def story() -> None:
        async with open_agent(folder, skill_folders=[folder / "shelf", folder / "missing"]) as agent:
            found = agent.skills.read("release-notes")
            assert (found.skill.origin, found.body.strip()) == ("configured", "One line a change.")
            assert agent.skills.warnings() == ()

    asyncio.run(story())


def test_whatever_making_an_agent_takes_or_gives_can_be_imported_from_one_place() -> None:
    asked = [Agent.create, Agent.new_session, Agent.resume_session, Agent.runtime_plugin_status]
    asked += [Session.prompt, Session.run, Session.configure]
    said = " ".join(str(hint) for one in asked for hint in inspect.get_annotations(one).values())
    # Not of ours, or given back only to be shown.
    others = {"Any", "Mapping", "None", "PathLike", "Sequence", "Content", "SessionSettings"}
    assert set(re.findall(r"[A-Z]\w+", said)) - others <= set(inspan.agent.__all__)
    for name in inspan.agent.__all__:
        value = getattr(inspan.agent, name)
        assert name.endswith(("Plugins", "Responder")) or (value.__doc__ or "").strip(), name


def test_the_command_for_skills_shows_those_of_the_sessions_own_folder_and_what_is_wrong(
    folder: Path,
) -> None:
    elsewhere = folder / "elsewhere"
    for name, header in (("here", "name: here\ndescription: Here alone."), ("broken", "name: [")):
        skill = elsewhere / ".inspan" / "skills" / name
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\n{header}\n---\nBody.\n")

    async def story() -> tuple[str, str]:
        async with open_agent(folder) as agent:
            there, here = await agent.new_session(), await agent.new_session(workspace=elsewhere)
            return await run_command(agent, there, "skills"), await run_command(agent, here, "skills")

    there, here = asyncio.run(story())
    assert "**here**" not in there
    assert "warning" not in there
    assert "- **here** (project): Here alone." in here
    assert re.search(r"- warning: The skill .*broken.* is left out", here)
