"""Whatever a model's server does, the turn ends with a reason and a sentence that holds no secret."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.conversation import AssistantMessage
from inspan.agent.engine.contract import Retrying, StopReason
from inspan.agent.events import TextDelta, ToolEnded
from support.agent_ground import allow, events_of, make_tool, open_agent, temporary_folder
from support.agent_hostile import BEHAVIOURS, hostile_server
from support.agent_models import KEY, RunningServer

PROVIDERS = ("openai", "anthropic", "google")
RETRIED = {"reset", "server_fault"}


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


@pytest.mark.parametrize("behaviour", [one for one in BEHAVIOURS if one != "broken_call"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_bad_answer_ends_the_turn_and_shows_nothing_that_the_server_said(
    folder: Path, provider: str, behaviour: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(port: int) -> None:
        server = RunningServer(port=port, log=folder / "log")
        async with open_agent(
            folder, model=f"{provider}:m", environment=server.environment(provider)
        ) as agent:
            session = await agent.new_session()
            events, ended = await events_of(session, "hello")
            if behaviour == "empty":  # some providers end so when there is nothing to say
                assert ended.stop_reason in (StopReason.FAILED, StopReason.END_TURN)
            else:
                assert ended.stop_reason is StopReason.FAILED
                assert ended.message
            retries = len([event for event in events if isinstance(event, Retrying)])
            if behaviour in RETRIED:
                assert retries == 3
            if behaviour == "dropped":
                assert [event.text for event in events if isinstance(event, TextDelta)] == ["half"]
                partial = session.transcript[-1]
                assert isinstance(partial, AssistantMessage)
                assert partial.is_partial
                assert retries == 0
            if behaviour == "too_long":
                assert "too long" in ended.message
            told = f"{events} {ended} {session.transcript} {caplog.text}"
            for secret in (KEY, "127.0.0.1", "authorization", "Traceback"):
                assert secret not in told

    with hostile_server(behaviour) as (port, asked):
        asyncio.run(story(port))
        assert len(asked) <= 4


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_call_whose_arguments_are_broken_is_not_run_and_goes_back_as_an_error(
    folder: Path, provider: str
) -> None:
    async def story(port: int) -> None:
        server = RunningServer(port=port, log=folder / "log")
        async with open_agent(
            folder,
            model=f"{provider}:m",
            environment=server.environment(provider),
            tools=[make_tool()],
            responder=allow,
        ) as agent:
            events, ended = await events_of(await agent.new_session(), "hello")
            (call,) = [event for event in events if isinstance(event, ToolEnded)]
            assert call.outcome == "refused"
            assert "arguments" in call.result.text
            assert ended.stop_reason is StopReason.FAILED

    with hostile_server("broken_call") as (port, asked):
        asyncio.run(story(port))
        assert len(asked) == 2


def test_thinking_goes_back_with_its_signature_before_the_call_that_it_led_to(folder: Path) -> None:
    bodies: list[dict[str, Any]] = []

    async def story(port: int) -> None:
        server = RunningServer(port=port, log=folder / "log")
        async with open_agent(
            folder,
            model="anthropic:claude-sonnet-4-6",
            environment=server.environment("anthropic"),
            tools=[make_tool()],
            responder=allow,
        ) as agent:
            session = await agent.new_session()
            await session.run("hello")
            await session.close()
            await (await agent.resume_session(session.id)).run("again")

    with hostile_server("signed_call", bodies) as (port, _):
        asyncio.run(story(port))
    assert len(bodies) == 3
    for body in bodies[1:]:
        said = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
        kinds = [(block["type"], block.get("signature")) for block in said[0]]
        assert kinds == [("thinking", "signed"), ("tool_use", None)]
        assert body["system"]
        assert "cache_control" in str(body)
