"""What stands on disk: torn ends, kills in mid-turn, two at once, and compaction."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.agent.conversation import (
    AssistantMessage,
    CallPart,
    CallResult,
    Message,
    Summary,
    TextPart,
    ToolMessage,
    UserMessage,
)
from inspan.agent.engine.contract import StopReason
from inspan.agent.events import ContextCompacted, TextDelta
from inspan.agent.hook_events import HookEvent
from inspan.agent.models.contract import ModelDefinition
from inspan.agent.models.scripted import ScriptedModel
from inspan.agent.permissions.values import Answer, PermissionQuestion
from inspan.agent.sessions.compaction import choose_kept, estimate_tokens, transcript_of
from inspan.agent.sessions.history import INTERRUPTED_CALL, History
from inspan.agent.sessions.log import FileLog, read_records
from inspan.agent.sessions.records import (
    CompactionKept,
    Header,
    MessageKept,
    ResultKept,
    SessionRecord,
    SessionSettings,
    SettingsKept,
    TurnBegan,
    TurnFinished,
    encode_record,
)
from inspan.agent.values import JsonObject, TextContent, ToolCall, ToolResult, Usage
from inspan.model.errors import HarnessError, StoreError, UsageError
from support.agent_ground import allow, events_of, make_tool, open_agent, script, temporary_folder

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


def _only_file(folder: Path) -> Path:
    (path,) = (folder / "home" / "agent" / "sessions").iterdir()
    return path


def test_a_process_that_is_killed_in_mid_turn_loses_nothing_and_nothing_is_run_twice(folder: Path) -> None:
    (folder / "work").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    argv = [sys.executable, "-m", "support.agent_killed", str(folder / "home"), str(folder / "work"), ""]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        session_id = process.stdout.readline().split()[1]
        waiting: set[str] = set()
        for line in process.stdout:
            if line.startswith("waiting "):
                waiting.add(line.split()[1])
            if waiting == {"two", "wait"}:
                break
        process.send_signal(signal.SIGKILL)
        process.stdout.read()

    async def story() -> None:
        ran: list[JsonObject] = []

        async def count(arguments: JsonObject, ctx: Any) -> ToolResult:
            ran.append(arguments)
            return ToolResult.of_text("counted again")

        tools = [make_tool("count", count), make_tool("look", count, read_only=True)]
        async with open_agent(folder, tools=tools, responder=allow) as agent:
            session = await agent.resume_session(session_id)
            kinds = [type(message) for message in session.transcript]
            assert kinds == [UserMessage, AssistantMessage, ToolMessage, AssistantMessage, ToolMessage]
            first, second = session.transcript[2], session.transcript[4]
            assert isinstance(first, ToolMessage)
            assert isinstance(second, ToolMessage)
            assert [one.result.text for one in first.results] == ["counted one"]
            texts = [one.result.text for one in second.results]
            assert texts == [INTERRUPTED_CALL, "counted three", INTERRUPTED_CALL]
            assert [one.result.is_error for one in second.results] == [True, False, True]
            ended = await session.run("what happened?")
            assert ended.stop_reason is StopReason.END_TURN
            assert session.turns == 2
        assert ran == []

    asyncio.run(story())
    counted = (folder / "work" / "counted").read_text(encoding="utf-8").split()
    assert sorted(counted) == ["one", "three", "two", "wait"]


@pytest.mark.parametrize("lines", range(1, 15, 2))
def test_a_process_that_is_killed_after_any_event_leaves_a_session_that_goes_on(
    folder: Path, lines: int
) -> None:
    (folder / "work").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    argv = [sys.executable, "-m", "support.agent_killed", str(folder / "home"), str(folder / "work"), ""]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        session_id = process.stdout.readline().split()[1]
        for _ in range(lines - 1):
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.stdout.read()

    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.resume_session(session_id)
            _assert_paired(list(session.transcript))
            seen = session.transcript
            assert (await session.run("go on")).stop_reason is StopReason.END_TURN
            assert session.transcript[: len(seen)] == seen

    asyncio.run(story())
    path = folder / "work" / "counted"
    counted = path.read_text(encoding="utf-8").split() if path.exists() else []
    assert len(set(counted)) == len(counted)


@pytest.mark.parametrize(
    "torn", [b"", b'{"type":"mess', b"\x00" * 512, b'{"type":"message"}\n', b"\xff\xfe\n"]
)
def test_a_torn_end_is_cut_off_and_the_session_goes_on(folder: Path, torn: bytes) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            await session.run("one")
            before = session.transcript
        path = _only_file(folder)
        whole = path.read_bytes()
        path.write_bytes(whole + torn)
        async with open_agent(folder) as agent:
            session = await agent.resume_session(session.id)
            assert session.transcript == before
            await session.run("two")
        assert path.read_bytes().startswith(whole)
        async with open_agent(folder) as agent:
            assert len((await agent.resume_session(session.id)).transcript) == 4

    asyncio.run(story())


def test_damage_in_the_middle_and_a_later_form_are_told_apart_and_never_written_over(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            await session.run("one")
        path = _only_file(folder)
        whole = path.read_bytes()
        for damaged, code in (
            (whole.replace(b'"type":"message"', b'"type":"massage"', 1), "store_corrupt"),
            (whole.replace(b'"format":1', b'"format":2', 1), "store_newer"),
        ):
            path.write_bytes(damaged)
            async with open_agent(folder) as agent:
                with pytest.raises(StoreError) as wrong:
                    await agent.resume_session(session.id)
            assert wrong.value.code == code
            assert path.read_bytes() == damaged

    asyncio.run(story())


def test_a_session_that_another_agent_has_open_is_refused_until_that_lets_go(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as one, open_agent(folder) as two:
            session = await one.new_session()
            for attempt in (two.resume_session, two.delete_session):
                with pytest.raises(HarnessError) as busy:
                    await attempt(session.id)
                assert busy.value.code == "session_in_use"
            await session.close()
            assert (await two.resume_session(session.id)).id == session.id

    asyncio.run(story())


def test_a_session_that_runs_elsewhere_is_forked_up_to_the_turn_that_runs(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as one, open_agent(folder) as two:
            session = await one.new_session()
            await session.run("before")
            async with session.prompt(script("say begun", "wait forever")) as turn:
                async for event in turn:
                    if isinstance(event, TextDelta):
                        break
                fork = await two.fork_session(session.id)
                session.cancel()
                await turn.wait()
            first = fork.transcript[0]
            assert isinstance(first, UserMessage)
            assert first.content == (TextContent(text="before"),)
            assert len(fork.transcript) == 2
            assert (await fork.run("after")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


def test_a_full_disk_fails_the_turn_and_leaves_whole_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            await session.run("one")
            before = _only_file(folder).read_bytes()
            write = os.write

            def full(file: int, data: bytes) -> int:
                if len(data) > 10:
                    write(file, bytes(data[:10]))
                raise OSError(errno.ENOSPC, "full")

            monkeypatch.setattr("inspan.agent.sessions.log.os.write", full)
            ended = await session.run("two")
            assert ended.stop_reason is StopReason.FAILED
            assert "no room on the disk" in ended.message
            assert _only_file(folder).read_bytes() == before
            monkeypatch.undo()
            assert (await session.run("three")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


def test_answers_for_always_and_settings_are_kept_with_the_session(folder: Path) -> None:
    async def always(question: PermissionQuestion) -> Answer:
        return Answer.ALLOW_ALWAYS

    async def story() -> None:
        async with open_agent(folder, tools=[make_tool()], responder=always) as agent:
            session = await agent.new_session()
            await session.run(script('call note {"text": "a"}'))
            rules = session.rules
            assert len(rules) == 1
            with pytest.raises(UsageError):
                await session.configure(effort="utmost")
            with pytest.raises(HarnessError):
                await session.configure(model="nobody:nothing")
            assert session.settings == SessionSettings(model="scripted:demo")
        async with open_agent(folder, tools=[make_tool()]) as agent:
            again = await agent.resume_session(session.id)
            assert again.rules == rules
            fork = await agent.fork_session(session.id)
            await fork.run(script('call note {"text": "b"}'))
            results = fork.transcript[-2]
            assert isinstance(results, ToolMessage)
            assert results.results[0].result.text == "noted b"

    asyncio.run(story())


@pytest.mark.requirement("R80")
@pytest.mark.parametrize("audit", [True, False])
def test_the_permission_log_is_kept_with_the_session_unless_audit_is_off(folder: Path, audit: bool) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool()], responder=allow, audit=audit) as agent:
            session = await agent.new_session()
            await session.run(script('call note {"text": "a"}'))
            await agent.fork_session(session.id)
            logged = [
                path.read_bytes().count(b'"type":"permission"')
                for path in sorted((folder / "home" / "agent" / "sessions").iterdir())
            ]
            assert sum(logged) == (1 if audit else 0)

    asyncio.run(story())


# The conversation that records tell.


def _asked(text: str) -> SessionRecord:
    return MessageKept(message=UserMessage(at=NOW, content=(TextContent(text=text),)))


def _answered(texts: list[str], calls: set[str], is_partial: bool) -> SessionRecord:
    called = () if is_partial else tuple(sorted(calls))
    message = AssistantMessage(
        at=NOW,
        model="m:m",
        parts=(
            *(TextPart(text=text) for text in texts),
            *(CallPart(call=ToolCall(id=one, tool="t", arguments={})) for one in called),
        ),
        usage=Usage(requests=1, input_tokens=3),
        is_partial=is_partial,
    )
    return MessageKept(message=message)


def _returned(call_id: str, text: str) -> SessionRecord:
    result = CallResult(call_id=call_id, tool="t", result=ToolResult.of_text(text))
    return ResultKept(at=NOW, result=result)


def _began(turn: int) -> SessionRecord:
    return TurnBegan(at=NOW, turn=turn)


_TEXTS = st.text(max_size=8)
_ENDED: SessionRecord = TurnFinished(at=NOW, turn=1, stop_reason="end_turn", message="", usage=Usage())
_IDS = st.sampled_from("abcde")
_RECORDS: st.SearchStrategy[SessionRecord] = st.one_of(
    st.builds(_asked, _TEXTS),
    st.builds(_answered, st.lists(_TEXTS, max_size=2), st.sets(_IDS, max_size=3), st.booleans()),
    st.builds(_returned, _IDS, _TEXTS),
    st.builds(_began, st.integers(1, 5)),
    st.just(_ENDED),
)


def _assert_paired(messages: list[Message]) -> None:
    for index, message in enumerate(messages):
        calls = (
            [part.call.id for part in message.parts if isinstance(part, CallPart)]
            if isinstance(message, AssistantMessage)
            else []
        )
        following = messages[index + 1] if index + 1 < len(messages) else None
        results = [one.call_id for one in following.results] if isinstance(following, ToolMessage) else []
        assert results == calls


@given(st.lists(_RECORDS, max_size=25))
def test_whatever_was_written_down_before_a_crash_every_call_has_its_result(
    records: list[SessionRecord],
) -> None:
    history = History(records)
    history.settle()
    _assert_paired(history.messages)
    _assert_paired(history.transcript)


@settings(max_examples=60)
@given(st.lists(_RECORDS, min_size=1, max_size=12), st.data())
def test_a_file_that_ends_anywhere_gives_the_whole_lines_before_it(
    records: list[SessionRecord], data: st.DataObject
) -> None:
    header = Header(format=1, id="s_0123456789", workspace="/", created_at=NOW)
    settled = SettingsKept(at=NOW, settings=SessionSettings(model="m:m"))
    everything = [header, settled, *records]
    encoded = b"".join(map(encode_record, everything))
    cut = data.draw(st.integers(0, len(encoded)))
    found, good = read_records(encoded[:cut])
    assert found == everything[: len(found)]
    assert good == len(b"".join(map(encode_record, found)))
    assert encoded[:cut].count(b"\n") == len(found)


@given(st.lists(_RECORDS, max_size=25), st.integers(0, 400))
def test_what_stays_after_a_compaction_never_parts_a_call_from_its_result(
    records: list[SessionRecord], keep_tokens: int
) -> None:
    history = History(records)
    history.settle()
    kept = choose_kept(history.messages, keep_tokens)
    assert 0 <= kept <= len(history.messages)
    tail = history.messages[len(history.messages) - kept :]
    assert not tail or not isinstance(tail[0], ToolMessage)
    before = len(history.transcript)
    history.add(CompactionKept(summary=Summary(at=NOW, text="so far"), kept=kept))
    _assert_paired(history.messages)
    assert isinstance(history.messages[0], Summary)
    assert history.messages[1:] == tail
    assert len(history.transcript) == before + 1


def test_a_prompt_that_waits_for_its_answer_is_never_summed_up() -> None:
    huge = UserMessage(at=NOW, content=(TextContent(text="x" * 100_000),))
    old = UserMessage(at=NOW, content=(TextContent(text="old"),))
    answer = AssistantMessage(at=NOW, model="m:m", parts=(TextPart(text="a"),))
    assert choose_kept([old, answer, huge], 10) == 1


def test_the_text_that_is_summed_up_holds_everybodys_words_and_cut_results() -> None:
    messages: list[Message] = [
        UserMessage(at=NOW, content=(TextContent(text="please mend it"),)),
        AssistantMessage(
            at=NOW,
            model="m:m",
            parts=(
                TextPart(text="I look"),
                CallPart(call=ToolCall(id="a", tool="look", arguments={"path": "/x"})),
            ),
        ),
        ToolMessage(
            at=NOW, results=(CallResult(call_id="a", tool="look", result=ToolResult.of_text("y" * 50_000)),)
        ),
    ]
    text = transcript_of(messages, 100_000)
    for part in ("please mend it", "I look", "call of look", '"/x"', "result of look"):
        assert part in text
    assert len(text) < 5_000
    assert estimate_tokens(messages) > 10_000


def test_a_conversation_near_the_models_limit_is_made_shorter_by_itself_and_stays_on_disk(
    folder: Path,
) -> None:
    async def story() -> None:
        models = [(ScriptedModel(id="small"), [ModelDefinition(id="m", context_tokens=2_000)])]
        heard: list[HookEvent] = []
        async with open_agent(
            folder, models=models, model="small:m", tools=[make_tool()], responder=allow
        ) as agent:
            agent.register.hook("pre_compact", heard.append)
            session = await agent.new_session()
            compactions: list[ContextCompacted] = []
            spent = Usage()
            for number in range(12):
                events, ended = await events_of(session, f"{number} " + "word " * 150)
                assert ended.stop_reason is StopReason.END_TURN
                spent += ended.usage
                compactions += [event for event in events if isinstance(event, ContextCompacted)]
            assert compactions
            assert len(heard) == len(compactions)
            assert spent == session.usage  # the summaries included
            assert all(one.after_tokens < one.before_tokens for one in compactions)
            assert isinstance(session.messages[0], Summary)
            assert estimate_tokens(session.messages) < 2_000
            prompts = [one for one in session.transcript if isinstance(one, UserMessage)]
            assert len(prompts) == 12
            kept = (session.messages, session.transcript)
        async with open_agent(folder) as agent:
            again = await agent.resume_session(session.id)
            assert (again.messages, again.transcript) == kept

    asyncio.run(story())


def test_a_request_that_was_too_long_is_made_again_after_a_compaction(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool()], responder=allow) as agent:
            session = await agent.new_session()
            await session.run("something long " * 500)
            events, ended = await events_of(session, script("fail context once", "say it fits now"))
            assert any(isinstance(event, ContextCompacted) for event in events)
            assert ended.stop_reason is StopReason.END_TURN
            events, ended = await events_of(session, script("fail context"))
            assert ended.stop_reason is StopReason.FAILED

    asyncio.run(story())


def test_compaction_by_command_and_one_that_fails(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            assert await session.compact() is None
            await session.run("one")
            compacted = await session.compact()
            assert compacted is not None
            assert await session.compact() is None
            assert [type(one) for one in session.messages] == [Summary]
            assert len(session.transcript) == 3
            assert (await session.run("two")).stop_reason is StopReason.END_TURN
            before = session.messages
            await agent.close()

        models = [(_Mute(), [ModelDefinition(id="m")])]
        async with open_agent(folder, models=models) as agent:
            again = await agent.resume_session(session.id)
            await again.configure(model="mute:m")
            with pytest.raises(HarnessError) as failed:
                await again.compact()
            assert failed.value.code == "model_failed"
            assert again.messages == before

    asyncio.run(story())


class _Mute:
    id = "mute"

    async def stream(self, request: Any, cancel: Any) -> Any:
        return
        yield


def test_a_log_that_is_closed_takes_no_more(folder: Path) -> None:
    path = folder / "s_0123456789.jsonl"
    log = FileLog(path, is_new=True)
    log.close()
    log.close()
    with pytest.raises(StoreError):
        log.append(TurnBegan(at=NOW, turn=1))
    assert msgspec.json.encode(TurnBegan(at=NOW, turn=1)) not in path.read_bytes()
