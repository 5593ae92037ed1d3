"""Forks, settings, sessions and forms on the command line: what is asked of the daemon, and what people read."""

from __future__ import annotations

from typing import Any

import pytest

from support.program import inspan
from support.scripted_http import Answer, ScriptedHttp

SEAT: dict[str, Any] = {"name": "review", "harness": "h", "status": "idle"}
QUESTION: dict[str, Any] = {
    "id": "q_1",
    "seat": "review",
    "message": "Which branch?",
    "opened_at": "2026-11-30T12:00:00Z",
    "fields": [{"name": "branch", "kind": "choice", "choices": [{"value": "main"}]}],
}


def refusal(code: str) -> Answer:
    return Answer(404, {"error": {"code": code, "group": "usage", "message": "no", "hint": "", "detail": {}}})


def test_settings_are_sent_as_they_were_given(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats/review/settings", SEAT)

    inspan("seat", "set", "review", "--option", "effort=a=b", "--option", "fast=true", "--model", "large")
    inspan("seat", "set", "review", "--reset")

    assert daemon.bodies("POST", "/v1/seats/review/settings") == [
        {"options": {"effort": "a=b", "fast": "true"}, "model": "large", "reset": False},
        {"reset": True},
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["seat", "set", "review"],
        ["seat", "set", "review", "--option", "effort"],
        ["answer", "review", "--field", "branch"],
        ["answer", "review", "--field", "branch=main", "--decline"],
    ],
)
def test_words_that_say_nothing_are_refused_before_the_daemon_is_asked(
    daemon: ScriptedHttp, words: list[str]
) -> None:
    result = inspan(*words)

    assert result.status == 2
    assert "next:" in result.err
    assert daemon.requests == []


def test_what_was_asked_for_stands_beside_what_is_in_force(daemon: ScriptedHttp) -> None:
    settings = [
        {"name": "model", "wanted": "large", "effective": "large", "status": "effective"},
        {"name": "session mode", "wanted": "plan", "status": "accepted"},
        {
            "name": "effort",
            "wanted": "max",
            "effective": "low",
            "status": "refused",
            "error": {"message": "no"},
        },
    ]
    offered = [
        {"id": "model", "values": [f"m{number}" for number in range(14)], "omitted": 3},
        {"id": "fast", "kind": "boolean"},
    ]
    session = {"settings": settings, "offered_modes": ["ask", "plan"], "offered_options": offered}
    daemon.on("GET", "/v1/seats/review", {**SEAT, "session": session})

    out = inspan("seat", "show", "review").out

    assert "large  in force" in out
    assert "plan asked for (accepted), in force: unknown" in out
    assert "max  refused  no" in out
    assert "ask, plan" in out
    assert "m11 and 5 more; fast: boolean" in out


def test_a_seat_that_waits_for_a_form_names_the_command_that_fills_it_in(daemon: ScriptedHttp) -> None:
    need = {"kind": "question", "summary": "Which branch?", "request": "q_1"}
    daemon.on("GET", "/v1/seats/review", {**SEAT, "needs_input": [need]})

    out = inspan("seat", "show", "review").out

    assert "inspan answer q_1 --field NAME=VALUE" in out
    assert "inspan answer q_1 --decline" in out


def test_a_page_of_sessions_names_the_next_one(daemon: ScriptedHttp) -> None:
    page = {"sessions": [{"id": "s_1"}], "next_page": "7", "omitted": 2}
    daemon.on("GET", "/v1/seats/review/sessions", page)

    result = inspan("session", "list", "review", "--page", "6", "--workspace", "/w")

    assert "s_1" in result.out
    assert "inspan session list review --page 7" in result.err
    assert "2 " in result.err
    (asked,) = daemon.requests
    assert asked.query == {"page": "6", "workspace": "/w"}


def test_a_session_is_chosen_at_the_start(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats/review/start", SEAT)

    inspan("start", "review", "--session", "s_1")

    assert daemon.bodies("POST", "/v1/seats/review/start") == [{"fresh": False, "session": "s_1"}]


def test_a_form_is_filled_in_by_its_id_or_by_the_name_of_its_seat(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/questions/q_1", QUESTION)
    daemon.on("GET", "/v1/questions/review", refusal("unknown_question"))
    daemon.on("GET", "/v1/seats/review", SEAT)
    daemon.on("GET", "/v1/questions", [QUESTION])
    daemon.on("POST", "/v1/questions/q_1/answer", {**QUESTION, "action": "accept"})

    inspan("answer", "q_1", "--field", "branch=main", "--reason", "it is")
    result = inspan("answer", "review", "--decline")

    assert result.status == 0
    assert daemon.bodies("POST", "/v1/questions/q_1/answer") == [
        {"action": "accept", "reason": "it is", "fields": {"branch": "main"}},
        {"action": "decline", "reason": "", "seat": "review"},
    ]


def test_a_seat_that_asks_nothing_or_more_than_one_thing_is_named(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/questions/review", refusal("unknown_question"))
    daemon.on("GET", "/v1/seats/review", SEAT)
    daemon.on("GET", "/v1/questions", [])
    nothing = inspan("answer", "review", "--decline")
    daemon.on("GET", "/v1/questions", [QUESTION, {**QUESTION, "id": "q_2"}])
    several = inspan("answer", "review", "--decline")

    assert "asks nothing" in nothing.err
    assert "q_1" in several.err
    assert "q_2" in several.err
