"""The one place where tools are called: what gets through, what comes back, and what nobody can break."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.audit.events import AuditEvent, PermissionEvent, ToolExecution
from inspan.agent.breaker import NUDGE, STOPPED
from inspan.agent.cancelling import CancelSource
from inspan.agent.events import ToolEnded, ToolProgressed
from inspan.agent.hook_events import HookEvent, PostTool, PreTool, ToolError, Veto
from inspan.agent.permissions.values import PermissionMode
from inspan.agent.result_bounds import ResultLimits, bounded
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import Diff, ImageContent, JsonObject, TextContent, ToolResult
from support.agent_ground import allow, events_of, make_tool, open_agent, script, temporary_folder
from support.caller_ground import Ground

SECRET = "sk-very-secret"


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


def _raising(error: BaseException) -> Callable[[JsonObject, ToolCallContext], Any]:
    async def work(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ValueError(SECRET), "ValueError"),
        (SystemExit(SECRET), "SystemExit"),
        (ExceptionGroup(SECRET, [ValueError(SECRET)]), "ExceptionGroup"),
        (asyncio.CancelledError(SECRET), "CancelledError"),
        (RecursionError(SECRET), "RecursionError"),
    ],
)
def test_whatever_a_tool_raises_becomes_an_error_result_that_names_its_class_alone(
    error: BaseException, name: str
) -> None:
    async def story() -> None:
        ground = Ground(make_tool(work=_raising(error)))
        heard: list[HookEvent] = []
        for event in ("post_tool", "tool_error"):
            ground.hooks.on(event, lambda event: heard.append(event), "tester")
        result = await ground.call()
        assert result.is_error
        assert result.text == f"The tool failed with {name}."
        assert [type(event) for event in heard] == [ToolError]
        (execution,) = ground.audited
        assert isinstance(execution, ToolExecution)
        assert (execution.exception, execution.is_error, execution.owner) == (name, True, "tester")
        assert SECRET not in repr((ground.events, ground.audited, heard))

    asyncio.run(story())


def test_a_call_that_is_no_good_is_told_why_in_words_and_never_reaches_the_permission_engine() -> None:
    async def story() -> None:
        schema = {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "lines": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["path"],
            "additionalProperties": False,
        }
        ground = Ground(make_tool("read_file", input_schema=schema))
        assert "Did you mean read_file?" in (await ground.call("readfile")).text
        assert "There are: read_file." in (await ground.call("zzz")).text
        wrong = (await ground.call("read_file", {"lines": [1, "two"], "extra": 1})).text
        assert "'path' is a required property" in wrong
        assert "lines[1]: 'two' is not of type 'integer'" in wrong
        assert "'extra' was unexpected" in wrong
        broken = await ground.call("read_file", malformed='{"path": "a')
        assert "no JSON object" in broken.text
        assert ground.outcomes == ["refused"] * 4
        assert ground.audited == []

    asyncio.run(story())


def test_an_argument_of_enormous_size_does_not_make_an_enormous_error() -> None:
    async def story() -> None:
        ground = Ground(make_tool())
        result = await ground.call("note", {"text": ["x" * 1_000_000], **{f"k{n}": n for n in range(1000)}})
        assert result.is_error
        assert len(result.text) < 2_000

    asyncio.run(story())


def test_a_schema_is_never_fetched_and_one_that_leads_nowhere_is_an_error_result() -> None:
    async def story() -> None:
        schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
        ground = Ground(make_tool(input_schema=schema))
        result = await ground.call("note", {"a": 1})
        assert result.is_error
        assert "cannot be checked" in result.text

    asyncio.run(story())


def test_the_second_identical_call_gets_a_nudge_the_third_is_not_run_and_the_next_turn_begins_anew() -> None:
    async def story() -> None:
        ground = Ground(make_tool())
        texts = [(await ground.call("note", {"text": "a"})).text for _ in range(3)]
        assert texts[0] == "noted a"
        assert texts[1] == f"noted a\n{NUDGE}"
        assert texts[2] == STOPPED
        assert ground.outcomes == ["done", "done", "refused"]
        ground.caller.begin_turn()
        assert (await ground.call("note", {"text": "a"})).text == "noted a"

    asyncio.run(story())


def test_a_veto_is_an_error_result_and_a_handler_cannot_change_the_arguments() -> None:
    async def story() -> None:
        ground = Ground(make_tool())

        def guard(event: PreTool) -> Veto | None:
            if event.arguments.get("text") == "no":
                return Veto(reason="not today")
            event.arguments["text"] = "changed"  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
            return None

        ground.hooks.on("pre_tool", guard, "tester")
        assert (await ground.call("note", {"text": "no"})).text == "This call was not run: not today"
        assert (await ground.call("note", {"text": "yes"})).text == "noted yes"

    asyncio.run(story())


@pytest.mark.requirement("R38")
def test_a_tool_that_is_not_allowed_does_not_run_and_is_no_execution_for_the_audit() -> None:
    async def story() -> None:
        ground = Ground(make_tool(), mode=PermissionMode.DEFAULT)
        result = await ground.call()
        assert result.is_error
        assert ground.outcomes == ["denied"]
        await ground.audit.drain(5)
        assert ground.audited == []

    asyncio.run(story())


@pytest.mark.requirement("R88")
def test_a_tool_whose_owner_stopped_refuses_and_one_that_stops_during_a_call_ends_it() -> None:
    async def story() -> None:
        started = asyncio.Event()

        async def wait(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            started.set()
            await ctx.cancel.wait()
            return ToolResult.of_text("too late")

        ground = Ground(make_tool(work=wait))
        calling = asyncio.create_task(ground.call())
        await started.wait()
        ground.lease.stop()
        during = await calling
        assert during.is_error
        assert "stopped during the call" in during.text
        after = await ground.call("note", {"text": "x"})
        assert after.is_error
        assert "has stopped" in after.text

    asyncio.run(story())


@pytest.mark.parametrize("manner", ["heeds", "is cancelled", "ignores"])
def test_a_cancelled_call_ends_soon_whatever_the_tool_does(manner: str) -> None:
    async def story() -> None:
        started = asyncio.Event()
        release = asyncio.Event()

        async def work(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            started.set()
            if manner == "heeds":
                await ctx.cancel.wait()
            elif manner == "is cancelled":
                await asyncio.Event().wait()
            else:
                while not release.is_set():
                    with contextlib.suppress(asyncio.CancelledError):
                        await release.wait()
            return ToolResult.of_text("thrown away")

        ground = Ground(make_tool(work=work))
        source = CancelSource()
        calling = asyncio.create_task(ground.call(cancel=source.signal))
        await started.wait()
        source.cancel()
        result = await calling
        assert result.is_error
        assert "cancelled" in result.text
        assert ground.outcomes == ["cancelled"]
        release.set()
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(story())


def test_progress_from_a_thread_is_shown_and_a_result_says_how_long_the_call_took() -> None:
    async def story() -> None:
        async def work(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            thread = threading.Thread(target=ctx.progress, args=("from a thread \ud800",))
            thread.start()
            await asyncio.to_thread(thread.join)
            ctx.progress("from the loop")
            return ToolResult.of_text("ok")

        ground = Ground(make_tool(work=work))
        heard: list[PostTool] = []
        ground.hooks.on("post_tool", heard.append, "tester")
        await ground.call()
        texts = [event.text for event in ground.events if isinstance(event, ToolProgressed)]
        assert sorted(texts) == ["from a thread \ufffd", "from the loop"]
        assert heard[0].duration_s > 0

    asyncio.run(story())


def test_calls_that_change_things_come_one_at_a_time_and_those_that_do_not_side_by_side() -> None:
    async def story() -> None:
        running = 0
        most = {"change": 0, "look": 0}

        def counting(name: str) -> Callable[[JsonObject, ToolCallContext], Any]:
            async def work(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
                nonlocal running
                running += 1
                most[name] = max(most[name], running)
                for _ in range(5):
                    await asyncio.sleep(0)
                running -= 1
                return ToolResult.of_text(name)

            return work

        ground = Ground(
            make_tool("change", counting("change")), make_tool("look", counting("look"), read_only=True)
        )
        for name in ("change", "look"):
            await asyncio.gather(*(ground.call(name, {"text": str(n)}) for n in range(4)))
        assert most == {"change": 1, "look": 4}

    asyncio.run(story())


def test_a_result_of_a_hundred_megabytes_and_a_binary_one_are_made_small_and_readable() -> None:
    limits = ResultLimits(text_chars=1_000)
    huge = bounded("begin" + "x" * 100_000_000 + "end", limits)
    assert len(huge.text) < 1_200
    assert huge.text.startswith("begin")
    assert huge.text.endswith("end")
    assert "characters were left out" in huge.text
    many = bounded(ToolResult(content=tuple(TextContent(text="y" * 400) for _ in range(1_000))), limits)
    assert len(many.text) < 1_400
    binary = bounded(bytes(range(256)).decode("latin-1") * 10, limits)
    assert "\x00" not in binary.text
    assert bounded(b"bytes", limits).is_error
    assert bounded(None, limits).is_error
    assert bounded(ToolResult(content=("no content",)), limits).is_error  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("R39")
def test_a_mapping_with_content_is_a_result_too() -> None:
    limits = ResultLimits()
    given_by_tool = {"content": [{"type": "text", "text": "a"}], "is_error": True}
    assert bounded(given_by_tool, limits) == ToolResult.error("a")
    assert bounded({"content": [{"type": "song"}]}, limits).is_error
    assert bounded({"other": 1}, limits).is_error


def test_a_picture_that_is_too_large_or_no_picture_is_left_out_and_said() -> None:
    limits = ResultLimits(image_bytes=100, pictures=3, diff_chars=10)
    good = ImageContent(media_type="image/png", data="aGVsbG8=")
    result = bounded(
        ToolResult(
            content=(
                good,
                ImageContent(media_type="image/png", data="A" * 1_000),
                ImageContent(media_type="image/png", data="!!!"),
                good,
            ),
            diffs=(
                Diff(path="/a", old_text="12345", new_text="6789"),
                Diff(path="/b", old_text="x" * 20, new_text=""),
            ),
        ),
        limits,
    )
    assert [isinstance(part, ImageContent) for part in result.content] == [True, False, False, False]
    assert "larger than 100 bytes" in result.text
    assert "no base64" in result.text
    assert "too many pictures" in result.text
    assert [diff.path for diff in result.diffs] == ["/a"]


@given(st.text(alphabet=st.characters(codec=None), max_size=200), st.integers(10, 300))
def test_every_text_comes_out_bounded_and_can_be_written(text: str, limit: int) -> None:
    result = bounded(text, ResultLimits(text_chars=limit))
    result.text.encode("utf-8")
    assert len(result.text) <= limit + 80
    if len(text) <= limit and text.isascii() and "\x00" not in text:
        assert result.text == text


def test_a_call_is_judged_run_and_audited_once_from_prompt_to_answer(folder: Path) -> None:
    async def story() -> None:
        events: list[AuditEvent] = []

        class Sink:
            async def write(self, event: AuditEvent) -> None:
                events.append(event)

        async with open_agent(folder, tools=[make_tool()], responder=allow) as agent:
            agent.register.audit_sink(Sink())
            session = await agent.new_session()
            shown, _ = await events_of(session, script('call note {"text": "a"}', "---", "say end"))
            assert len([event for event in shown if isinstance(event, ToolEnded)]) == 1
        assert [type(event) for event in events] == [PermissionEvent, ToolExecution]

    asyncio.run(story())


def test_arguments_that_hold_half_a_surrogate_pair_do_no_harm(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool()], responder=allow) as agent:
            session = await agent.new_session()
            arguments = json.dumps({"text": "a\ud800b"})
            ended = await session.run(script(f"call note {arguments}", "---", "say $result"))
            assert ended.message == ""
            await session.close()
            again = await agent.resume_session(session.id)
            assert "noted a\ufffdb" in str(again.transcript)

    asyncio.run(story())
