import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.program import inspan
from support.scripted_http import Answer, Request, ScriptedHttp

SEAT: dict[str, Any] = {
    "name": "review",
    "harness": "some-harness",
    "harness_name": "Some Harness",
    "mode": "acp",
    "workspace": "/src/app",
    "posture": {"approvals": "ask", "sandbox": "none", "source": "default", "unattended": "person"},
    "status": "needs_input",
    "activity": {"value": "unknown", "source": "core", "rule": "default", "why": "nothing reports it"},
    "session": {"identity": "not_yet", "open": False},
    "usage": {"status": "not_yet"},
    "needs_input": [
        {"kind": "permission", "summary": "Run \x1b[31mrm -rf\x1b[0m", "source": "protocol", "request": "p_1"}
    ],
    "queue": [
        {
            "id": "d_2",
            "seat": "review",
            "state": "queued",
            "queued_at": "2026-11-30T12:00:00Z",
            "text": "later",
        }
    ],
}
PERMISSION: dict[str, Any] = {
    "id": "p_1",
    "seat": "review",
    "opened_at": "2026-11-30T12:00:00Z",
    "tool_call": {"id": "c1", "title": "Run \x1b]0;ls\x07"},
    "options": [{"id": "y", "name": "Yes", "kind": "allow_once", "raw_kind": "allow_once"}],
}


def answering(answers: Iterator[object]) -> Callable[[Request], object]:
    """One answer after the other."""
    return lambda _: next(answers)


ANSWERED: list[tuple[list[str], str, str, Any]] = [
    (["seat", "list"], "GET", "/v1/seats", [SEAT]),
    (["seat", "show", "review"], "GET", "/v1/seats/review", SEAT),
    (["seat", "remove", "review"], "DELETE", "/v1/seats/review", SEAT),
    (["start", "review"], "POST", "/v1/seats/review/start", SEAT),
    (["stop", "review"], "POST", "/v1/seats/review/stop", SEAT),
    (["cancel", "review"], "POST", "/v1/seats/review/cancel", SEAT),
    (["harness", "list"], "GET", "/v1/harnesses", [{"id": "some-harness", "name": "Some", "modes": []}]),
    (["harness", "show", "some-harness"], "GET", "/v1/harnesses/some-harness", {"id": "some-harness"}),
    (
        ["harness", "probe", "some-harness"],
        "POST",
        "/v1/harnesses/some-harness/probe",
        {"harness": "some-harness", "installed": "yes"},
    ),
    (["deliveries", "review"], "GET", "/v1/seats/review/deliveries", SEAT["queue"]),
    (["delivery", "show", "d_2"], "GET", "/v1/deliveries/d_2", SEAT["queue"][0]),
    (["delivery", "withdraw", "d_2"], "DELETE", "/v1/deliveries/d_2", SEAT["queue"][0]),
    (
        ["turns", "review"],
        "GET",
        "/v1/seats/review/turns",
        [{"id": "t_1", "begun_at": "2026-11-30T12:00:00Z"}],
    ),
    (["explain", "review"], "GET", "/v1/seats/review/explain", {"seat": "review", "evidence": []}),
    (["permissions"], "GET", "/v1/permissions", [PERMISSION]),
    (["store", "check"], "POST", "/v1/store/check", {"ok": True, "events": 3, "last_position": 3}),
    (["store", "rebuild"], "POST", "/v1/store/rebuild", {"ok": True, "events": 3, "last_position": 3}),
    (["daemon", "status"], "GET", "/v1/status", {"pid": 7, "version": "0.1.0", "api": 1}),
    (["send", "review", "hello"], "POST", "/v1/seats/review/prompts", SEAT["queue"][0]),
]


@pytest.mark.parametrize(
    ("words", "method", "path", "value"), ANSWERED, ids=["-".join(words) for words, *_ in ANSWERED]
)
def test_a_command_prints_what_the_daemon_answers_for_programs_and_for_people(
    daemon: ScriptedHttp, words: list[str], method: str, path: str, value: Any
) -> None:
    daemon.on(method, path, value)

    as_json = inspan("--json", *words)
    for_people = inspan(*words)

    assert (as_json.status, as_json.err) == (0, "")
    assert as_json.value == value
    assert for_people.status == 0
    assert for_people.out.strip()
    assert "\x1b" not in for_people.out + for_people.err


