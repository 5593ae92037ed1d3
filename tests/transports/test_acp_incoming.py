"""What the harness asks and says by itself: permissions, unknown methods, noise and broken messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inspan.model.content import (
    MessageChunk,
    Noise,
    PlanUpdated,
    ProtocolFault,
    ToolCallUpdated,
    UnknownMessage,
    UnknownUpdate,
)
from inspan.model.permission import OptionKind, PermissionOption, ToolCall
from inspan.model.reports import PermissionRequested, PermissionWithdrawn, PromptAnswered
from support.acp_peer import SESSION, AcpPeer, chunk, line, update


@pytest.fixture
def peer() -> AcpPeer:
    """A session with an open prompt whose turn began."""
    made = AcpPeer()
    made.open()
    made.prompt()
    made.say(chunk("go"))
    return made


def faults(bodies: list[object]) -> list[str]:
    """The codes of the faults among reports."""
    return [body.code for body in bodies if isinstance(body, ProtocolFault)]


@pytest.mark.requirement("H-C13", "H-F6")
def test_a_permission_request_is_reported_with_its_options_by_kind(peer: AcpPeer) -> None:
    (asked,) = peer.ask(
        "r-7",
        toolCall={"toolCallId": "t1", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}},
        options=[
            {"optionId": "a", "name": "A", "kind": "allow_always"},
            {"optionId": "b", "name": "B", "kind": "something_new"},
            {"optionId": "c"},
            {"name": "no id"},
            3,
        ],
    )

    assert asked == PermissionRequested(
        wire_id='"r-7"',
        tool_call=ToolCall(id="t1", title="ls", kind="execute", raw_input={"command": "ls"}),
        options=(
            PermissionOption(id="a", name="A", kind=OptionKind.ALLOW_ALWAYS, raw_kind="allow_always"),
            PermissionOption(id="b", name="B", kind=OptionKind.OTHER, raw_kind="something_new"),
            PermissionOption(id="c", name="c", kind=OptionKind.OTHER, raw_kind=""),
        ),
    )
    assert peer.reports[-1].rule == "acp.permission.request"


@pytest.mark.requirement("H-F6")
def test_a_request_that_names_only_its_tool_call_is_completed_from_what_was_said_before(
    peer: AcpPeer,
) -> None:
    peer.say(
        update({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "a", "kind": "edit"}),
        update({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "title": "b", "rawInput": {"p": 1}}),
    )

    (asked,) = peer.ask()

    assert isinstance(asked, PermissionRequested)
    assert asked.tool_call == ToolCall(id="t1", title="b", kind="edit", raw_input={"p": 1})


def test_a_request_may_come_before_its_tool_call(peer: AcpPeer) -> None:
    (asked,) = peer.ask()

    assert isinstance(asked, PermissionRequested)
    assert asked.tool_call == ToolCall(id="t1")


@pytest.mark.parametrize(
    ("option", "outcome"),
    [("y", {"outcome": "selected", "optionId": "y"}), (None, {"outcome": "cancelled"})],
)
def test_an_answer_is_bound_to_its_request_and_sent_once(
    peer: AcpPeer, option: str | None, outcome: dict[str, str]
) -> None:
    peer.ask(0)
    peer.ask("0")

    step = peer.machine.answer("0", option)
    again = peer.machine.answer("0", option)

    (written,) = step.outgoing
    assert json.loads(written.data) == {"jsonrpc": "2.0", "id": 0, "result": {"outcome": outcome}}
    assert (written.purpose, written.request) == ("answer", "0")
    assert step.changed
    assert not again.outgoing
    assert peer.machine.answer('"0"', option).outgoing[0].request == '"0"'


def test_an_answer_to_a_request_that_was_never_made_is_not_sent(peer: AcpPeer) -> None:
    assert not peer.machine.answer("99", "y").outgoing


def test_a_request_that_the_harness_takes_back_is_withdrawn_and_answered(peer: AcpPeer) -> None:
    peer.ask(4)

    told = peer.say({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 4}})

    assert told == [PermissionWithdrawn(wire_id="4")]
    assert peer.written()[-1]["error"]["code"] == -32800
    assert not peer.machine.answer("4", "y").outgoing


def test_taking_back_a_request_that_is_not_open_is_only_kept(peer: AcpPeer) -> None:
    params = {"requestId": "4"}

    assert peer.say({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}) == [
        UnknownMessage(method="$/cancel_request", raw=params)
    ]


def test_a_request_of_another_session_is_cancelled_at_once(peer: AcpPeer) -> None:
    (told,) = peer.ask(4, sessionId="other")

    assert isinstance(told, UnknownMessage)
    assert told.answered
    assert peer.reports[-1].session == "other"
    assert peer.written()[-1]["result"] == {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize("params", [{"toolCall": 3}, {"sessionId": None}, {"toolCall": None}])
def test_a_request_of_a_wrong_form_is_declined_and_kept(peer: AcpPeer, params: dict[str, object]) -> None:
    told = peer.ask(4, **params)

    assert faults([*told]) == ["bad_message"]
    assert isinstance(told[-1], UnknownMessage)
    assert peer.written()[-1]["error"]["code"] == -32602


def test_a_second_request_with_the_id_of_an_open_one_is_a_fault(peer: AcpPeer) -> None:
    peer.ask(4)

    assert faults([*peer.ask(4)]) == ["bad_message"]


@pytest.mark.requirement("H-B14", "H-N21", "L14")
@pytest.mark.parametrize(
    "method", ["fs/read_text_file", "terminal/create", "elicitation/create", "x/new", "session/update"]
)
def test_a_call_that_nobody_serves_is_declined_and_the_session_goes_on(peer: AcpPeer, method: str) -> None:
    params = {"sessionId": SESSION, "update": 1}

    told = peer.say({"jsonrpc": "2.0", "id": "q", "method": method, "params": params})

    assert told == [UnknownMessage(method=method, answered=True, raw=params)]
    assert (peer.written()[-1]["id"], peer.written()[-1]["error"]["code"]) == ("q", -32601)
    assert peer.outgoing[-1].purpose == "reply"
    assert isinstance(peer.result({"stopReason": "end_turn"}, to="session/prompt")[-1], PromptAnswered)


def test_a_notification_that_nobody_knows_is_kept(peer: AcpPeer) -> None:
    params = {"category": "rate_limited"}

    assert peer.say({"jsonrpc": "2.0", "method": "_session/retrying", "params": params}) == [
        UnknownMessage(method="_session/retrying", raw=params)
    ]


def test_an_update_of_an_unknown_kind_is_kept_as_it_came(peer: AcpPeer) -> None:
    content = {"sessionUpdate": "new_kind", "x": [1]}

    assert peer.say(update(content)) == [UnknownUpdate(kind="new_kind", raw=content)]


@pytest.mark.parametrize(
    "content",
    [
        {"sessionUpdate": "agent_message_chunk", "content": "text"},
        {"sessionUpdate": "agent_message_chunk", "content": {"text": "no type"}},
        {"sessionUpdate": "tool_call", "toolCallId": 5},
        {"sessionUpdate": "plan", "entries": {}},
        {"sessionUpdate": 5},
    ],
)
def test_an_update_of_a_wrong_form_is_kept_as_it_came(peer: AcpPeer, content: dict[str, object]) -> None:
    (told,) = peer.say(update(content))

    assert isinstance(told, UnknownUpdate)
    assert told.raw == content


def test_an_update_of_another_session_is_kept_under_its_name(peer: AcpPeer) -> None:
    (told,) = peer.say(chunk("x", session="other"))

    assert isinstance(told, UnknownUpdate)
    assert peer.reports[-1].session == "other"


def test_content_that_is_not_text_is_kept_as_it_came(peer: AcpPeer) -> None:
    image = {"type": "image", "data": "AA==", "mimeType": "image/png"}

    assert peer.say(update({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": image})) == [
        MessageChunk(role="agent", message_id="m", raw=image)
    ]


def test_unknown_fields_are_passed_over(peer: AcpPeer) -> None:
    content: dict[str, Any] = {"sessionUpdate": "tool_call", "toolCallId": "t", "new": 1, "_meta": {}}

    assert peer.say(update({**content, "status": "strange"})) == [ToolCallUpdated(id="t", status="strange")]


@pytest.mark.requirement("L14")
def test_output_between_messages_is_counted_and_does_no_harm(peer: AcpPeer) -> None:
    data = b"Loading...\nDone\r\n\n  \n" + b'{"level":"info"}\n[1, 2]\n"text"\n' + line(chunk("x")) + b"bye\n"

    noise, told, rest = peer.take(peer.machine.feed(data))

    assert noise == Noise(lines=5, sample="Loading...")
    assert told == MessageChunk(role="agent", text="x")
    assert rest == Noise(lines=1, sample="bye")


def test_a_sample_of_noise_is_short(peer: AcpPeer) -> None:
    (noise,) = peer.take(peer.machine.feed(("é" * 5000 + "\n").encode()))

    assert noise == Noise(lines=1, sample="é" * 200)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff\xfe noise\n", "bad_encoding"),
        (b'{"jsonrpc":"2.0","method":\n', "bad_message"),
        (b'{"jsonrpc":"2.0","method":5}\n', "bad_message"),
        (b'{"jsonrpc":"2.0"}\n', "bad_message"),
        (b'{"jsonrpc":"2.0","id":77,"result":{}}\n', "unmatched_answer"),
        (b'{"jsonrpc":"2.0","id":"1","result":{}}\n', "unmatched_answer"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}\n', "unmatched_answer"),
        (b'{"jsonrpc":"2.0","method":"session/update","params":[]}\n', "bad_message"),
        (b'{"jsonrpc":"2.0","id":' + b"[" * 100_000 + b"\n", "bad_message"),
        (b'{"jsonrpc":"2.0","method":"x","params":' + b"[" * 200 + b"]" * 200 + b"}\n", "bad_message"),
        (b'{"jsonrpc":"2.0","method":"x","params":' + b"[" * 5000 + b"]" * 5000 + b"}\n", "bad_message"),
    ],
)
def test_a_broken_message_is_a_fault_that_is_not_fatal(peer: AcpPeer, data: bytes, code: str) -> None:
    told = peer.take(peer.machine.feed(data))

    assert faults([*told]) == [code]
    assert not [one for one in told if isinstance(one, ProtocolFault) and one.fatal]
    assert peer.say(chunk("x")) == [MessageChunk(role="agent", text="x")]


def test_a_call_that_is_answered_twice_is_answered_once(peer: AcpPeer) -> None:
    peer.result({"stopReason": "end_turn"})

    assert faults([*peer.result({"stopReason": "end_turn"})]) == ["unmatched_answer"]


@pytest.mark.parametrize("damage", [b"\xe9", b"\\ud83d"])
def test_damaged_text_is_replaced_and_its_message_still_counts(peer: AcpPeer, damage: bytes) -> None:
    data = line(chunk("a-MARK")).replace(b"MARK", damage)

    told = peer.take(peer.machine.feed(data))

    assert faults([*told]) == ["bad_encoding"]
    assert told[-1] == MessageChunk(role="agent", text="a-\ufffd")


def test_numbers_that_do_not_fit_are_left_out(peer: AcpPeer) -> None:
    content = {"sessionUpdate": "tool_call", "toolCallId": "t", "rawInput": {"a": 1, "b": "HUGE"}}
    data = line(update(content)).replace(b'"HUGE"', b"1e999")

    assert peer.take(peer.machine.feed(data))[-1] == ToolCallUpdated(id="t", raw_input={"a": 1, "b": None})


def test_a_batch_is_read_one_message_after_another(peer: AcpPeer) -> None:
    data = line([chunk("a"), {"jsonrpc": "2.0", "id": 9, "method": "x/y"}, 5, chunk("b")])

    first, unknown, noise, second = peer.take(peer.machine.feed(data))

    assert (first, second) == (MessageChunk(role="agent", text="a"), MessageChunk(role="agent", text="b"))
    assert unknown == UnknownMessage(method="x/y", answered=True)
    assert noise == Noise(lines=1, sample="5")


@pytest.mark.requirement("H-H5")
def test_a_line_over_the_cap_is_dropped_said_once_and_fatal() -> None:
    peer = AcpPeer(frame_cap_bytes=1000)
    peer.open()
    before = peer.machine.snapshot()

    steps = [peer.machine.feed(b"x" * 400) for _ in range(100)]
    last = peer.machine.feed(b"tail\n" + line(chunk("next")))

    told = [report.body for step in steps for report in step.reports]
    assert [(one.code, one.fatal) for one in told if isinstance(one, ProtocolFault)] == [
        ("frame_too_large", True)
    ]
    assert sum(step.consumed for step in steps) == 40_000
    assert [report.body for report in last.reports] == [MessageChunk(role="agent", text="next")]
    assert peer.machine.snapshot() == before


@pytest.mark.requirement("H-H5")
def test_a_line_of_the_cap_is_accepted_in_any_pieces_and_one_byte_more_is_not() -> None:
    message = line(chunk("x" * 500))
    for over, step_bytes in ((0, 1), (0, 7), (0, 10_000), (1, 1), (1, 7), (1, 10_000)):
        peer = AcpPeer(frame_cap_bytes=len(message) - 1 - over)
        peer.machine.feed(b"")
        told: list[object] = []
        for start in range(0, len(message), step_bytes):
            told += peer.take(peer.machine.feed(message[start : start + step_bytes]))
        assert faults(told) == (["frame_too_large"] if over else [])


@pytest.mark.requirement("L14")
def test_the_cap_lets_a_line_of_sixteen_megabytes_pass() -> None:
    peer = AcpPeer()
    peer.open()
    text = "x" * (16 * 1024 * 1024)
    data = line(chunk(text))

    told = [
        report.body
        for start in range(0, len(data), 65536)
        for report in peer.machine.feed(data[start : start + 65536]).reports
    ]

    assert told == [MessageChunk(role="agent", text=text)]


def test_half_a_line_at_the_end_is_a_fault(peer: AcpPeer) -> None:
    peer.take(peer.machine.feed(b'{"jsonrpc":"2.0","id"'))

    step = peer.machine.finish()

    assert faults([*peer.take(step)]) == ["truncated"]
    assert step.consumed == 21
    assert not peer.machine.finish().reports


def test_a_last_message_that_lacks_only_its_newline_counts(peer: AcpPeer) -> None:
    data = line({"jsonrpc": "2.0", "id": peer.call()["id"], "result": {"stopReason": "end_turn"}})
    peer.take(peer.machine.feed(data[:-1]))

    (told,) = peer.take(peer.machine.finish())

    assert isinstance(told, PromptAnswered)


def test_brackets_that_stand_side_by_side_or_in_strings_are_not_deep(peer: AcpPeer) -> None:
    text = '\\"[' * 1000

    assert peer.say(update({"sessionUpdate": "plan", "entries": [{"content": text}] * 300})) == [
        PlanUpdated(entries=({"content": text},) * 300)
    ]
