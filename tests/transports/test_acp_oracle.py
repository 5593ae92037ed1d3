"""The protocol's own SDK as the judge, in both directions: it understands us, and we understand it."""

from __future__ import annotations

import asyncio
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from acp import AGENT_METHODS, schema

from inspan.model.content import MessageChunk, UnknownMessage, UnknownUpdate
from inspan.model.errors import HarnessError
from inspan.model.permission import OptionKind, ToolCall, choose_option
from inspan.model.plan import TransportSettings
from inspan.model.reports import (
    Connected,
    PermissionRequested,
    PromptAnswered,
    PromptStarted,
    Reported,
    SessionFailed,
    SessionReady,
)
from inspan.model.session import OpenedHow, ResumeOutcome
from inspan.model.turn import TurnOutcome, Usage
from inspan.transports.acp.client import AcpConnection, HarnessProcess, open_harness
from support.acp_peer import SESSION, AcpPeer, update
from support.sdk_agent import KNOWN_SESSION

DEADLINE_S = 30.0
AGENT = [sys.executable, str(Path(__file__).parents[1] / "support" / "sdk_agent.py")]

Body = typing.TypeVar("Body")


class Talk:
    """What a harness reports, to be waited for."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self._seen = 0
        self._came = asyncio.Event()

    def take(self, report: Reported) -> None:
        """Keeps a report."""
        self.bodies.append(report.body)
        self._came.set()

    async def until(self, kind: type[Body]) -> Body:
        """The next report of a kind, after the last that was waited for."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                for index in range(self._seen, len(self.bodies)):
                    if isinstance(body := self.bodies[index], kind):
                        self._seen = index + 1
                        return body
                self._came.clear()
                await self._came.wait()

    def said(self) -> list[str]:
        """The harness's words that are no replay."""
        return [one.text for one in self.bodies if isinstance(one, MessageChunk) and not one.replay]


Script = Callable[[Talk, AcpConnection], typing.Coroutine[Any, Any, None]]


def run(script: Script, workspace: Path, **settings: Any) -> Talk:
    """Runs a script against the SDK's agent in a process of its own, which is gone afterwards."""
    ended: list[HarnessProcess] = []

    async def main() -> Talk:
        talk = Talk()
        told = msgspec.structs.replace(TransportSettings(workspace=str(workspace)), **settings)
        async with open_harness(AGENT, told, talk.take) as process:
            ended.append(process)
            await script(talk, process.connection)
        assert process.exited.result() == 0
        return talk

    return asyncio.run(main())


def test_the_sdk_answers_our_prompts(tmp_path: Path) -> None:
    async def script(talk: Talk, harness: AcpConnection) -> None:
        assert (await talk.until(Connected)).offers == ("load", "list")
        ready = await talk.until(SessionReady)
        assert ready == SessionReady(session_id=f"session of {tmp_path}", how=OpenedHow.NEW)
        harness.prompt("d1", 'Grüße, 世界 👩‍💻 "quoted"\nsecond line')
        assert await talk.until(PromptStarted) == PromptStarted(delivery="d1")
        answered = await talk.until(PromptAnswered)
        assert answered.outcome == TurnOutcome.COMPLETED
        assert answered.usage == Usage(input_tokens=2, output_tokens=3, total_tokens=5)

    talk = run(script, tmp_path)

    assert talk.said() == ['Grüße, 世界 👩‍💻 "quoted"\nsecond line', "mode ask"]


@pytest.mark.parametrize(("kind", "words"), [("allow_once", "chosen go"), (None, "chosen cancelled")])
def test_the_sdk_takes_our_answer_to_its_permission_request(
    tmp_path: Path, kind: str | None, words: str
) -> None:
    async def script(talk: Talk, harness: AcpConnection) -> None:
        await talk.until(SessionReady)
        harness.prompt("d1", "ask")
        asked = await talk.until(PermissionRequested)
        assert asked.tool_call == ToolCall(
            id="tool-1", title="Run ls", kind="execute", raw_input={"command": "ls"}
        )
        option = choose_option(asked.options, (OptionKind(kind),)) if kind else None
        harness.answer(asked.wire_id, option.id if option else None)
        await talk.until(PromptAnswered)

    assert words in run(script, tmp_path).said()


