"""A turn can be cancelled at any instant, and the conversation is whole afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import AssistantMessage, CallPart, Message, ToolMessage, UserMessage
from inspan.agent.engine.contract import Retrying, StopReason
from inspan.agent.engine.loop import NOT_RUN_CALL
from inspan.agent.events import PermissionAsked, TextDelta, ToolStarted, TurnEnded, UsageUpdated
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest, PartDone, UsageSeen
from inspan.agent.permissions.values import Answer, PermissionMode, PermissionQuestion
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import JsonObject, ToolCall, ToolResult, Usage
from support.agent_ground import QUICK, make_tool, open_agent, script, temporary_folder

STORY = script(
    "think about it",
    "say 4: I make some calls",
    'call slow {"text": "a"}',
    'call slow {"text": "b"}',
    'call look {"text": "c"}',
    "call nothing {}",
    "---",
    "fail unavailable once",
    "say 3: and more",
    'call slow {"text": "d"}',
    "---",
    "say 3: that is all",
)
"""A turn of many moments: thinking, text, calls that wait, questions, a call of no tool, a repetition."""


def assert_whole(messages: tuple[Message, ...]) -> None:
    """Every call has its result, in the message after it, and nothing else has one."""
    for index, message in enumerate(messages):
        calls: list[str] = []
        if isinstance(message, AssistantMessage):
            calls = [part.call.id for part in message.parts if isinstance(part, CallPart)]
            assert not (message.is_partial and calls)
        following = messages[index + 1] if index + 1 < len(messages) else None
        results = [one.call_id for one in following.results] if isinstance(following, ToolMessage) else []
        assert results == calls


async def _slow(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
    for step in range(3):
        ctx.progress(f"step {step}")
        await asyncio.sleep(0)
    return ToolResult.of_text("done")


async def _answer(question: PermissionQuestion) -> Answer:
    for _ in range(3):
        await asyncio.sleep(0)
    return Answer.ALLOW_ONCE


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 45), st.integers(0, 6), st.booleans())
def test_cancelling_after_any_event_leaves_a_whole_conversation_and_a_session_that_goes_on(
    after: int, steps: int, is_task_cancelled: bool
) -> None:
    async def story(folder: Path) -> None:
        tools = [make_tool("slow", _slow), make_tool("look", _slow, read_only=True)]
        async with open_agent(folder, tools=tools, responder=_answer) as agent:
            session = await agent.new_session()

            async def watch() -> TurnEnded:
                async with session.prompt(STORY) as turn:
                    seen = 0
                    while seen < after and (await anext(turn, None)) is not None:
                        seen += 1
                    for _ in range(steps):
                        await asyncio.sleep(0)
                    if is_task_cancelled:
                        own = asyncio.current_task()
                        assert own is not None
                        own.cancel()
                        await asyncio.sleep(0)
                    session.cancel()
                    return await turn.wait()

            watching = asyncio.create_task(watch())
            await asyncio.wait({watching})
            assert watching.cancelled() is is_task_cancelled
            if not is_task_cancelled:
                assert watching.result().stop_reason in (StopReason.CANCELLED, StopReason.END_TURN)
            assert not session.is_running
            assert_whole(session.transcript)
            kept = session.transcript
            assert (await session.run("and now?")).stop_reason is StopReason.END_TURN
            assert_whole(session.transcript)
            await session.close()
            again = await agent.resume_session(session.id)
            assert again.transcript[: len(kept)] == kept
            assert_whole(again.transcript)

    with temporary_folder() as path:
        asyncio.run(story(Path(path)))


@pytest.mark.parametrize("moment", ["text", "tool", "question", "retry"])
def test_a_cancel_is_heeded_wherever_the_turn_waits_for_ever(moment: str) -> None:
    async def never(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        await asyncio.Event().wait()
        return ToolResult()

    async def nobody(question: PermissionQuestion) -> Answer:
        await asyncio.Event().wait()
        return Answer.ALLOW_ONCE

    async def story(folder: Path) -> None:
        tools = [make_tool("look", never, read_only=True), make_tool("change", never)]
        lines, awaited = {
            "text": (["say x", "wait forever"], TextDelta),
            "tool": (["call look {}"], ToolStarted),
            "question": (["call change {}"], PermissionAsked),
            "retry": (["fail unavailable"], Retrying),
        }[moment]
        patient = structs.replace(
            QUICK, engine=structs.replace(QUICK.engine, first_wait_s=1e6, longest_wait_s=1e6)
        )
        async with open_agent(folder, tools=tools, responder=nobody, limits=patient) as agent:
            session = await agent.new_session()
            turn = session.prompt(script(*lines))
            async for event in turn:
                if isinstance(event, awaited):
                    turn.cancel()
            assert (await turn.wait()).stop_reason is StopReason.CANCELLED
            assert_whole(session.transcript)
            assert isinstance(session.transcript[0], UserMessage)
            assert (await session.run("next")).stop_reason is StopReason.END_TURN

    with temporary_folder() as path:
        asyncio.run(story(Path(path)))


def test_a_cancel_before_the_first_step_keeps_nothing() -> None:
    async def story(folder: Path) -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            turn = session.prompt("hello")
            turn.cancel()
            assert (await turn.wait()).stop_reason is StopReason.CANCELLED
            assert session.transcript == ()

    with temporary_folder() as path:
        asyncio.run(story(Path(path)))


def test_a_cancel_is_heeded_while_the_conversation_is_made_shorter() -> None:
    async def story(folder: Path) -> None:
        asked = asyncio.Event()

        class Slow:
            id = "slow"

            async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
                newest = request.messages[-1]
                if isinstance(newest, UserMessage) and newest.source == "compaction":
                    asked.set()
                    await asyncio.Event().wait()
                yield TextDelta(text="word " * 400)

        models = [(Slow(), [ModelDefinition(id="m", context_tokens=1_000)])]
        async with open_agent(folder, models=models, model="slow:m") as agent:
            session = await agent.new_session()
            await session.run("one")
            await session.run("two")
            turn = session.prompt("three")
            reading = asyncio.create_task(turn.wait())
            await asked.wait()
            session.cancel()
            assert (await reading).stop_reason is StopReason.CANCELLED
            assert len(session.messages) == 5
            assert_whole(session.transcript)

    with temporary_folder() as path:
        asyncio.run(story(Path(path)))


def test_a_mode_that_is_changed_in_mid_turn_counts_from_the_next_call_on() -> None:
    async def story(folder: Path) -> None:
        async def plan(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
            await agent.sessions[ctx.session_id].configure(permission_mode=PermissionMode.PLAN)
            return ToolResult.of_text("planned")

        async with open_agent(
            folder, tools=[make_tool("plan", plan)], permission_mode=PermissionMode.BYPASS
        ) as agent:
            session = await agent.new_session()
            await session.run(script("call plan {}", 'call plan {"text": "again"}', "---", "say end"))
            results = session.transcript[2]
            assert isinstance(results, ToolMessage)
            assert [one.result.is_error for one in results.results] == [False, True]
            assert "Plan mode" in results.results[1].result.text
            await session.close()
            again = await agent.resume_session(session.id)
            assert again.settings.permission_mode is PermissionMode.PLAN

    with temporary_folder() as path:
        asyncio.run(story(Path(path)))


def test_a_call_that_had_not_begun_when_the_turn_was_cancelled_is_said_not_to_have_run() -> None:
    async def story(folder: Path) -> None:
        async with open_agent(folder, tools=[make_tool()]) as agent:
            session = await agent.new_session()

            class Cancelling:
                id = "cancelling"

                async def stream(
                    self, request: ModelRequest, cancel: CancelSignal
                ) -> AsyncIterator[ModelEvent]:
                    yield PartDone(part=CallPart(call=ToolCall(id="c_1", tool="note", arguments={})))
                    yield UsageSeen(usage=Usage(requests=1))

            agent.register.model(Cancelling(), [ModelDefinition(id="m")])
            await session.configure(model="cancelling:m")
            async for event in (turn := session.prompt("Go.")):
                if isinstance(event, UsageUpdated):  # the answer is kept, and its call is about to begin
                    session.cancel()
            assert (await turn.wait()).stop_reason is StopReason.CANCELLED
            newest = session.transcript[-1]
            assert isinstance(newest, ToolMessage)
            assert newest.results[0].result.text == NOT_RUN_CALL

    with temporary_folder() as path:
        asyncio.run(story(Path(path)))
