"""Requests on the command line: what is asked of the daemon, and what people read."""

from __future__ import annotations

from typing import Any

from support.program import inspan
from support.scripted_http import Answer, ScriptedHttp

ATTEMPT: dict[str, Any] = {
    "delivery": "d_1",
    "seat": "first",
    "state": "started",
    "outcome": "limited",
    "is_over": True,
    "error": {"code": "limited", "message": "no more today"},
}
REQUEST: dict[str, Any] = {
    "id": "fix-login",
    "status": "waiting",
    "opened_at": "2026-11-30T12:00:00Z",
    "attempts": [ATTEMPT],
    "hint": "`inspan handoff fix-login SEAT` goes on in a seat.",
}


def test_a_prompt_names_its_request(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats/first/prompts", {"id": "d_1", "state": "queued"})

    inspan("send", "first", "--request", "fix-login", "Fix it.")
    inspan("send", "first", "Fix it.")

    first, second = daemon.bodies("POST", "/v1/seats/first/prompts")
    assert first["request"] == "fix-login"
    assert "request" not in second


def test_a_request_shows_every_attempt_with_what_became_of_it_and_what_to_do_next(
    daemon: ScriptedHttp,
) -> None:
    handoff = {"from_seat": "first", "to_seat": "second", "error": {"message": "There is no seat."}}
    daemon.on("GET", "/v1/requests/fix-login", {**REQUEST, "handoffs": [handoff]})

    shown = inspan("requests", "fix-login")

    assert "fix-login  waiting" in shown.out
    assert "attempt 1: first  limited" in shown.out
    assert "no more today" in shown.out
    assert "first to second  refused: There is no seat." in shown.out
    assert "next: `inspan handoff fix-login SEAT`" in shown.err


def test_requests_are_listed_the_settled_ones_on_request(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/requests", [REQUEST])

    listed = inspan("requests", "--all")
    printed = inspan("--json", "requests")

    assert "first: limited" in listed.out
    assert printed.value == [REQUEST]
    assert [one.query for one in daemon.requests] == [{"all": "true"}, {"all": "false"}]


def test_a_handoff_and_a_close_say_what_they_were_told(daemon: ScriptedHttp) -> None:
    settled = {**REQUEST, "status": "settled", "outcome": "limited", "hint": ""}
    daemon.on("POST", "/v1/requests/fix-login/handoff", REQUEST)
    daemon.on("POST", "/v1/requests/fix-login/settle", settled)

    inspan("handoff", "fix-login", "second", "--text", "Go on.", "--cancel")
    closed = inspan("requests", "fix-login", "--settle")

    assert daemon.bodies("POST", "/v1/requests/fix-login/handoff") == [
        {"seat": "second", "text": "Go on.", "cancel": True}
    ]
    assert "fix-login  limited" in closed.out
    assert inspan("requests", "--settle").status == 2


def test_a_settled_request_is_a_conflict(daemon: ScriptedHttp) -> None:
    error: dict[str, Any] = {
        "code": "request_settled",
        "group": "usage",
        "message": "no",
        "hint": "",
        "detail": {},
    }
    daemon.on("POST", "/v1/requests/r/handoff", Answer(409, {"error": error}))

    assert inspan("handoff", "r", "second").status == 4