def test_the_sdk_ends_its_turn_when_we_cancel(tmp_path: Path) -> None:
    async def script(talk: Talk, harness: AcpConnection) -> None:
        await talk.until(SessionReady)
        harness.prompt("d1", "hang")
        await talk.until(PromptStarted)
        harness.cancel()
        assert (await talk.until(PromptAnswered)).outcome == TurnOutcome.CANCELLED
        harness.prompt("d2", "again")
        assert (await talk.until(PromptAnswered)).outcome == TurnOutcome.COMPLETED

    run(script, tmp_path)


def test_the_sdk_is_put_into_the_mode_before_the_session_is_ready(tmp_path: Path) -> None:
    async def script(talk: Talk, harness: AcpConnection) -> None:
        await talk.until(SessionReady)
        harness.prompt("d1", "hello")
        await talk.until(PromptAnswered)

    assert run(script, tmp_path, session_mode="edits").said() == ["hello", "mode edits"]


@pytest.mark.requirement("H-N21")
def test_the_sdk_goes_on_after_we_declined_a_method(tmp_path: Path) -> None:
    async def script(talk: Talk, harness: AcpConnection) -> None:
        await talk.until(SessionReady)
        harness.prompt("d1", "read")
        assert (await talk.until(UnknownMessage)).method == "fs/read_text_file"
        await talk.until(PromptAnswered)

    assert run(script, tmp_path).said() == ["declined -32601", "mode ask"]


def test_the_sdk_loads_a_session_and_its_words_are_marked_as_replay(tmp_path: Path) -> None:
    async def script(talk: Talk, harness: AcpConnection) -> None:
        assert (await talk.until(SessionReady)).how == OpenedHow.LOADED
        harness.prompt("d1", "now")
        await talk.until(PromptAnswered)

    talk = run(script, tmp_path, attempt="resume", session_id=KNOWN_SESSION)

    replayed = [one for one in talk.bodies if isinstance(one, MessageChunk) and one.replay]
    assert [(one.role, one.text) for one in replayed] == [("user", "earlier"), ("agent", "answer")]
    assert talk.said() == ["now", "mode ask"]


def test_the_sdk_says_that_a_session_is_missing(tmp_path: Path) -> None:
    async def script(talk: Talk, harness: AcpConnection) -> None:
        failed = await talk.until(SessionFailed)
        assert (failed.outcome, failed.error.code) == (ResumeOutcome.MISSING, "session_missing")

    run(script, tmp_path, attempt="resume", session_id="unknown")


def test_a_program_that_is_not_there_cannot_be_started(tmp_path: Path) -> None:
    async def main() -> None:
        settings = TransportSettings(workspace=str(tmp_path))
        async with open_harness([str(tmp_path / "nothing")], settings, lambda _: None):
            pytest.fail("it was started")

    with pytest.raises(HarnessError) as error:
        asyncio.run(main())
    assert error.value.code == "launch_failed"


