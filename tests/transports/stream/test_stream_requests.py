"""Requests of the harness: what is offered, what each option answers, and what is declined at once."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.content import UnknownMessage
from inspan.model.permission import OptionKind
from inspan.model.reports import PermissionRequested, PermissionWithdrawn, PromptStarted
from support.stream_ground import DIALECTS
from support.stream_talker import SESSION, Talker, opened

Json = dict[str, Any]
AMENDMENT = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}}
RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "ls *"}],
    "behavior": "allow",
    "destination": "localSettings",
}
INPUT = {"command": "ls", "timeout": None, "nested": {"a": [1, None]}}


def asks(dialect: str, key: Any) -> Json:
    """A request for a permission."""
    rpc = {
        "itemId": "c1",
        "threadId": SESSION,
        "command": "ls",
        "availableDecisions": ["accept", AMENDMENT, "cancel"],
    }
    control = {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "c1", "input": INPUT}
    control |= {
        "permission_suggestions": [RULE, {"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
    }
    return {
        "rpc": {"method": "item/commandExecution/requestApproval", "id": key, "params": rpc},
        "command": {
            "type": "extension_ui_request",
            "id": key,
            "method": "confirm",
            "title": "Run?",
            "message": "ls",
        },
        "control": {"type": "control_request", "request_id": key, "request": control},
    }[dialect]


def asked(dialect: str, key: Any = "k1") -> tuple[Talker, PermissionRequested]:
    talker = opened(dialect)
    talker.prompt()
    said = talker.feed(asks(dialect, key))
    (request,) = [one for one in said if isinstance(one, PermissionRequested)]
    assert PromptStarted(delivery="d1") in said
    return talker, request


def offers(request: PermissionRequested) -> list[tuple[str, str]]:
    return [(one.id, one.kind.value) for one in request.options]


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        (
            "rpc",
            [
                ("accept", "allow_once"),
                ("acceptWithExecpolicyAmendment", "allow_always"),
                ("cancel", "other"),
                ("decline", "reject_once"),
            ],
        ),
        ("command", [("yes", "allow_once"), ("no", "reject_once")]),
        (
            "control",
            [
                ("allow", "allow_once"),
                ("deny", "reject_once"),
                ("rule-0", "allow_always"),
                ("mode-1", "other"),
            ],
        ),
    ],
)
def test_each_dialect_offers_its_own_options_by_kind(dialect: str, expected: list[tuple[str, str]]) -> None:
    _, request = asked(dialect)
    assert offers(request) == expected
    assert "ls" in request.tool_call.title


@pytest.mark.requirement("H-F6")
@pytest.mark.parametrize(
    ("dialect", "option", "answer"),
    [
        ("rpc", "accept", {"id": "k1", "result": {"decision": "accept"}}),
        ("rpc", "acceptWithExecpolicyAmendment", {"id": "k1", "result": {"decision": AMENDMENT}}),
        ("rpc", "decline", {"id": "k1", "result": {"decision": "decline"}}),
        ("rpc", None, {"id": "k1", "result": {"decision": "cancel"}}),
        ("command", "yes", {"type": "extension_ui_response", "id": "k1", "confirmed": True}),
        ("command", "no", {"type": "extension_ui_response", "id": "k1", "confirmed": False}),
        ("command", None, {"type": "extension_ui_response", "id": "k1", "cancelled": True}),
    ],
)
def test_an_option_is_answered_as_the_dialect_wants_it(
    dialect: str, option: str | None, answer: Json
) -> None:
    talker, request = asked(dialect)
    talker.restore()
    assert talker.answer(request.wire_id, option) == [answer]
    assert talker.answer(request.wire_id, option) == []


def test_what_is_allowed_is_what_was_asked_to_the_last_null() -> None:
    talker, request = asked("control")
    talker.restore()
    (answer,) = talker.answer(request.wire_id, "rule-0")
    response = {"behavior": "allow", "updatedInput": INPUT, "updatedPermissions": [RULE]}
    assert answer == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "k1", "response": response},
    }


def test_an_option_that_was_not_offered_decides_nothing() -> None:
    talker, request = asked("rpc")
    assert talker.answer(request.wire_id, "acceptForSession") == [
        {"id": "k1", "result": {"decision": "cancel"}}
    ]


@pytest.mark.parametrize("key", [0, 7, "0", "a b"])
def test_an_id_is_given_back_as_it_came(key: Any) -> None:
    talker, request = asked("rpc", key)
    (answer,) = talker.answer(request.wire_id, "accept")
    assert answer["id"] == key
    assert type(answer["id"]) is type(key)


def test_a_number_and_its_text_are_two_requests() -> None:
    talker, first = asked("rpc", 0)
    (second,) = [one for one in talker.feed(asks("rpc", "0")) if isinstance(one, PermissionRequested)]
    assert first.wire_id != second.wire_id


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_a_second_request_under_the_same_id_is_a_fault(dialect: str) -> None:
    talker, request = asked(dialect)
    (fault,) = talker.feed(asks(dialect, "k1"))
    assert getattr(fault, "code", "") == "bad_message"
    assert len(talker.answer(request.wire_id, None)) == 1


@pytest.mark.parametrize("key", [None, True, [], {}])
def test_a_request_that_could_not_be_answered_is_told_and_not_asked(key: Any) -> None:
    talker = opened("control")
    said = talker.feed(asks("control", key))
    assert not [one for one in said if isinstance(one, PermissionRequested)]
    assert getattr(said[0], "code", "") == "bad_message"
    assert len(talker.written) == 1


@pytest.mark.requirement("H-B14")
@pytest.mark.parametrize(
    ("dialect", "request_", "answer"),
    [
        (
            "rpc",
            {"method": "item/tool/requestUserInput", "id": 3, "params": {}},
            {"id": 3, "error": {"code": -32601, "message": "Method not found"}},
        ),
        (
            "command",
            {"type": "extension_ui_request", "id": "u", "method": "input", "title": "?"},
            {"type": "extension_ui_response", "id": "u", "cancelled": True},
        ),
        (
            "control",
            {"type": "control_request", "request_id": "u", "request": {"subtype": "new_thing"}},
            {
                "type": "control_response",
                "response": {"subtype": "error", "request_id": "u", "error": "Not supported"},
            },
        ),
    ],
)
def test_a_request_that_nobody_serves_is_answered_at_once(dialect: str, request_: Json, answer: Json) -> None:
    talker = opened(dialect)
    (unknown,) = talker.feed(request_)
    assert isinstance(unknown, UnknownMessage)
    assert unknown.answered
    assert talker.written[-1] == answer


def test_what_wants_no_answer_gets_none() -> None:
    talker = opened("command")
    before = len(talker.written)
    assert talker.feed({"type": "extension_ui_request", "id": "n", "method": "notify", "message": "x"}) == []
    assert len(talker.written) == before


def test_a_withdrawn_request_is_closed_and_not_answered() -> None:
    talker, request = asked("control")
    said = talker.feed({"type": "control_cancel_request", "request_id": "k1"})
    assert said == [PermissionWithdrawn(wire_id=request.wire_id)]
    assert talker.answer(request.wire_id, "allow") == []
    assert talker.feed({"type": "control_cancel_request", "request_id": "k1"}) == []


def test_a_request_that_we_answered_is_not_withdrawn_when_it_is_resolved() -> None:
    talker, request = asked("rpc", 0)
    talker.answer(request.wire_id, "accept")
    assert (
        talker.feed({"method": "serverRequest/resolved", "params": {"threadId": SESSION, "requestId": 0}})
        == []
    )


def test_the_choices_of_an_extension_are_of_no_kind_that_a_posture_could_choose() -> None:
    talker = opened("command")
    record = {
        "type": "extension_ui_request",
        "id": "s",
        "method": "select",
        "title": "?",
        "options": ["A", "B", "A"],
    }
    (request,) = talker.feed(record)
    assert isinstance(request, PermissionRequested)
    assert offers(request) == [("A", "other"), ("B", "other")]
    assert all(one.kind is OptionKind.OTHER for one in request.options)
    assert talker.answer(request.wire_id, "B") == [{"type": "extension_ui_response", "id": "s", "value": "B"}]


def test_a_request_that_says_little_is_completed_by_what_was_said_of_its_call() -> None:
    talker = opened("rpc")
    talker.prompt()
    item = {"type": "fileChange", "id": "c9", "changes": [{"path": "a.txt"}], "status": "inProgress"}
    talker.feed({"method": "item/started", "params": {"threadId": SESSION, "item": item}})
    record = {
        "method": "item/fileChange/requestApproval",
        "id": 1,
        "params": {"itemId": "c9", "threadId": SESSION},
    }
    (request,) = [one for one in talker.feed(record) if isinstance(one, PermissionRequested)]
    assert (request.tool_call.title, request.tool_call.kind) == ("a.txt", "edit")
    assert request.tool_call.raw_input == [{"path": "a.txt"}]


def test_what_a_subagent_asks_is_asked_and_is_no_witness_of_our_turn() -> None:
    talker = opened("rpc")
    talker.prompt()
    record = asks("rpc", 1)
    record["params"]["threadId"] = "sub"
    (request,) = talker.feed(record)
    assert isinstance(request, PermissionRequested)
    assert len(talker.answer(request.wire_id, "accept")) == 1


def test_odd_options_break_nothing() -> None:
    talker = opened("rpc")
    decisions: list[Any] = [
        None,
        5,
        [],
        {},
        "accept",
        {"accept": 1},
        ["x"],
        *(f"o{one}" for one in range(99)),
    ]
    record = asks("rpc", 1)
    record["params"]["availableDecisions"] = decisions
    (request,) = [one for one in talker.feed(record) if isinstance(one, PermissionRequested)]
    assert len(request.options) == 50
    assert len({one.id for one in request.options}) == 50
