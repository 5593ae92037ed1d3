"""A model that does anything at all: whatever comes, the turn ends once and the conversation is whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import AssistantMessage, CallPart, Message, TextPart, ThinkingPart, ToolMessage
from inspan.agent.events import ToolCalled, ToolEnded, TurnEnded
from inspan.agent.models.contract import (
    Finished,
    ModelDefinition,
    ModelEvent,
    ModelRequest,
    PartDone,
    TextDelta,
    ThinkingDelta,
    UsageSeen,
)
from inspan.agent.models.failure import FailureKind, ModelFailure
from inspan.agent.values import ToolCall, Usage
from support.agent_ground import allow, events_of, make_tool, open_agent, temporary_folder


def _call(call_id: str, tool: str, text: object, malformed: str) -> ModelEvent:
    call = ToolCall(id=call_id, tool=tool, arguments={"text": text}, malformed=malformed)  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    return PartDone(part=CallPart(call=call))


def _said(text: str) -> ModelEvent:
    return TextDelta(text=text)


def _thought(text: str) -> ModelEvent:
    return ThinkingDelta(text=text)


def _wrote(text: str) -> ModelEvent:
    return PartDone(part=TextPart(text=text))


def _reasoned(text: str) -> ModelEvent:
    return PartDone(part=ThinkingPart(text=text, provider_state={"s": text}))


def _spent(count: int) -> ModelEvent:
    return UsageSeen(usage=Usage(requests=1, input_tokens=count))


def _failed(kind: FailureKind) -> Exception:
    return ModelFailure(kind, "It failed.", retry_after_s=0.0)


_TEXT = st.text(alphabet=st.characters(codec=None), max_size=6)
_EVENTS: st.SearchStrategy[Any] = st.one_of(
    st.builds(_said, _TEXT),
    st.builds(_thought, _TEXT),
    st.builds(_wrote, _TEXT),
    st.builds(_reasoned, _TEXT),
    st.builds(
        _call,
        st.sampled_from(["a", "b", "", "a/b"]),
        st.sampled_from(["note", "look", "fall", "none", "\ud800"]),
        st.one_of(_TEXT, st.integers(), st.none(), st.floats()),
        st.sampled_from(["", "", "{"]),
    ),
    st.builds(_spent, st.integers(0, 90)),
    st.sampled_from([Finished(reason="stop"), Finished(reason="max_tokens"), Finished(reason="refused")]),
    st.builds(_failed, st.sampled_from(list(FailureKind))),
    st.sampled_from([ValueError("x"), SystemExit(), None, "a text", 7]),
)


def _assert_whole(messages: tuple[Message, ...]) -> None:
    for index, message in enumerate(messages):
        calls = (
            [part.call.id for part in message.parts if isinstance(part, CallPart)]
            if isinstance(message, AssistantMessage)
            else []
        )
        following = messages[index + 1] if index + 1 < len(messages) else None
        results = [one.call_id for one in following.results] if isinstance(following, ToolMessage) else []
        assert results == calls


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(_EVENTS, max_size=5), max_size=5))
def test_whatever_a_model_does_the_turn_ends_once_and_the_session_goes_on(answers: list[list[Any]]) -> None:
    left = list(answers)

    class Anything:
        id = "any"

        async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
            for event in left.pop(0) if left else ():
                if isinstance(event, BaseException):
                    raise event
                yield event

    async def fall(arguments: Any, ctx: Any) -> Any:
        raise KeyError("fallen")

    async def story(folder: Path) -> None:
        tools = [make_tool(), make_tool("look", read_only=True), make_tool("fall", fall)]
        models = [(Anything(), [ModelDefinition(id="m")])]
        async with open_agent(folder, models=models, model="any:m", tools=tools, responder=allow) as agent:
            session = await agent.new_session()
            for _ in range(3):
                events, ended = await events_of(session, "go")
                assert [event for event in events if isinstance(event, TurnEnded)] == [ended]
                assert events[-1] is ended
                called = [event.call_id for event in events if isinstance(event, ToolCalled)]
                done = [event.call_id for event in events if isinstance(event, ToolEnded)]
                assert sorted(called) == sorted(done)
                _assert_whole(session.transcript)
            left.clear()
            kept = (session.transcript, session.messages, session.usage)
            await session.close()
            again = await agent.resume_session(session.id)
            assert (again.transcript, again.messages, again.usage) == kept

    with temporary_folder() as path:
        asyncio.run(story(Path(path)))
