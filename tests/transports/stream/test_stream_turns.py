"""Turns: prompts out, what is a witness, what belongs to another turn, cancels, and ends."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.content import MessageChunk, ToolCallUpdated, UnknownUpdate, UsageUpdated
from inspan.model.errors import UsageError
from inspan.model.reports import PromptAccepted, PromptAnswered, PromptStarted, ReportBody, WillRetry
from inspan.model.turn import TurnOutcome
from inspan.transports.stream.talk import uuid_of
from support.stream_ground import DIALECTS
from support.stream_talker import SESSION, Talker, opened

Json = dict[str, Any]
every_dialect = pytest.mark.parametrize("dialect", sorted(DIALECTS))


def note(method: str, **params: Any) -> Json:
    return {"method": method, "params": {"threadId": SESSION, **params}}


def taken(turn: str = "t1", key: int = 4) -> Json:
    return {"id": key, "result": {"turn": {"id": turn}}}


def started(turn: str = "t1") -> Json:
    return note("turn/started", turn={"id": turn})


def completed(status: str = "completed", turn: str = "t1", error: Json | None = None) -> Json:
    return note("turn/completed", turn={"id": turn, "status": status, "error": error})


def begun(dialect: str) -> tuple[Json, ...]:
    """What a dialect says when it begins to work on the first prompt."""
    return {
        "rpc": (taken(), started()),
        "command": (
            {
                "id": "2",
                "type": "response",
                "command": "prompt",
                "success": True,
                "data": {"disposition": "started"},
            },
            {"type": "agent_start"},
        ),
        "control": (
            {"type": "command_lifecycle", "command_uuid": uuid_of("d1"), "state": "queued"},
            {"type": "command_lifecycle", "command_uuid": uuid_of("d1"), "state": "started"},
        ),
    }[dialect]


def ends(dialect: str) -> Json:
    """What a dialect says at the end of the first turn."""
    return {
        "rpc": completed(),
        "command": {"type": "agent_settled", "aborted": False},
        "control": {
            "type": "result",
            "subtype": "success",
            "terminal_reason": "completed",
            "is_error": False,
        },
    }[dialect]


def only(said: list[ReportBody], kind: type[ReportBody]) -> list[ReportBody]:
    return [one for one in said if isinstance(one, kind)]


@pytest.mark.requirement("H-C9")
def test_what_the_harness_took_is_accepted_and_what_it_works_on_started() -> None:
    talker = opened("rpc")
    assert talker.prompt("hello", "d1") == {
        "id": 4,
        "method": "turn/start",
        "params": {
            "threadId": SESSION,
            "input": [{"type": "text", "text": "hello"}],
            "clientUserMessageId": "d1",
        },
    }
    assert talker.feed(taken()) == [PromptAccepted(delivery="d1")]
    assert talker.feed(started()) == [PromptStarted(delivery="d1")]
    assert talker.feed(started()) == []


@every_dialect
def test_a_turn_begins_once_and_ends_once(dialect: str) -> None:
    talker = opened(dialect)
    talker.prompt()
    said = talker.feed(*begun(dialect), ends(dialect))
    assert only(said, PromptStarted) == [PromptStarted(delivery="d1")]
    (answered,) = only(said, PromptAnswered)
    assert isinstance(answered, PromptAnswered)
    assert (answered.outcome, answered.error) == (TurnOutcome.COMPLETED, None)
    assert only(talker.feed(ends(dialect)), PromptAnswered) == []


@pytest.mark.parametrize("dialect", ["rpc", "command"])
def test_an_end_without_a_word_before_it_was_a_turn_all_the_same(dialect: str) -> None:
    talker = opened(dialect)
    talker.prompt()
    said = talker.feed(begun(dialect)[0], ends(dialect))
    assert len(only(said, PromptStarted)) == 1
    assert len(only(said, PromptAnswered)) == 1


def test_the_persons_message_under_our_own_id_is_a_witness_and_names_the_turn() -> None:
    talker = opened("rpc")
    talker.prompt("hello", "d1")
    item = {"type": "userMessage", "clientId": "d1"}
    assert talker.feed(note("item/started", turnId="t1", item=item)) == [PromptStarted(delivery="d1")]
    assert len(only(talker.feed(completed()), PromptAnswered)) == 1


def test_a_message_under_another_id_is_no_witness() -> None:
    talker = opened("rpc")
    talker.prompt("hello", "d2")
    item = {"type": "userMessage", "clientId": "d1"}
    assert talker.feed(note("item/started", turnId="t1", item=item)) == []


def test_the_end_of_another_turn_ends_nothing() -> None:
    talker = opened("rpc")
    talker.prompt()
    late = talker.feed(completed("interrupted", turn="t0"))
    assert [type(one) for one in late] == [UnknownUpdate]
    talker.feed(taken(), started())
    assert only(talker.feed(completed("failed", turn="t0")), PromptAnswered) == []
    (answered,) = only(talker.feed(completed()), PromptAnswered)
    assert isinstance(answered, PromptAnswered)
    assert answered.outcome is TurnOutcome.COMPLETED


def test_what_belongs_to_another_session_is_kept_as_it_came() -> None:
    talker = opened("rpc")
    talker.prompt()
    talker.feed(taken(), started())
    record = {"method": "item/agentMessage/delta", "params": {"threadId": "sub", "itemId": "i", "delta": "x"}}
    assert talker.feed(record) == [UnknownUpdate(kind="item/agentMessage/delta", raw=record)]


def test_what_a_subagent_says_is_no_answer_of_its_parent() -> None:
    talker = opened("control")
    talker.prompt()
    talker.feed(*begun("control"))
    message = {"id": "m", "content": [{"type": "text", "text": "inner"}]}
    said = talker.feed({"type": "assistant", "message": message, "parent_tool_use_id": "call-1"})
    assert only(said, MessageChunk) == []
    said = talker.feed({"type": "assistant", "message": message, "parent_tool_use_id": None})
    assert only(said, MessageChunk) == [MessageChunk(role="agent", text="inner", message_id="m")]


def test_a_message_that_came_in_pieces_is_not_told_whole_again() -> None:
    talker = opened("rpc")
    talker.prompt()
    talker.feed(taken(), started())
    piece = note("item/agentMessage/delta", turnId="t1", itemId="i1", delta="Hello")
    whole = note("item/completed", turnId="t1", item={"type": "agentMessage", "id": "i1", "text": "Hello"})
    other = note("item/completed", turnId="t1", item={"type": "agentMessage", "id": "i2", "text": "Bye"})
    texts = [one.text for one in talker.feed(piece, whole, other) if isinstance(one, MessageChunk)]
    assert texts == ["Hello", "Bye"]


def test_a_declined_prompt_was_never_begun() -> None:
    talker = opened("rpc")
    talker.prompt()
    (answered,) = talker.feed({"id": 4, "error": {"code": -32602, "message": "no"}})
    assert isinstance(answered, PromptAnswered)
    assert (answered.declined, answered.outcome) == (True, TurnOutcome.FAILED)
    assert talker.prompt("again", "d2")["id"] == 5


def test_an_error_answer_after_the_turn_began_declines_nothing() -> None:
    talker = opened("rpc")
    talker.prompt("hello", "d1")
    item = {"type": "userMessage", "clientId": "d1"}
    talker.feed(note("item/started", turnId="t1", item=item))
    (answered,) = talker.feed({"id": 4, "error": {"code": -32603, "message": "no"}})
    assert isinstance(answered, PromptAnswered)
    assert not answered.declined


def test_a_late_answer_to_an_earlier_prompt_says_nothing_of_the_next() -> None:
    talker = opened("rpc")
    talker.prompt("one", "d1")
    item = {"type": "userMessage", "clientId": "d1"}
    talker.feed(note("item/started", turnId="t1", item=item), completed())
    talker.prompt("two", "d2")
    assert talker.feed({"id": 4, "error": {"code": 1, "message": "late"}}) == []
    assert talker.feed(taken("t2", 5)) == [PromptAccepted(delivery="d2")]


def test_a_prompt_that_was_handled_without_a_run_ends_with_its_answer() -> None:
    talker = opened("command")
    talker.prompt("/hello")
    data = {"disposition": "handled"}
    said = talker.feed({"id": "2", "type": "response", "command": "prompt", "success": True, "data": data})
    (answered,) = only(said, PromptAnswered)
    assert isinstance(answered, PromptAnswered)
    assert (answered.outcome, answered.raw_reason) == (TurnOutcome.COMPLETED, "handled")


def test_a_cancel_waits_until_the_harness_would_take_it_and_is_asked_once() -> None:
    talker = opened("rpc")
    talker.prompt()
    assert talker.cancel() == []
    talker.restore()
    talker.feed(taken())
    assert talker.written[-1]["method"] == "turn/start"
    talker.feed(started())
    assert talker.written[-1] == {
        "id": 5,
        "method": "turn/interrupt",
        "params": {"threadId": SESSION, "turnId": "t1"},
    }
    assert talker.cancel() == []
    said = talker.feed({"id": 5, "result": {}}, completed("interrupted"))
    (answered,) = only(said, PromptAnswered)
    assert isinstance(answered, PromptAnswered)
    assert answered.outcome is TurnOutcome.CANCELLED


def test_a_cancel_that_waited_dies_with_its_turn() -> None:
    talker = opened("rpc")
    talker.prompt("one", "d1")
    talker.cancel()
    talker.feed({"id": 4, "error": {"code": 1, "message": "no"}})
    talker.prompt("two", "d2")
    talker.feed(taken("t2", 5), started("t2"))
    assert talker.written[-1]["method"] == "turn/start"


def test_a_refused_cancel_is_told_and_may_be_asked_again() -> None:
    talker = opened("rpc")
    talker.prompt()
    talker.feed(taken(), started())
    talker.cancel()
    (fault,) = talker.feed({"id": 5, "error": {"code": -32600, "message": "no active turn"}})
    assert getattr(fault, "code", "") == "cancel_refused"
    assert [one["method"] for one in talker.cancel()] == ["turn/interrupt"]


def test_a_cancel_is_no_outcome() -> None:
    talker = opened("rpc")
    talker.prompt()
    talker.feed(taken(), started())
    talker.cancel()
    (answered,) = only(talker.feed(completed()), PromptAnswered)
    assert isinstance(answered, PromptAnswered)
    assert answered.outcome is TurnOutcome.COMPLETED


def test_a_limit_keeps_the_harnesss_words_and_data() -> None:
    talker = opened("rpc")
    talker.prompt()
    error = {"message": "Quota exceeded.", "codexErrorInfo": "usageLimitExceeded"}
    told = note("error", turnId="t1", error=error, willRetry=False)
    (answered,) = only(
        talker.feed(taken(), started(), told, completed("failed", error=error)), PromptAnswered
    )
    assert isinstance(answered, PromptAnswered)
    assert answered.error is not None
    assert (answered.error.message, answered.error.raw) == ("Quota exceeded.", error)


def test_a_retry_is_told_and_is_no_failure() -> None:
    talker = opened("rpc")
    talker.prompt()
    told = note("error", turnId="t1", error={"message": "busy"}, willRetry=True)
    said = talker.feed(taken(), started(), told, completed())
    assert only(said, WillRetry) == [WillRetry(reason="busy")]
    (answered,) = only(said, PromptAnswered)
    assert isinstance(answered, PromptAnswered)
    assert answered.outcome is TurnOutcome.COMPLETED


def test_tokens_of_steps_become_those_of_the_turn_and_begin_anew_with_the_next() -> None:
    talker = opened("rpc")

    def count(turn: str) -> Json:
        usage = {"last": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}, "modelContextWindow": 100}
        return note("thread/tokenUsage/updated", turnId=turn, tokenUsage=usage)

    talker.prompt()
    said = talker.feed(count("t0"), taken(), started(), count("t1"), count("t1"), completed())
    (answered,) = only(said, PromptAnswered)
    assert isinstance(answered, PromptAnswered)
    assert answered.usage is not None
    assert (answered.usage.input_tokens, answered.model_wrote) == (20, True)
    assert UsageUpdated(used=12, size=100) in said
    talker.prompt("again", "d2")
    (answered,) = only(talker.feed(taken("t2", 5), started("t2"), completed(turn="t2")), PromptAnswered)
    assert isinstance(answered, PromptAnswered)
    assert (answered.usage, answered.model_wrote) == (None, False)


def test_a_tool_call_begins_and_ends_under_its_id() -> None:
    talker = opened("command")
    talker.prompt()
    talker.feed(*begun("command"))
    start = {
        "type": "tool_execution_start",
        "toolCallId": "c1",
        "toolName": "bash",
        "args": {"command": "ls"},
    }
    end = {
        "type": "tool_execution_end",
        "toolCallId": "c1",
        "toolName": "bash",
        "isError": True,
        "result": "no",
    }
    first, second = talker.feed(start, end)
    assert isinstance(first, ToolCallUpdated)
    assert (first.id, first.title, first.kind, first.status) == ("c1", "bash", "execute", "in_progress")
    assert isinstance(second, ToolCallUpdated)
    assert (second.id, second.status) == ("c1", "failed")


@every_dialect
def test_a_prompt_is_one_line_whatever_stands_in_it(dialect: str) -> None:
    talker = opened(dialect)
    text = 'a "b" {prompt} {session}\n\u2028\u2029 \U0001f600 \x1b[201~'
    step = talker.machine.prompt("d1", text)
    (outgoing,) = step.outgoing
    assert outgoing.data.count(b"\n") == 1
    assert b"\xe2\x80\xa8" not in outgoing.data
    assert b"\xe2\x80\xa9" not in outgoing.data
    talker.take(step)
    written = talker.written[-1]
    match dialect:
        case "rpc":
            found = written["params"]["input"][0]["text"]
        case "command":
            found = written["message"]
        case _:
            found = written["message"]["content"]
    assert found == text


@every_dialect
def test_a_prompt_that_cannot_be_sent_changes_nothing(dialect: str) -> None:
    talker = opened(dialect)
    before = talker.machine.snapshot()
    with pytest.raises(UsageError) as large:
        talker.machine.prompt("d1", "x" * 10_001)
    assert large.value.code == "prompt_too_large"
    with pytest.raises(UsageError):
        talker.machine.prompt("d1", "\ud800")
    assert talker.machine.snapshot() == before


def test_another_session_id_in_mid_conversation_is_told_and_believed_by_nobody() -> None:
    talker = opened("control")
    talker.prompt()
    said = talker.feed({"type": "system", "subtype": "init", "session_id": "another"})
    assert "session_changed" in [getattr(one, "code", "") for one in said]
    assert talker.prompt("again", "d2")["session_id"] == SESSION


def test_a_result_that_names_no_turn_ends_ours_only_once_ours_has_begun() -> None:
    talker = opened("control")
    talker.prompt()
    queued, began = begun("control")
    assert talker.feed(queued) == [PromptAccepted(delivery="d1")]
    init = {"type": "system", "subtype": "init", "session_id": SESSION}
    said = talker.feed(init, ends("control"))
    assert not only(said, PromptStarted)
    assert not only(said, PromptAnswered)
    assert talker.feed(began) == [PromptStarted(delivery="d1")]
    assert len(only(talker.feed(ends("control")), PromptAnswered)) == 1


def test_nothing_is_said_of_turns_that_nobody_asked_for() -> None:
    talker: Talker = opened("rpc")
    assert only(talker.feed(started("t9"), completed(turn="t9")), PromptAnswered) == []
