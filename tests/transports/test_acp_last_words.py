"""Where the last message of a turn begins is kept, bounded, for the rules that read it, and for nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.manifest import AcpSettings
from inspan.model.reports import PromptAnswered
from inspan.transports.acp import AcpMachine
from inspan.transports.last_words import LAST_WORDS_CHARACTERS
from support.acp_peer import AcpPeer, chunk, line, update

TOOL = update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "t"})
TOOL_ENDED = update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"})
THOUGHT = chunk("hm", kind="agent_thought_chunk")
PLAN = update({"sessionUpdate": "plan", "entries": []})
USER = chunk("hello", kind="user_message_chunk")
USAGE = update({"sessionUpdate": "usage_update", "used": 1, "size": 2})


def of_message(text: str, message: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return update({"sessionUpdate": "agent_message_chunk", "content": content, "messageId": message})


def turn(*messages: dict[str, Any], reads: bool = True) -> PromptAnswered:
    peer = AcpPeer(reads_last_words=reads)
    peer.open()
    peer.prompt()
    peer.say(*messages)
    return ended(peer)


def ended(peer: AcpPeer) -> PromptAnswered:
    [answer] = [one for one in peer.result({"stopReason": "end_turn"}) if isinstance(one, PromptAnswered)]
    return answer


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], ""),
        ([chunk("Error: "), chunk("429")], "Error: 429"),
        ([chunk("Let me look."), TOOL, TOOL_ENDED, chunk("Error: 429")], "Error: 429"),
        ([chunk("Let me look."), TOOL, TOOL_ENDED], ""),
        ([chunk("Let me look."), THOUGHT, chunk("Done.")], "Done."),
        ([chunk("Let me look."), PLAN, chunk("Done.")], "Done."),
        ([chunk("a"), USAGE, chunk("b")], "ab"),
        ([chunk("a"), USER, chunk("b")], "ab"),
        ([of_message("a", "1"), of_message("b", "1"), of_message("c", "2")], "c"),
    ],
)
def test_the_last_message_is_what_came_after_everything_else(
    messages: list[dict[str, Any]], words: str
) -> None:
    assert turn(*messages).last_words == words


def test_nothing_is_kept_where_no_rule_would_read_it() -> None:
    assert turn(chunk("Error: 429"), reads=False).last_words is None


def test_no_more_than_the_beginning_of_a_message_is_kept() -> None:
    words = turn(chunk("x" * 1500), chunk("y" * 1500), chunk("z")).last_words

    assert words == "x" * 1500 + "y" * (LAST_WORDS_CHARACTERS - 1500)


def test_the_words_of_one_turn_are_not_those_of_the_next() -> None:
    peer = AcpPeer(reads_last_words=True)
    peer.open()
    peer.prompt("d1")
    peer.say(chunk("Error: 429"))
    assert ended(peer).last_words == "Error: 429"
    peer.prompt("d2")

    assert ended(peer).last_words == ""


def test_a_machine_that_was_restored_in_the_middle_of_a_turn_still_knows_its_words() -> None:
    peer = AcpPeer(reads_last_words=True)
    peer.open()
    peer.prompt()
    peer.say(chunk("Error: "))
    answer = {"jsonrpc": "2.0", "id": peer.call()["id"], "result": {"stopReason": "end_turn"}}

    restored = AcpMachine(peer.settings)
    restored.rollback(peer.machine.snapshot())
    reports = restored.feed(line(chunk("429")) + line(answer)).reports

    assert [one.body.last_words for one in reports if isinstance(one.body, PromptAnswered)] == ["Error: 429"]


def test_a_step_that_changes_the_words_changes_the_state_and_a_full_one_does_not() -> None:
    peer = AcpPeer(reads_last_words=True)
    peer.open()
    peer.prompt()

    assert peer.machine.feed(line(chunk("x"))).changed
    assert peer.machine.feed(line(chunk("x" * LAST_WORDS_CHARACTERS))).changed
    assert not peer.machine.feed(line(chunk("x"))).changed
    assert not peer.machine.feed(line(USAGE)).changed


@pytest.mark.requirement("L18")
@pytest.mark.parametrize(
    ("kind", "counts", "wrote"),
    [
        ("cumulative", [170, 170, 204, 204], [True, False, True, False]),
        ("cumulative", [170, None, 204], [True, False, True]),
        ("turn", [34, 0, None], [True, False, False]),
        ("step", [34, 0, None], [True, False, False]),
        ("unknown", [34, 0, None], [None, False, None]),
    ],
)
def test_whether_the_model_wrote_in_a_turn_is_told_by_the_tokens_that_the_harness_counts(
    kind: str, counts: list[int | None], wrote: list[bool | None]
) -> None:
    peer = AcpPeer(reads_last_words=True, acp=AcpSettings(usage_kind=kind))  # pyright: ignore[reportArgumentType]
    peer.open()
    found: list[bool | None] = []
    for number, count in enumerate(counts):
        peer.prompt(f"d-{number}")
        usage = {} if count is None else {"usage": {"inputTokens": 6000, "outputTokens": count}}
        reports = peer.result({"stopReason": "end_turn", **usage})
        found += [one.model_wrote for one in reports if isinstance(one, PromptAnswered)]

    assert found == wrote


@pytest.mark.requirement("L18")
def test_what_a_user_a_thought_or_a_tool_says_is_never_the_last_word() -> None:
    tool = update(
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Error: 429",
            "content": [{"type": "content", "content": {"type": "text", "text": "Error: 429"}}],
        }
    )
    said = "Error: 429"
    for last in (
        chunk(said, kind="user_message_chunk"),
        chunk(said, kind="agent_thought_chunk"),
        tool,
    ):
        assert said not in (turn(last).last_words or "")


@pytest.mark.parametrize(("option", "words"), [("n", None), ("y", ""), (None, "")])
def test_silence_after_a_rejection_says_nothing_of_the_harness(option: str | None, words: str | None) -> None:
    peer = AcpPeer(reads_last_words=True)
    peer.open()
    peer.prompt()
    peer.say(chunk("one call"), TOOL)
    peer.ask()
    peer.take(peer.machine.answer("0", option))
    peer.say(TOOL_ENDED)
    assert ended(peer).last_words == words

    peer.prompt("d2")
    assert ended(peer).last_words == "", "the next turn is judged as ever"


def test_words_after_a_rejection_are_read() -> None:
    peer = AcpPeer(reads_last_words=True)
    peer.open()
    peer.prompt()
    peer.ask()
    peer.take(peer.machine.answer("0", "n"))
    peer.say(chunk("as you like"))
    assert ended(peer).last_words == "as you like"
