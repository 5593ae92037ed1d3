"""The agent does real work over real HTTP, in the wire formats of all well-known providers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from inspan.agent.conversation import AssistantMessage, ThinkingPart
from inspan.agent.engine.contract import Retrying, StopReason
from inspan.agent.events import TextDelta, ThinkingDelta, ToolEnded, UsageUpdated
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.tools.settings import ToolSettings
from inspan.agent.values import JsonObject, ToolResult
from support.agent_ground import QUICK, allow, events_of, make_tool, open_agent, script, temporary_folder
from support.agent_models import KEY, RunningServer, running_server

FORMATS = {
    "openai": ("openai:scripted-1", "chat_completions"),
    "openai-chat": ("openai-chat:scripted-1", "chat_completions"),
    "openai-responses": ("openai-responses:scripted-1", "responses"),
    "anthropic": ("anthropic:scripted-1", "messages"),
    "google": ("google:scripted-1", "generate_content"),
}
"""Provider to model and wire format."""

each_format = pytest.mark.parametrize("provider", FORMATS)


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with temporary_folder() as path, running_server(Path(path)) as running:
        yield running


def _writing_tool() -> Tool:
    async def write(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        path = ctx.workspace / str(arguments["file_path"])
        path.write_text(str(arguments["content"]), encoding="utf-8")
        return ToolResult.of_text(f"wrote {path.name}")

    return make_tool(
        "write_file",
        write,
        description="Writes a file.",
        kind="edit",
        input_schema={
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["file_path", "content"],
        },
    )


@each_format
def test_a_call_over_http_writes_a_file_and_its_result_goes_back(
    folder: Path, server: RunningServer, provider: str
) -> None:
    model, wire_format = FORMATS[provider]

    async def story() -> None:
        async with open_agent(
            folder,
            model=model,
            environment=server.environment(provider),
            tools=[_writing_tool()],
            responder=allow,
            instructions="You are being tested.",
        ) as agent:
            session = await agent.new_session()
            events, ended = await events_of(session, "Please TOOLWRITE [path=made.txt]")
            assert ended.message == ""
            assert ended.stop_reason is StopReason.END_TURN
            assert ended.usage.requests == 2
            assert ended.usage.input_tokens > 0
            assert ended.usage.output_tokens > 0
            assert [event.outcome for event in events if isinstance(event, ToolEnded)] == ["done"]
            text = "".join(event.text for event in events if isinstance(event, TextDelta))
            assert "One scripted tool call." in text
            assert "AFTER-TOOL" in text
            assert len([event for event in events if isinstance(event, TextDelta)]) > 2
            again, _ = await events_of(session, "RECALL what I said")
            told = "".join(event.text for event in again if isinstance(event, TextDelta))
            assert "Please TOOLWRITE" in told

    before = len(server.lines("request"))
    asyncio.run(story())
    assert (folder / "work" / "made.txt").read_text(encoding="utf-8")
    asked = server.lines("request")[before:]
    assert {line["format"] for line in asked} == {wire_format}
    assert [line["has_tool_result"] for line in asked] == [False, True, False]
    assert all(line["is_stream"] for line in asked)
    assert all("write_file" in line["tools"] for line in asked)


@each_format
def test_the_agents_own_tools_do_real_work_for_a_model_over_http(
    folder: Path, server: RunningServer, provider: str
) -> None:
    async def story() -> None:
        async with open_agent(
            folder,
            model=FORMATS[provider][0],
            environment=server.environment(provider),
            builtin_tools=ToolSettings(),
            responder=allow,
        ) as agent:
            session = await agent.new_session()
            written, ended = await events_of(session, "TOOLWRITE [path=written.txt]")
            assert ended.stop_reason is StopReason.END_TURN
            run, ended = await events_of(session, "TOOLSHELL [cmd=cp written.txt copied.txt]")
            assert ended.stop_reason is StopReason.END_TURN
            calls = [event for event in (*written, *run) if isinstance(event, ToolEnded)]
            assert [(call.outcome, bool(call.result.diffs)) for call in calls] == [
                ("done", True),
                ("done", False),
            ]

    asyncio.run(story())
    assert (folder / "work" / "copied.txt").read_text(encoding="utf-8") == "scripted content\n"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_thinking_is_shown_apart_from_the_answer(folder: Path, server: RunningServer, provider: str) -> None:
    async def story() -> None:
        async with open_agent(
            folder, model=FORMATS[provider][0], environment=server.environment(provider)
        ) as agent:
            session = await agent.new_session()
            events, ended = await events_of(session, "THINK about it")
            assert ended.stop_reason is StopReason.END_TURN
            text = "".join(event.text for event in events if isinstance(event, TextDelta))
            assert "THINK-ANSWER" in text
            assert "A scripted thought." not in text
            thought = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
            assert thought == "A scripted thought."
            answer = session.transcript[-1]
            assert isinstance(answer, AssistantMessage)
            assert isinstance(answer.parts[0], ThinkingPart)
            assert (await session.run("PLAIN again")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


@each_format
def test_a_used_up_quota_limits_the_turn_and_a_refused_key_fails_it_without_showing_it(
    folder: Path, server: RunningServer, provider: str
) -> None:
    async def story() -> None:
        async with open_agent(
            folder, model=FORMATS[provider][0], environment=server.environment(provider)
        ) as agent:
            session = await agent.new_session()
            ended = await session.run("QUOTA")
            assert ended.stop_reason is StopReason.LIMITED
            refused = await session.run("AUTHFAIL")
            assert refused.stop_reason is StopReason.FAILED
            assert "key" in refused.message
            for message in (ended.message, refused.message):
                assert message
                assert KEY not in message
                assert "127.0.0.1" not in message
            assert (await session.run("PLAIN")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


@each_format
def test_an_overloaded_provider_is_asked_again_and_that_is_shown(
    folder: Path, server: RunningServer, provider: str
) -> None:
    async def story() -> None:
        limits = structs.replace(QUICK, engine=structs.replace(QUICK.engine, attempts=1))
        async with open_agent(
            folder, model=FORMATS[provider][0], environment=server.environment(provider), limits=limits
        ) as agent:
            session = await agent.new_session()
            events, ended = await events_of(session, "OVERLOAD")
            retries = [event for event in events if isinstance(event, Retrying)]
            assert [(event.attempt, event.attempts) for event in retries] == [(1, 1)]
            assert retries[0].wait_s == 1.0  # as the provider asked
            assert ended.stop_reason is StopReason.FAILED
            assert "overloaded" in ended.message or "not available" in ended.message

    before = len(server.lines("request"))
    asyncio.run(story())
    assert len(server.lines("request")) - before == 2


@each_format
def test_cancelling_a_model_that_hangs_closes_its_connection_and_keeps_what_came(
    folder: Path, server: RunningServer, provider: str
) -> None:
    async def story() -> None:
        async with open_agent(
            folder, model=FORMATS[provider][0], environment=server.environment(provider)
        ) as agent:
            session = await agent.new_session()
            turn = session.prompt("HANG")
            async for event in turn:
                if isinstance(event, TextDelta):
                    session.cancel()
            assert (await turn.wait()).stop_reason is StopReason.CANCELLED
            answer = session.transcript[-1]
            assert isinstance(answer, AssistantMessage)
            assert answer.is_partial
            assert (await session.run("PLAIN")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


def test_one_conversation_goes_on_with_models_of_all_providers_in_turn(
    folder: Path, server: RunningServer
) -> None:
    environment = {key: value for one in FORMATS for key, value in server.environment(one).items()}

    async def story() -> None:
        async with open_agent(
            folder, model="scripted:demo", environment=environment, tools=[_writing_tool()], responder=allow
        ) as agent:
            session = await agent.new_session()
            await session.run(script('call functions.write {"a": 1}', "---", "say hello"))
            for _ in range(2):
                for model, _ in FORMATS.values():
                    await session.configure(model=model)
                    assert (await session.run("THINK")).message == ""
                    ended = await session.run("TOOLWRITE [path=made.txt]")
                    assert (ended.stop_reason, ended.message) == (StopReason.END_TURN, "")
            turn = session.prompt("HANG")
            async for event in turn:
                if isinstance(event, TextDelta):
                    session.cancel()
            await session.compact()
            await session.configure(model="anthropic:scripted-1")
            assert (await session.run("PLAIN")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


def test_a_server_that_is_not_there_fails_the_turn_after_a_few_tries(folder: Path) -> None:
    async def story() -> None:
        environment = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": KEY}
        async with open_agent(folder, model="openai:m", environment=environment) as agent:
            events, ended = await events_of(await agent.new_session(), "hello")
            assert [event.attempt for event in events if isinstance(event, Retrying)] == [1, 2, 3]
            assert ended.stop_reason is StopReason.FAILED
            assert "127.0.0.1" not in ended.message

    asyncio.run(story())


def test_a_model_with_a_published_price_has_a_cost_and_another_has_none(
    folder: Path, server: RunningServer
) -> None:
    async def story(model: str) -> float | None:
        async with open_agent(folder, model=model, environment=server.environment("anthropic")) as agent:
            events, ended = await events_of(await agent.new_session(), "PLAIN")
            limit = [event.context_limit_tokens for event in events if isinstance(event, UsageUpdated)]
            assert (limit[-1] is not None) == (model != "anthropic:scripted-1")
            return ended.usage.cost_usd

    priced = asyncio.run(story("anthropic:claude-sonnet-4-6"))
    assert priced is not None
    assert priced > 0
    assert asyncio.run(story("anthropic:scripted-1")) is None