MODELS: dict[str, Any] = {
    "initialize": schema.InitializeRequest,
    "authenticate": schema.AuthenticateRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/fork": schema.ForkSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}


def conversations() -> list[AcpPeer]:
    """Peers whose machines together wrote every message that a machine writes."""
    whole = AcpPeer(auth_method="key", session_mode="edits", config_options={"a": "x", "b": "true"})
    whole.connect()
    whole.result({})
    whole.result(
        {
            "sessionId": SESSION,
            "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "edits"}]},
            "configOptions": [{"id": "b", "type": "boolean", "currentValue": False}],
        }
    )
    for _ in range(3):
        whole.result({})
    whole.prompt()
    whole.ask(0)
    whole.ask("a")
    whole.take(whole.machine.answer("0", "y"))
    whole.take(whole.machine.answer('"a"', None))
    whole.take(whole.machine.cancel())
    peers = [whole]
    reopened: list[tuple[str, dict[str, Any]]] = [
        ("resume", {"loadSession": True}),
        ("resume", {"sessionCapabilities": {"resume": {}}}),
        ("fork", {"sessionCapabilities": {"fork": {}}}),
    ]
    for attempt, offers in reopened:
        peer = AcpPeer(attempt=attempt, session_id=SESSION)
        peer.connect(**offers)
        peers.append(peer)
    return peers


def test_every_message_that_we_write_is_valid_to_the_sdk() -> None:
    methods: set[str] = set()
    answers = 0
    for message in (one for peer in conversations() for one in peer.written()):
        if "method" not in message:
            schema.RequestPermissionResponse.model_validate(message["result"])
            answers += 1
            continue
        method, params = message["method"], message["params"]
        methods.add(method)
        if method == "session/set_config_option":
            is_boolean = "type" in params
            model: Any = (
                schema.SetSessionConfigOptionBooleanRequest
                if is_boolean
                else schema.SetSessionConfigOptionSelectRequest
            )
            assert isinstance(model.model_validate(params).value, bool) == is_boolean
        else:
            MODELS[method].model_validate(params)

    assert answers == 2
    assert methods == {*MODELS, "session/set_config_option"}
    assert methods <= set(AGENT_METHODS.values())


TEXT = schema.TextContentBlock(type="text", text="x")
UPDATES: list[Any] = [
    schema.UserMessageChunk(session_update="user_message_chunk", content=TEXT, message_id="m"),
    schema.AgentMessageChunk(session_update="agent_message_chunk", content=TEXT),
    schema.AgentThoughtChunk(
        session_update="agent_thought_chunk",
        content=schema.ImageContentBlock(type="image", data="AA==", mime_type="image/png"),
    ),
    schema.ToolCallStart(
        session_update="tool_call", tool_call_id="t", title="run", kind="execute", status="pending",
        content=[schema.FileEditToolCallContent(type="diff", path="/a", new_text="b")],
        locations=[schema.ToolCallLocation(path="/a", line=1)], raw_input={"a": 1},
    ),
    schema.ToolCallProgress(session_update="tool_call_update", tool_call_id="t", raw_output=[1]),
    schema.AgentPlanUpdate(
        session_update="plan", entries=[schema.PlanEntry(content="c", priority="high", status="pending")]
    ),
    schema.AgentPlanContentUpdate(
        session_update="plan_update",
        plan=schema.PlanUpdateMarkdown(type="markdown", plan_id="p", content="# Plan"),
    ),
    schema.AgentPlanRemovedUpdate(session_update="plan_removed", plan_id="p"),
    schema.AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[schema.AvailableCommand(name="n", description="d")],
    ),
    schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id="edits"),
    schema.ConfigOptionUpdate(
        session_update="config_option_update",
        config_options=[
            schema.SessionConfigOptionBoolean(type="boolean", id="b", name="B", current_value=True)
        ],
    ),
    schema.SessionInfoUpdate(session_update="session_info_update", title="t", updated_at="2026-11-30T00:00:00Z"),
    schema.UsageUpdate(
        session_update="usage_update", used=1, size=2, cost=schema.Cost(amount=0.5, currency="USD")
    ),
]  # fmt: skip


def test_every_kind_of_update_of_the_sdk_is_known_to_us() -> None:
    kinds = typing.get_args(schema.SessionNotification.model_fields["update"].annotation)
    assert {type(one) for one in UPDATES} == set(kinds)
    peer = AcpPeer()
    peer.open()

    for one in UPDATES:
        content = one.model_dump(mode="json", by_alias=True, exclude_none=True)
        *_, told = peer.say(update(content))
        assert not isinstance(told, UnknownUpdate), content
        (with_nulls,) = peer.say(update(one.model_dump(mode="json", by_alias=True)))
        assert type(with_nulls) is type(told)
