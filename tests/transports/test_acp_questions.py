"""Forms that the harness wants filled in: what is reported, what is declined, and the answers."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.content import ProtocolFault, UnknownMessage
from inspan.model.question import FIELDS_CAP, QuestionAction, QuestionChoice, QuestionField
from inspan.model.reports import PromptStarted, QuestionAsked, QuestionWithdrawn
from inspan.transports.acp import AcpMachine
from inspan.transports.operations import AnswerQuestion
from support.acp_peer import SESSION, AcpPeer

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Yours", "default": "me"},
        "size": {"type": "string", "enum": ["s", "l"]},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean"},
        "odd": {"type": "object"},
    },
    "required": ["name", "sure", 7],
}


@pytest.fixture
def peer() -> AcpPeer:
    peer = AcpPeer(answers_questions=True)
    peer.open()
    peer.prompt()
    return peer


def ask(peer: AcpPeer, wire_id: object = 5, **params: Any) -> list[Any]:
    values = {"sessionId": SESSION, "mode": "form", "message": "Who?", "requestedSchema": SCHEMA, **params}
    return [*peer.say({"jsonrpc": "2.0", "id": wire_id, "method": "elicitation/create", "params": values})]


def test_a_form_is_reported_field_by_field_and_witnesses_the_turn(peer: AcpPeer) -> None:
    told = ask(peer, toolCallId="t-1")

    assert isinstance(told[0], PromptStarted)
    assert told[1] == QuestionAsked(
        wire_id="5",
        message="Who?",
        tool_call="t-1",
        fields=(
            QuestionField(name="name", title="Name", description="Yours", is_required=True, default="me"),
            QuestionField(
                name="size", kind="choice", choices=(QuestionChoice(value="s"), QuestionChoice(value="l"))
            ),
            QuestionField(
                name="colour",
                kind="choice",
                choices=(QuestionChoice(value="r", title="Red"), QuestionChoice(value="g")),
            ),
            QuestionField(name="tags", kind="choices", choices=(QuestionChoice(value="a", title="A"),)),
            QuestionField(name="count", kind="integer"),
            QuestionField(name="ratio", kind="number"),
            QuestionField(name="sure", kind="boolean", is_required=True),
            QuestionField(name="odd", kind="other"),
        ),
    )


@pytest.mark.parametrize(
    ("action", "content", "result"),
    [
        (QuestionAction.ACCEPT, {"name": "x"}, {"action": "accept", "content": {"name": "x"}}),
        (QuestionAction.DECLINE, {}, {"action": "decline"}),
        (QuestionAction.CANCEL, {}, {"action": "cancel"}),
    ],
)
def test_an_answer_goes_out_once_even_over_a_restart(
    peer: AcpPeer, action: QuestionAction, content: dict[str, Any], result: dict[str, Any]
) -> None:
    ask(peer, "q")
    peer.machine = AcpMachine(peer.settings, snapshot=peer.machine.snapshot())
    answer = AnswerQuestion(wire_id='"q"', action=action, content=content)

    peer.take(peer.machine.operate(answer))

    assert peer.written()[-1] == {"jsonrpc": "2.0", "id": "q", "result": result}
    assert peer.outgoing[-1].request == '"q"'
    assert peer.machine.operate(answer).outgoing == ()


def test_a_url_and_a_form_without_end_are_declined_and_kept(peer: AcpPeer) -> None:
    many = {"properties": {f"f{number}": {"type": "string"} for number in range(FIELDS_CAP + 1)}}
    for wire_id, params in enumerate(
        ({"mode": "url", "url": "https://x", "elicitationId": "e"}, {"requestedSchema": many}, {"mode": "_x"})
    ):
        (told,) = ask(peer, wire_id, **params)

        assert isinstance(told, UnknownMessage)
        assert told.answered
        assert peer.written()[-1] == {"jsonrpc": "2.0", "id": wire_id, "result": {"action": "decline"}}


def test_a_question_of_a_session_that_is_not_there_is_cancelled(peer: AcpPeer) -> None:
    (told,) = ask(peer, sessionId="other")

    assert isinstance(told, UnknownMessage)
    assert peer.written()[-1]["result"] == {"action": "cancel"}


def test_a_question_that_belongs_to_an_open_call_of_ours_needs_no_session() -> None:
    peer = AcpPeer(answers_questions=True, auth_method="key")
    peer.connect()
    params: dict[str, Any] = {
        "requestId": peer.call()["id"],
        "mode": "form",
        "message": "Key?",
        "requestedSchema": {},
    }

    told = peer.say({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params})

    assert told == [QuestionAsked(wire_id="1", message="Key?")]


def test_a_question_of_a_wrong_form_or_with_an_id_in_use_is_a_fault(peer: AcpPeer) -> None:
    told = ask(peer, message=None)
    assert isinstance(told[0], ProtocolFault)
    assert peer.written()[-1]["error"]["code"] == -32602

    ask(peer)
    assert isinstance(ask(peer)[0], ProtocolFault)


def test_a_question_that_the_harness_withdraws_is_closed(peer: AcpPeer) -> None:
    ask(peer)

    told = peer.say({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}})

    assert told == [QuestionWithdrawn(wire_id="5")]
    assert peer.written()[-1]["error"]["code"] == -32800
    answer = AnswerQuestion(wire_id="5", action=QuestionAction.DECLINE)
    assert peer.machine.operate(answer).outgoing == ()


def test_that_an_elicitation_is_complete_is_kept_as_it_came(peer: AcpPeer) -> None:
    params = {"elicitationId": "e"}

    assert peer.say({"jsonrpc": "2.0", "method": "elicitation/complete", "params": params}) == [
        UnknownMessage(method="elicitation/complete", raw=params)
    ]
