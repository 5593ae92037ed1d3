"""A child agent's conversation near and over its model's limit: it is made shorter, as its parent's is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from inspan.agent.cancelling import CancelSignal, CancelSource, run_until
from inspan.agent.conversation import CallPart, Summary, UserMessage
from inspan.agent.engine.contract import StopReason
from inspan.agent.events import ContextCompacted, SessionEvent, TurnEnded
from inspan.agent.hook_events import HookEvent, PreCompact
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest, PartDone, TextDelta
from inspan.agent.models.failure import FailureKind, ModelFailure
from inspan.agent.models.scripted import ScriptedModel
from inspan.agent.session import Session, SessionLimits
from inspan.agent.sessions.compaction import COMPACTION_SOURCE, estimate_tokens
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.tools.settings import ToolSettings
from inspan.agent.turn import TurnLimits
from inspan.agent.values import JsonObject, ToolCall, ToolResult
from support.agent_ground import QUICK, allow, events_of, make_tool, open_agent, script

OWN = ToolSettings(shell=None, fetch=None)
LIMIT_TOKENS = 2_000


class Narrow(ScriptedModel):
    """Refuses what is longer than its context, as a provider does; else it looks twelve times, then it is done."""

    def __init__(self) -> None:
        super().__init__(id="narrow")
        self.looks = 0
        self.longest = 0
        self.summaries = 0

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        newest = request.messages[-1]
        if isinstance(newest, UserMessage) and newest.source == COMPACTION_SOURCE:
            self.summaries += 1
        else:
            tokens = estimate_tokens(request.messages)
            if tokens > LIMIT_TOKENS:
                raise ModelFailure(FailureKind.CONTEXT, "The conversation is too long for the model.")
            self.longest = max(self.longest, tokens)
            if self.looks < 12:
                self.looks += 1
                call = ToolCall(id=f"look_{self.looks}", tool="look", arguments={"text": str(self.looks)})
                yield PartDone(part=CallPart(call=call))
            else:
                yield TextDelta(text="All twelve were seen.")
            return
        async for event in super().stream(request, cancel):
            yield event


async def look(arguments: JsonObject, _: ToolCallContext) -> ToolResult:
    await asyncio.sleep(0)
    return ToolResult.of_text(f"{arguments['text']} " + "word " * 240)


def delegated(model: str, *lines: str) -> str:
    arguments = {"name": "scout", "prompt": script(*lines), "model": model}
    return script(f"call subagent {json.dumps(arguments)}", "---", "say $result")


def told(
    tmp_path: Path, model: ScriptedModel, prompt: str
) -> tuple[list[SessionEvent], TurnEnded, Session, list[HookEvent]]:
    """A turn with a child on a model of 2,000 tokens."""

    async def story() -> tuple[list[SessionEvent], TurnEnded, Session, list[HookEvent]]:
        heard: list[HookEvent] = []
        async with open_agent(
            tmp_path,
            builtin_tools=OWN,
            tools=[make_tool("look", look, read_only=True)],
            models=[(model, [ModelDefinition(id="m", context_tokens=LIMIT_TOKENS)])],
            responder=allow,
        ) as agent:
            agent.register.hook("pre_compact", heard.append)
            session = await agent.new_session()
            events, ended = await events_of(session, prompt)
            return events, ended, session, heard

    return asyncio.run(story())


def result_of(session: Session) -> ToolResult:
    message: Any = session.transcript[2]
    return message.results[0].result


def test_a_childs_conversation_near_its_models_limit_is_made_shorter_and_nothing_of_it_is_seen_by_its_parent(
    tmp_path: Path,
) -> None:
    model = Narrow()
    events, ended, session, heard = told(tmp_path, model, delegated("narrow:m", "say never"))
    assert result_of(session).text == "All twelve were seen."
    assert model.looks == 12
    assert model.summaries >= 2
    assert model.longest <= LIMIT_TOKENS
    assert heard == [
        PreCompact(session_id=session.id, input_tokens=one.input_tokens, subagent="scout")
        for one in heard
        if isinstance(one, PreCompact)
    ]
    assert len(heard) == model.summaries
    assert ended.stop_reason is StopReason.END_TURN
    assert ended.usage.requests == session.usage.requests == 2 + 13 + model.summaries
    assert not [event for event in events if isinstance(event, ContextCompacted)]
    assert not [message for message in session.transcript if isinstance(message, Summary)]


def test_a_childs_request_that_was_too_long_is_made_again_after_a_compaction(tmp_path: Path) -> None:
    lines = ('call look {"text": "x"}', "---", "fail context once", "say over")
    _, _, session, heard = told(tmp_path, ScriptedModel(id="narrow"), delegated("narrow:m", *lines))
    assert "summed up by a script" in result_of(session).text
    assert not result_of(session).is_error
    assert len(heard) == 1


def test_a_child_whose_conversation_cannot_be_made_to_fit_ends_with_a_plain_word(tmp_path: Path) -> None:
    class Refusing(Narrow):
        async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
            raise ModelFailure(FailureKind.CONTEXT, "The conversation is too long for the model.")
            yield

    _, ended, session, _ = told(tmp_path, Refusing(), delegated("narrow:m", "say never"))
    assert result_of(session).is_error
    assert result_of(session).text == (
        "[The child agent stopped early (failed): The conversation is too long for the model.]"
    )
    assert ended.stop_reason is StopReason.END_TURN


def test_a_childs_calls_wait_for_a_slow_reader_as_its_parents_do(tmp_path: Path) -> None:
    ran: list[str] = []

    async def note(arguments: JsonObject, _: ToolCallContext) -> ToolResult:
        ran.append(str(arguments["text"]))
        return ToolResult.of_text("noted")

    async def story() -> tuple[int, int]:
        answers = "\n---\n".join(f'call note {{"text": "{number}"}}' for number in range(40))
        limits = structs.replace(QUICK, session=SessionLimits(turn=TurnLimits(waiting_events=4)))
        tool = make_tool("note", note, read_only=True)
        async with open_agent(tmp_path, builtin_tools=OWN, tools=[tool], limits=limits) as agent:
            session = await agent.new_session()
            turn = session.prompt(delegated("", *answers.splitlines()))
            for _ in range(500):  # many times what forty calls take
                await asyncio.sleep(0)
            waiting = len(ran)
            await turn.wait()
            return waiting, len(ran)

    waiting, whole = asyncio.run(story())
    assert waiting < 10
    assert whole == 40


def test_what_a_child_spent_counts_where_it_is_broken_off(tmp_path: Path) -> None:
    async def hang(_: JsonObject, __: ToolCallContext) -> ToolResult:
        began.set()
        for _attempt in range(2):  # longer than its parent's call waits for it
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue
        return ToolResult.of_text("ended")

    async def story() -> tuple[int, int]:
        tool = make_tool("hang", hang, read_only=True)
        async with open_agent(tmp_path, builtin_tools=OWN, tools=[tool]) as agent:
            session = await agent.new_session()
            turn = session.prompt(delegated("", "call hang {}"))
            await began.wait()
            session.cancel()
            ended = await turn.wait()
            return ended.usage.requests, session.usage.requests

    began = asyncio.Event()
    assert asyncio.run(story()) == (2, 2)


@pytest.mark.parametrize("who", ["signal", "task"])
def test_work_that_is_done_until_a_signal_has_ended_when_either_stops_it(who: str) -> None:
    async def story() -> list[str]:
        source, log = CancelSource(), list[str]()
        began = asyncio.Event()

        async def work() -> str:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                log.append("ended")
            return "never"

        async def run() -> None:
            log.append(str(await run_until(source.signal, work())))

        task = asyncio.create_task(run())
        await began.wait()
        source.cancel()
        if who == "task":
            task.cancel()
        await asyncio.wait({task})
        log.append("cancelled" if task.cancelled() else "done")
        return log

    assert asyncio.run(story()) == (["ended", "None", "done"] if who == "signal" else ["ended", "cancelled"])