def test_every_word_of_a_seat_s_state_is_shown_and_unknown_stays_unknown(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/seats/review", SEAT)

    out = inspan("seat", "show", "review").out

    assert "needs_input" in out
    assert "unknown" in out
    assert "nothing reports it" in out
    assert "not_yet" in out
    assert "inspan approve p_1" in out
    assert "Run \\x1b[31mrm -rf\\x1b[0m" in out


@pytest.mark.requirement("H-A54")
def test_a_scripted_harness_is_labelled_wherever_it_shows(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/seats", [{**SEAT, "scripted": True}])
    daemon.on("GET", "/v1/seats/review", {**SEAT, "scripted": True})
    daemon.on("GET", "/v1/harnesses", [{"id": "h", "name": "H", "scripted": True}])
    daemon.on("GET", "/v1/harnesses/h", {"id": "h", "name": "H", "scripted": True})

    for words in (
        ["seat", "list"],
        ["seat", "show", "review"],
        ["harness", "list"],
        ["harness", "show", "h"],
    ):
        assert "scripted" in inspan(*words).out


def test_a_seat_is_added_with_what_was_said_and_nothing_else(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats", Answer(201, SEAT))

    inspan("seat", "add", "review", "--harness", "h", "--workspace", "/tmp")
    inspan(
        *["seat", "add", "review", "--harness", "h", "--workspace", "/tmp", "--approvals", "edits"],
        *["--permission-timeout", "none", "--env", "A=b=c", "--model", "m", "--mode", "acp"],
    )

    plain, full = daemon.bodies("POST", "/v1/seats")
    assert plain == {"name": "review", "harness": "h", "workspace": "/tmp"}
    assert full == {
        **plain,
        "posture": {"approvals": "edits", "permission_timeout_s": None, "source": "operator"},
        "environment": {"A": "b=c"},
        "model": "m",
        "mode": "acp",
    }


def test_an_answer_goes_to_the_only_request_of_a_seat_and_names_the_seat(daemon: ScriptedHttp) -> None:
    daemon.fail("GET", "/v1/permissions/review", "unknown_permission", status=404)
    daemon.on("GET", "/v1/seats/review", SEAT)
    daemon.on("GET", "/v1/permissions", [PERMISSION])
    daemon.on("POST", "/v1/permissions/p_1/answer", {**PERMISSION, "decision": "deny", "option_name": "No"})

    result = inspan("deny", "review", "--reason", "not now")

    assert result.status == 0
    assert daemon.bodies("POST", "/v1/permissions/p_1/answer") == [
        {"decision": "deny", "always": False, "reason": "not now", "seat": "review"}
    ]


def test_an_answer_to_a_seat_with_several_requests_lists_them(daemon: ScriptedHttp) -> None:
    daemon.fail("GET", "/v1/permissions/review", "unknown_permission", status=404)
    daemon.on("GET", "/v1/seats/review", SEAT)
    daemon.on("GET", "/v1/permissions", [PERMISSION, {**PERMISSION, "id": "p_2"}])

    result = inspan("--json", "approve", "review")

    assert result.status == 2
    assert result.value["error"]["detail"] == {"requests": ["p_1", "p_2"]}


def test_an_answer_to_nobody_and_to_a_quiet_seat_are_told_apart(daemon: ScriptedHttp) -> None:
    daemon.fail("GET", "/v1/permissions/review", "unknown_permission", status=404)
    daemon.fail("GET", "/v1/permissions/nobody", "unknown_permission", status=404)
    daemon.fail("GET", "/v1/seats/nobody", "unknown_seat", status=404)
    daemon.on("GET", "/v1/seats/review", SEAT)
    daemon.on("GET", "/v1/permissions", [])

    assert inspan("approve", "nobody").status == 3
    assert inspan("approve", "review").status == 4


@pytest.mark.parametrize(
    ("code", "group", "status"),
    [("permission_closed", "usage", 4), ("unknown_seat", "usage", 3), ("store_full", "store", 21)],
)
def test_an_error_says_the_fact_and_the_next_step_and_sets_the_status(
    daemon: ScriptedHttp, code: str, group: str, status: int
) -> None:
    daemon.fail("GET", "/v1/seats", code, group=group)

    for_people, as_json = inspan("seat", "list"), inspan("seat", "list", "--json")

    assert for_people.status == as_json.status == status
    assert for_people.out == ""
    assert for_people.err.splitlines() == [f"inspan: It is {code}.", "  next: Do this."]
    assert as_json.err == ""
    assert as_json.value["error"]["code"] == code


def test_a_prompt_whose_answer_was_lost_is_asked_for_again_with_the_same_id(daemon: ScriptedHttp) -> None:
    answers = iter([Answer(200, ...), {**SEAT["queue"][0], "id": "d_9"}])
    daemon.on("POST", "/v1/seats/review/prompts", answering(answers))

    assert inspan("send", "review", "hello", "there").status == 0

    first, second = daemon.bodies("POST", "/v1/seats/review/prompts")
    assert first == second
    assert first["text"] == "hello there"
    assert first["id"].startswith("d_")


def test_a_removal_whose_answer_was_lost_is_not_repeated(daemon: ScriptedHttp) -> None:
    daemon.on("DELETE", "/v1/seats/review", Answer(200, ...))

    result = inspan("--json", "seat", "remove", "review")

    assert result.status == 20
    assert result.value["error"]["retry_safe"] is False
    assert len(daemon.requests) == 1


def test_a_daemon_on_its_way_out_is_asked_again(daemon: ScriptedHttp) -> None:
    stopping = {"code": "daemon_stopping", "group": "host", "message": "It stops.", "retry_safe": True}
    answers = iter([Answer(503, {"error": stopping}), [SEAT]])
    daemon.on("GET", "/v1/seats", answering(answers))

    assert inspan("--json", "seat", "list").value == [SEAT]


@pytest.mark.parametrize("words", [["daemon", "status"], ["daemon", "logs"]])
def test_looking_at_the_daemon_starts_none(words: list[str]) -> None:
    result = inspan("--json", *words)

    assert result.status == 20
    assert result.value["error"]["code"] == "daemon_unreachable"


def test_stopping_a_daemon_that_does_not_run_is_no_fault() -> None:
    result = inspan("--json", "daemon", "stop")

    assert (result.status, result.value) == (0, {"was_running": False, "stopped": []})


def test_a_store_that_is_not_well_is_named_and_sets_the_status(daemon: ScriptedHttp) -> None:
    daemon.on(
        "POST", "/v1/store/check", {"ok": False, "events": 1, "last_position": 1, "problems": ["a gap at 7"]}
    )

    result = inspan("store", "check")

    assert result.status == 21
    assert "a gap at 7" in result.out


def test_json_is_one_value_whatever_the_daemon_said(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/seats", Answer(200, json.dumps([{"name": "\ud800", "x": "\u2028\n"}]).encode()))

    result = inspan("--json", "seat", "list")

    assert result.value == [{"name": "\ud800", "x": "\u2028\n"}]
    assert len(result.out.split("\n")) == 2
