"""What a model's provider may do wrong beside answering: nothing of it holds up a turn, and nothing it says is logged."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.cancelling import CancelSignal
from inspan.agent.engine.contract import StopReason
from inspan.agent.events import TurnEnded, UsageUpdated
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest, TextDelta
from support.agent_ground import events_of, open_agent

SECRET = "sk-secret-in-a-message"


class RaisesAtOnce:
    """Its stream is a plain function, and raises before there is anything to read."""

    id = "fake"

    def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        raise ValueError(SECRET)


class RaisesAtItsEnd:
    """Its stream gives what is no event, and raises when it is closed."""

    id = "fake"

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[Any]:
        try:
            yield None  # which is no event: the stream is closed here
        finally:
            raise ValueError(SECRET)


class CannotSay:
    """It answers, and raises when it is asked what its model is."""

    id = "fake"

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        yield TextDelta(text="hello")

    def describe(self, model: str) -> ModelDefinition:
        raise ValueError(SECRET)


def turn_with(provider: Any, folder: Path) -> tuple[list[Any], TurnEnded]:
    async def story() -> tuple[list[Any], TurnEnded]:
        models = [(provider, [ModelDefinition(id="m", context_tokens=1_000)])]
        async with asyncio.timeout(30), open_agent(folder, models=models, model="fake:m") as agent:
            return await events_of(await agent.new_session(), "Go.")

    return asyncio.run(story())


def test_a_provider_that_raises_before_it_answers_ends_the_turn(tmp_path: Path) -> None:
    _, ended = turn_with(RaisesAtOnce(), tmp_path)
    assert ended.stop_reason is StopReason.FAILED
    assert ended.message == "The model's provider failed with ValueError."


def test_a_stream_that_raises_when_it_is_closed_is_told_by_its_class_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, ended = turn_with(RaisesAtItsEnd(), tmp_path)
    gc.collect()  # what asyncio says of a failure that nobody saw comes then
    assert ended.stop_reason is StopReason.FAILED
    assert SECRET not in caplog.text
    assert "Task exception" not in caplog.text


def test_a_provider_that_cannot_say_what_its_model_is_answers_all_the_same(tmp_path: Path) -> None:
    events, ended = turn_with(CannotSay(), tmp_path)
    assert ended.stop_reason is StopReason.END_TURN
    (usage,) = [event for event in events if isinstance(event, UsageUpdated)]
    assert usage.context_limit_tokens == 1_000
