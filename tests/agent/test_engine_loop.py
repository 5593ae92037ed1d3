"""The loop of requests and calls: how a turn ends, whatever a model does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import (
    AssistantMessage,
    CallPart,
    TextPart,
    ThinkingPart,
    ToolMessage,
    UserMessage,
)
from inspan.agent.engine.contract import Retrying, StopReason
from inspan.agent.events import TextDelta, ToolEnded, TurnEnded
from inspan.agent.hook_events import Stop, UserPrompt, Veto
from inspan.agent.models.contract import (
    Finished,
    ModelDefinition,
    ModelEvent,
    ModelRequest,
    PartDone,
    UsageSeen,
)
from inspan.agent.models.failure import FailureKind, ModelFailure
from inspan.agent.session import Session
from inspan.agent.values import TextContent, ToolCall, Usage
from support.agent_ground import QUICK, allow, events_of, make_tool, open_agent, script, temporary_folder

SECRET = "sk-secret-in-a-message"
Answering = Callable[[ModelRequest, CancelSignal], AsyncIterator[ModelEvent]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


class Provider:
    """A provider that answers as it is told, and keeps what it was asked."""

    id = "fake"

    def __init__(self, answer: Answering) -> None:
        self._answer = answer
        self.asked: list[ModelRequest] = []

    def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        self.asked.append(request)
        return self._answer(request, cancel)


def _text(text: str) -> TextDelta:
    return TextDelta(text=text)


def _call(call_id: str, tool: str = "note", **arguments: Any) -> PartDone:
    return PartDone(part=CallPart(call=ToolCall(id=call_id, tool=tool, arguments=arguments)))


def _answers(*answers: list[Any]) -> Answering:
    """One list of events an answer; an exception in it is raised. After the last one it says `done`."""
    left = list(answers)

    async def answer(request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        for event in left.pop(0) if left else [_text("done")]:
            if isinstance(event, BaseException):
                raise event
            yield event

    return answer


async def _run(
    folder: Path, answering: Answering, prompt: str = "Go.", **options: Any
) -> tuple[list[Any], TurnEnded, Session, Provider]:
    provider = Provider(answering)
    models = [(provider, [ModelDefinition(id="m", input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)])]
    given = {"models": models, "model": "fake:m", "tools": [make_tool()], "responder": allow}
    async with open_agent(folder, **(given | options)) as agent:
        session = await agent.new_session()
        events, ended = await events_of(session, prompt)
        return events, ended, session, provider


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ModelFailure(FailureKind.QUOTA, "used up"), StopReason.LIMITED),
        (ModelFailure(FailureKind.RATE, "later", retry_after_s=9999.0), StopReason.LIMITED),
        (ModelFailure(FailureKind.AUTH, "no key"), StopReason.FAILED),
        (ModelFailure(FailureKind.CONTEXT, "too long"), StopReason.FAILED),
        (ModelFailure(FailureKind.CONTENT, "no"), StopReason.REFUSED),
        (ModelFailure(FailureKind.REJECTED, "bad"), StopReason.FAILED),
        (ValueError(SECRET), StopReason.FAILED),
        (SystemExit(SECRET), StopReason.FAILED),
        (asyncio.CancelledError(SECRET), StopReason.FAILED),
    ],
)
def test_a_model_that_fails_ends_the_turn_with_the_reason_and_without_its_secrets(
    folder: Path, failure: BaseException, reason: StopReason
) -> None:
    async def story() -> None:
        _, ended, session, provider = await _run(folder, _answers([failure]))
        assert ended.stop_reason is reason
        assert ended.message
        assert SECRET not in ended.message
        assert len(provider.asked) == 1
        assert [type(message) for message in session.transcript] == [UserMessage]

    asyncio.run(story())


def test_a_model_that_dies_in_mid_answer_leaves_what_it_said_and_the_next_turn_goes_on(folder: Path) -> None:
    async def story() -> None:
        broke = ModelFailure(FailureKind.CONNECTION, "The connection broke.")
        answers = _answers([_text("half an "), _call("a"), _text("answer"), broke])
        provider = Provider(answers)
        async with open_agent(
            folder, models=[(provider, [ModelDefinition(id="m")])], model="fake:m", tools=[make_tool()]
        ) as agent:
            session = await agent.new_session()
            events, ended = await events_of(session, "Go.")
            assert ended.stop_reason is StopReason.FAILED
            assert ended.message == "The connection broke."
            assert not any(isinstance(event, (Retrying, ToolEnded)) for event in events)
            partial = session.transcript[-1]
            assert isinstance(partial, AssistantMessage)
            assert partial.is_partial
            assert [part.text for part in partial.parts if isinstance(part, TextPart)] == [
                "half an ",
                "answer",
            ]
            assert (await session.run("again")).stop_reason is StopReason.END_TURN
            assert [type(one) for one in provider.asked[-1].messages] == [
                UserMessage,
                AssistantMessage,
                UserMessage,
            ]

    asyncio.run(story())


def test_a_failure_in_passing_is_tried_again_a_few_times_shown_and_costs_no_answer(folder: Path) -> None:
    async def story() -> None:
        busy = ModelFailure(FailureKind.UNAVAILABLE, "The provider is overloaded.")
        events, ended, session, _ = await _run(folder, _answers([busy], [busy], [_text("at last")]))
        retries = [event for event in events if isinstance(event, Retrying)]
        assert [(one.attempt, one.attempts, one.reason) for one in retries] == [
            (1, 3, "The provider is overloaded."),
            (2, 3, "The provider is overloaded."),
        ]
        assert retries[1].wait_s > retries[0].wait_s
        assert ended.stop_reason is StopReason.END_TURN
        assert len(session.transcript) == 2
        _, ended, _, provider = await _run(folder, _answers(*[[busy]] * 9))
        assert ended.stop_reason is StopReason.FAILED
        assert len(provider.asked) == 4

    asyncio.run(story())


@pytest.mark.parametrize("garbage", ["a text", None, 7, object(), PartDone(part="no part")])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
def test_what_is_no_event_fails_the_turn(folder: Path, garbage: object) -> None:
    async def story() -> None:
        _, ended, _, _ = await _run(folder, _answers([_text("well "), garbage]))
        assert ended.stop_reason is StopReason.FAILED
        assert ended.message

    asyncio.run(story())


def test_a_provider_whose_stream_is_no_stream_fails_the_turn(folder: Path) -> None:
    async def story() -> None:
        def answer(request: ModelRequest, cancel: CancelSignal) -> Any:
            return None

        _, ended, _, _ = await _run(folder, answer)
        assert ended.stop_reason is StopReason.FAILED

    asyncio.run(story())


def test_unknown_tools_bad_arguments_and_ids_that_come_twice_are_results_and_the_turn_goes_on(
    folder: Path,
) -> None:
    async def story() -> None:
        broken = PartDone(
            part=CallPart(call=ToolCall(id="", tool="note", arguments={}, malformed='{"text": '))
        )
        first = [_call("same", "nothing_like_it"), _call("same", text=1), broken, _call("d", text="ok")]
        _, ended, session, provider = await _run(folder, _answers(first, [_call("same", text="b")]))
        assert ended.stop_reason is StopReason.END_TURN
        results = [message for message in session.transcript if isinstance(message, ToolMessage)]
        assert [one.result.is_error for one in results[0].results] == [True, True, True, False]
        ids = [one.call_id for message in results for one in message.results]
        assert len(set(ids)) == 5
        assert all(ids)
        assert len(provider.asked) == 3

    asyncio.run(story())


def test_ids_that_no_provider_takes_and_numbers_that_json_does_not_know_are_made_good(folder: Path) -> None:
    async def story() -> None:
        odd = [
            _call(one, text="x", number=float("nan"), deep=[float("inf"), 2**70]) for one in ("a/b", "x" * 65)
        ]
        _, _, session, provider = await _run(folder, _answers(odd))
        answer = provider.asked[1].messages[1]
        assert isinstance(answer, AssistantMessage)
        calls = [part.call for part in answer.parts if isinstance(part, CallPart)]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call.id) for call in calls)
        assert [call.arguments["number"] for call in calls] == [None, None]
        assert calls[0].arguments["deep"] == [None, 2**70]
        results = session.transcript[2]
        assert isinstance(results, ToolMessage)
        assert [one.call_id for one in results.results] == [call.id for call in calls]

    asyncio.run(story())


def test_arguments_of_a_depth_that_nobody_can_write_down_fail_the_turn_and_not_the_session(
    folder: Path,
) -> None:
    async def story() -> None:
        deep: list[Any] = []
        for _ in range(5_000):
            deep = [deep]
        provider = Provider(_answers([_call("a", text=deep)]))
        async with open_agent(
            folder, models=[(provider, [ModelDefinition(id="m")])], model="fake:m"
        ) as agent:
            session = await agent.new_session()
            assert (await session.run("go")).stop_reason is StopReason.FAILED
            assert (await session.run("go on")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


@pytest.mark.parametrize("effort", ["", "low", "high"])
def test_the_effort_of_a_session_reaches_the_provider(folder: Path, effort: str) -> None:
    async def story() -> None:
        _, _, session, provider = await _run(folder, _answers(), effort=effort)
        assert provider.asked[0].effort == effort
        assert session.settings.effort == effort

    asyncio.run(story())


def test_an_answer_that_is_cut_by_its_length_or_refused_runs_none_of_its_calls(folder: Path) -> None:
    async def story() -> None:
        cut, refused = Finished(reason="max_tokens"), Finished(reason="refused")
        for finished, expected in ((cut, StopReason.MAX_TOKENS), (refused, StopReason.REFUSED)):
            events, ended, _, _ = await _run(folder, _answers([_text("so "), _call("a", text="x"), finished]))
            assert ended.stop_reason is expected
            assert ended.message
            assert not any(isinstance(event, ToolEnded) for event in events)

    asyncio.run(story())


def test_an_answer_with_nothing_in_it_ends_the_turn(folder: Path) -> None:
    async def story() -> None:
        _, ended, _, _ = await _run(folder, _answers([]))
        assert ended.stop_reason is StopReason.END_TURN

    asyncio.run(story())


def test_a_turn_that_never_ends_by_itself_ends_by_its_steps_and_a_flood_of_calls_is_cut(folder: Path) -> None:
    async def story() -> None:
        async def more(request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
            for number in range(70):
                yield _call(f"{len(request.messages)}-{number}", text=f"{len(request.messages)} {number}")

        limits = structs.replace(
            QUICK,
            session=structs.replace(QUICK.session, turn=structs.replace(QUICK.session.turn, max_steps=2)),
        )
        events, ended, _, provider = await _run(folder, more, limits=limits)
        assert ended.stop_reason is StopReason.MAX_STEPS
        assert len(provider.asked) == 2
        assert len([event for event in events if isinstance(event, ToolEnded)]) == 128

    asyncio.run(story())


def test_usage_is_added_up_and_priced_by_the_models_own_prices(folder: Path) -> None:
    async def story() -> None:
        spent = UsageSeen(usage=Usage(requests=1, input_tokens=1_000, output_tokens=500))
        _, ended, session, _ = await _run(
            folder, _answers([_call("a", text="x"), spent], [_text("ok"), spent])
        )
        assert ended.usage == Usage(requests=2, input_tokens=2_000, output_tokens=1_000, cost_usd=0.004)
        assert session.usage == ended.usage

    asyncio.run(story())


def test_the_state_of_a_provider_goes_back_to_it_unchanged(folder: Path) -> None:
    async def story() -> None:
        thought = ThinkingPart(text="hm", provider_state={"signature": "abc"})
        called = CallPart(
            call=ToolCall(id="c", tool="note", arguments={"text": "x"}), provider_state={"id": [1, None]}
        )
        said = TextPart(text="so", provider_state="s")
        _, _, session, provider = await _run(
            folder, _answers([PartDone(part=thought), PartDone(part=said), PartDone(part=called)])
        )
        answer = provider.asked[1].messages[1]
        assert isinstance(answer, AssistantMessage)
        assert answer.parts == (thought, said, called)
        assert session.transcript[1] == answer

    asyncio.run(story())


@pytest.mark.requirement("RD10")
def test_a_hook_can_refuse_a_prompt_and_send_a_turn_on_a_few_times(folder: Path) -> None:
    async def story() -> None:
        provider = Provider(_answers())
        async with open_agent(
            folder, models=[(provider, [ModelDefinition(id="m")])], model="fake:m"
        ) as agent:
            agent.register.hook("user_prompt", lambda event: _veto(event, "forbidden"))
            agent.register.hook("stop", lambda event: Veto(reason="Not yet."))
            session = await agent.new_session()
            refused = await session.run("something forbidden")
            assert refused.stop_reason is StopReason.REFUSED
            assert refused.message == "Not here."
            assert provider.asked == []
            assert session.transcript == ()
            ended = await session.run("something else")
            assert ended.stop_reason is StopReason.END_TURN
            assert len(provider.asked) == 4
            pushed = [one for one in session.transcript if isinstance(one, UserMessage)]
            assert [one.source for one in pushed] == ["user"] + ["stop_hook"] * 3
            assert pushed[1].content == (TextContent(text="Not yet."),)

    asyncio.run(story())


def _veto(event: UserPrompt | Stop, word: str) -> Veto | None:
    return Veto(reason="Not here.") if isinstance(event, UserPrompt) and word in event.text else None


def test_the_system_prompt_and_the_tools_are_those_of_the_turns_beginning(folder: Path) -> None:
    async def story() -> None:
        _, _, _, provider = await _run(folder, _answers([_call("a", text="x")], [_call("b", text="y")]))
        assert len(provider.asked) == 3
        assert len({request.instructions for request in provider.asked}) == 1
        assert provider.asked[0].instructions
        assert all(request.tools == provider.asked[0].tools for request in provider.asked)

    asyncio.run(story())


def test_a_model_that_is_gone_fails_the_turn_and_another_can_be_chosen(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, models=[(Provider(_answers()), [ModelDefinition(id="m")])]) as agent:
            session = await agent.new_session(model="fake:m")
        async with open_agent(folder) as agent:
            again = await agent.resume_session(session.id)
            ended = await again.run("hello")
            assert ended.stop_reason is StopReason.FAILED
            assert "'fake:m'" in ended.message
            await again.configure(model="scripted:demo")
            assert (await again.run("hello")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


def test_a_slow_reader_holds_the_model_back_and_loses_nothing(folder: Path) -> None:
    async def story() -> None:
        made = 0

        async def chatty(request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
            nonlocal made
            for number in range(5_000):
                made = number + 1
                yield _text(f"{number} ")

        provider = Provider(chatty)
        async with open_agent(
            folder, models=[(provider, [ModelDefinition(id="m")])], model="fake:m"
        ) as agent:
            session = await agent.new_session()
            turn = session.prompt("Talk.")
            first = await anext(turn)
            for _ in range(2_000):
                await asyncio.sleep(0)
            assert made < 1_000
            rest = [event async for event in turn]
            texts = [event.text for event in (first, *rest) if isinstance(event, TextDelta)]
            assert texts == [f"{number} " for number in range(5_000)]

    asyncio.run(story())


def test_a_scripted_turn_can_fail_once_and_goes_on(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            events, ended = await events_of(session, script("fail unavailable once", "say there"))
            assert [type(event) for event in events][:2] == [Retrying, TextDelta]
            assert ended.stop_reason is StopReason.END_TURN

    asyncio.run(story())
