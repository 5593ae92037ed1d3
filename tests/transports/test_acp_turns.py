"""Prompts, the witness that their turn began, and how turns end."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.content import MessageChunk
from inspan.model.errors import UsageError
from inspan.model.manifest import AcpSettings
from inspan.model.reports import PromptAnswered, PromptStarted
from inspan.model.turn import TurnOutcome, Usage, UsageKind
from support.acp_peer import SESSION, AcpPeer, chunk, update

STARTED = PromptStarted(delivery="d1")


def answered(bodies: list[Any]) -> PromptAnswered:
    """The one answer among reports."""
    (found,) = [body for body in bodies if isinstance(body, PromptAnswered)]
    return found


@pytest.fixture
def peer() -> AcpPeer:
    """A session with an open prompt."""
    made = AcpPeer()
    made.open()
    made.prompt()
    return made


def test_a_prompt_is_one_block_of_text_that_carries_its_delivery(peer: AcpPeer) -> None:
    assert peer.call()["method"] == "session/prompt"
    assert peer.call()["params"] == {"sessionId": SESSION, "prompt": [{"type": "text", "text": "hello"}]}
    assert (peer.outgoing[-1].purpose, peer.outgoing[-1].delivery) == ("prompt", "d1")


@pytest.mark.parametrize(
    "content",
    [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}},
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "x"}},
        {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "x"}},
        {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "t"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t"},
        {"sessionUpdate": "plan", "entries": []},
    ],
)
def test_the_first_update_of_a_turn_is_the_witness_that_it_began(
    peer: AcpPeer, content: dict[str, Any]
) -> None:
    assert peer.say(update(content), update(content)).count(STARTED) == 1
    assert peer.reports[-3].body == STARTED
    assert peer.reports[-3].rule == f"acp.update.{content['sessionUpdate']}"


def test_a_permission_request_is_a_witness(peer: AcpPeer) -> None:
    assert peer.ask()[0] == STARTED


@pytest.mark.parametrize(
    "content",
    [
        {"sessionUpdate": "available_commands_update", "availableCommands": []},
        {"sessionUpdate": "current_mode_update", "currentModeId": "a"},
        {"sessionUpdate": "config_option_update", "configOptions": []},
        {"sessionUpdate": "session_info_update", "title": "t"},
        {"sessionUpdate": "usage_update", "used": 1, "size": 2},
        {"sessionUpdate": "something_new"},
    ],
)
def test_an_update_about_the_session_itself_is_no_witness(peer: AcpPeer, content: dict[str, Any]) -> None:
    assert STARTED not in peer.say(update(content))


def test_an_update_of_another_session_is_no_witness(peer: AcpPeer) -> None:
    assert STARTED not in peer.say(chunk("x", session="other"))


@pytest.mark.requirement("H-B17", "H-B19")
@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("end_turn", TurnOutcome.COMPLETED),
        ("max_tokens", TurnOutcome.LIMITED),
        ("max_turn_requests", TurnOutcome.LIMITED),
        ("refusal", TurnOutcome.REFUSED),
        ("cancelled", TurnOutcome.CANCELLED),
    ],
)
def test_every_stop_reason_ends_the_turn(peer: AcpPeer, reason: str, outcome: TurnOutcome) -> None:
    assert peer.result({"stopReason": reason}) == [
        STARTED,
        PromptAnswered(delivery="d1", outcome=outcome, raw_reason=reason),
    ]


@pytest.mark.parametrize("result", [{"stopReason": "tired"}, {}, None, 3])
def test_a_result_that_nobody_knows_ends_the_turn_as_failed(peer: AcpPeer, result: object) -> None:
    found = answered(peer.result(result))

    assert found.outcome == TurnOutcome.FAILED
    assert found.error is not None
    assert found.error.code == "protocol_fault"


def test_an_answer_with_neither_result_nor_error_still_ends_the_turn(peer: AcpPeer) -> None:
    found = answered(peer.say({"jsonrpc": "2.0", "id": peer.call()["id"]}))

    assert found.outcome == TurnOutcome.FAILED


@pytest.mark.parametrize(
    ("code", "outcome", "ours", "declined"),
    [
        (429, TurnOutcome.LIMITED, "limited", False),
        (401, TurnOutcome.FAILED, "auth_required", False),
        (-32000, TurnOutcome.FAILED, "auth_required", True),
        (-32002, TurnOutcome.FAILED, "call_failed", True),
        (-32600, TurnOutcome.FAILED, "call_failed", True),
        (-32601, TurnOutcome.FAILED, "call_failed", True),
        (-32602, TurnOutcome.FAILED, "call_failed", True),
        (-32603, TurnOutcome.FAILED, "call_failed", False),
    ],
)
def test_an_error_ends_the_turn_with_the_harness_own_words(
    peer: AcpPeer, code: int, outcome: TurnOutcome, ours: str, *, declined: bool
) -> None:
    (found,) = peer.error(code, "its words", {"k": 1})

    assert isinstance(found, PromptAnswered)
    assert found.error is not None
    assert (found.outcome, found.error.code, found.declined) == (outcome, ours, declined)
    assert (found.error.raw_code, found.error.message, found.error.raw) == (code, "its words", {"k": 1})


@pytest.mark.parametrize(
    ("message", "data", "told"),
    [
        ("Internal error", {"details": "Connection error."}, "Internal error: Connection error."),
        ("Internal error", {"message": "status 401", "code": 1}, "Internal error: status 401"),
        ("Invalid params", "Unknown sessionId: nope", "Invalid params: Unknown sessionId: nope"),
        ("Internal error", {"details": {"deep": 1}}, "Internal error"),
        ("Internal error", None, "Internal error"),
        ("Internal error: quota", {"details": "more"}, "Internal error: quota"),
        ("No such session", {"details": "more"}, "No such session"),
    ],
)
def test_where_the_message_is_the_protocol_s_word_alone_the_words_of_the_data_are_told_too(
    peer: AcpPeer, message: str, data: Any, told: str
) -> None:
    found = answered(peer.error(-32603, message, data))

    assert found.error is not None
    assert found.error.message == told


def test_a_turn_that_began_was_not_declined(peer: AcpPeer) -> None:
    peer.say(chunk("x"))

    assert not answered(peer.error(-32602)).declined


@pytest.mark.parametrize("error", ["text", 5, {}, {"code": "x"}, [], {"code": 1.5, "message": 3}, None])
def test_an_error_of_any_shape_ends_the_turn(peer: AcpPeer, error: object) -> None:
    found = answered(peer.say({"jsonrpc": "2.0", "id": peer.call()["id"], "error": error}))

    assert (found.outcome, found.declined) == (TurnOutcome.FAILED, False)


@pytest.mark.parametrize(
    ("result", "usage"),
    [
        (
            {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3, "cachedReadTokens": 4.0}},
            Usage(kind=UsageKind.STEP, input_tokens=1, output_tokens=2, total_tokens=3, cached_read_tokens=4),
        ),
        (
            {"_meta": {"quota": {"token_count": {"input_tokens": 7, "output_tokens": 8}}}},
            Usage(kind=UsageKind.STEP, input_tokens=7, output_tokens=8),
        ),
        ({"usage": {"inputTokens": "many"}}, None),
        ({"usage": None}, None),
    ],
)
def test_usage_is_kept_with_what_it_counts(result: dict[str, Any], usage: Usage | None) -> None:
    peer = AcpPeer(acp=AcpSettings(usage_kind="step"))
    peer.open()
    peer.prompt()

    assert answered(peer.result({"stopReason": "end_turn", **result})).usage == usage


def test_a_cancel_is_a_notification_and_no_outcome(peer: AcpPeer) -> None:
    step = peer.machine.cancel()

    assert not step.reports
    assert not step.changed
    peer.take(step)
    assert peer.written()[-1] == {
        "jsonrpc": "2.0",
        "method": "session/cancel",
        "params": {"sessionId": SESSION},
    }


def test_there_is_nothing_to_cancel_without_an_open_prompt(peer: AcpPeer) -> None:
    peer.result({"stopReason": "end_turn"})

    assert not peer.machine.cancel().outgoing


def test_a_prompt_that_cannot_be_sent_changes_nothing() -> None:
    peer = AcpPeer(frame_cap_bytes=300)
    peer.open()
    before = peer.machine.snapshot()

    with pytest.raises(UsageError, match="301 bytes") as error:
        peer.machine.prompt("d1", "x" * 301)
    with pytest.raises(UsageError, match="surrogate"):
        peer.machine.prompt("d1", "\ud800")

    assert error.value.code == "prompt_too_large"
    assert peer.machine.snapshot() == before


def load_that_answers_first() -> AcpPeer:
    """A loaded session whose conversation is told again after the answer."""
    peer = AcpPeer(attempt="resume", session_id=SESSION, acp=AcpSettings(replay_after_answer=True))
    peer.connect(loadSession=True)
    return peer


COMMANDS = update({"sessionUpdate": "available_commands_update", "availableCommands": []})


@pytest.mark.requirement("L14")
def test_a_conversation_that_is_told_again_after_a_prompt_was_sent_is_no_witness_for_it() -> None:
    peer = load_that_answers_first()
    peer.result({})
    peer.prompt()

    told = peer.say(chunk("old", kind="user_message_chunk"), chunk("older"), COMMANDS)
    live = peer.say(chunk("new"))

    assert told[:2] == [
        MessageChunk(role="user", text="old", replay=True),
        MessageChunk(role="agent", text="older", replay=True),
    ]
    assert live == [STARTED, MessageChunk(role="agent", text="new")]


def test_words_of_the_harness_without_any_of_the_person_before_them_are_live() -> None:
    peer = load_that_answers_first()
    peer.result({})
    peer.prompt()

    assert peer.say(chunk("new")) == [STARTED, MessageChunk(role="agent", text="new")]


def test_words_of_the_person_after_the_list_of_commands_are_still_history() -> None:
    peer = load_that_answers_first()
    peer.result({})
    peer.prompt()

    assert peer.say(COMMANDS, chunk("old", kind="user_message_chunk"))[1:] == [
        MessageChunk(role="user", text="old", replay=True)
    ]


def test_a_replay_without_its_end_ends_with_the_turn() -> None:
    peer = load_that_answers_first()
    peer.say(chunk("old", kind="user_message_chunk"))
    peer.result({})
    peer.prompt()
    peer.result({"stopReason": "end_turn"})
    peer.prompt("d2")

    assert peer.say(chunk("new")) == [
        PromptStarted(delivery="d2"),
        MessageChunk(role="agent", text="new"),
    ]


def test_a_permission_request_ends_the_replay_since_only_a_live_turn_asks() -> None:
    peer = load_that_answers_first()
    peer.say(chunk("old", kind="user_message_chunk"))
    peer.result({})
    peer.prompt()

    assert peer.ask()[0] == STARTED
    assert peer.say(chunk("new")) == [MessageChunk(role="agent", text="new")]
