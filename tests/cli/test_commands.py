import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from inspan.model.errors import ERROR_CODES
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


SETTING: dict[str, Any] = {"name": "session mode", "wanted": "plan", "status": "accepted"}
QUESTION: dict[str, Any] = {
    "id": "q_1",
    "seat": "review",
    "message": "Which \x1b[31mbranch?",
    "opened_at": "2026-11-30T12:00:00Z",
    "fields": [
        {"name": "branch", "kind": "choice", "is_required": True, "choices": [{"value": "main"}]},
        {"name": "count", "kind": "integer", "title": "How many"},
    ],
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
    (["release", "review"], "POST", "/v1/seats/review/release", SEAT),
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
    (["seat", "fork", "review", "other"], "POST", "/v1/seats/review/fork", {**SEAT, "name": "other"}),
    (
        ["seat", "set", "review", "--session-mode", "plan"],
        "POST",
        "/v1/seats/review/settings",
        {**SEAT, "session": {"settings": [SETTING]}},
    ),
    (
        ["session", "list", "review"],
        "GET",
        "/v1/seats/review/sessions",
        {"seat": "review", "sessions": [{"id": "s_1", "workspace": "/src/app", "title": "\x1b]0;x"}]},
    ),
    (
        ["session", "delete", "review", "s_1"],
        "POST",
        "/v1/seats/review/sessions/delete",
        {"seat": "review", "session": "s_1"},
    ),
    (["questions"], "GET", "/v1/questions", [QUESTION]),
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
        *[
            "--permission-timeout",
            "none",
            "--env",
            "A=b=c",
            "--model",
            "m",
            "--effort",
            "high",
            "--mode",
            "acp",
        ],
    )

    plain, full = daemon.bodies("POST", "/v1/seats")
    assert plain == {"name": "review", "harness": "h", "workspace": "/tmp"}
    assert full == {
        **plain,
        "posture": {"approvals": "edits", "permission_timeout_s": None, "source": "operator"},
        "environment": {"A": "b=c"},
        "model": "m",
        "effort": "high",
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


def test_an_interrupt_has_a_code_that_is_listed() -> None:
    def interrupt(_: object) -> object:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inspan.cli.context.Context.seats", interrupt)
        result = inspan("--json", "seat", "list")

    assert result.status == 130
    assert result.value["error"]["code"] == "interrupted"
    assert "interrupted" in ERROR_CODES


def test_a_seat_on_a_harness_that_cannot_work_is_added_with_a_warning_and_the_next_step(
    daemon: ScriptedHttp,
) -> None:
    problem = {"code": "not_installed", "message": "Some Harness is not installed.", "hint": "Install it."}
    daemon.on("POST", "/v1/seats", Answer(201, {**SEAT, "problem": problem}))

    result = inspan("seat", "add", "review", "--harness", "h", "--workspace", "/tmp")

    assert result.status == 0
    assert result.out == "added review on some-harness\n"
    assert result.err.splitlines() == ["warning: Some Harness is not installed.", "  next: Install it."]


@pytest.mark.parametrize(
    ("state", "outcome", "held", "status"),
    [
        ("queued", None, None, 0),
        ("queued", None, "launch_failed", 0),
        ("held", None, "launch_failed", 0),
        ("started", "failed", None, 0),
        ("refused", None, None, 10),
        ("failed", "limited", None, 11),
        ("failed", None, None, 13),
        ("unknown", "lost", None, 14),
    ],
)
def test_an_id_that_was_sent_before_says_what_became_of_it(
    daemon: ScriptedHttp, state: str, outcome: str | None, held: str | None, status: int
) -> None:
    view = {"id": "x", "seat": "review", "state": state, "error": {"code": "c", "message": "It is so."}}
    view |= {"turn_outcome": outcome} if outcome else {}
    view |= {"held": held} if held else {}
    daemon.on("POST", "/v1/seats/review/prompts", view)

    for_people = inspan("send", "review", "--id", "x", "hello")
    as_json = inspan("--json", "send", "review", "--id", "x", "hello")

    assert for_people.status == as_json.status == status
    assert "It is so." in for_people.err
    assert all(word in for_people.out for word in filter(None, (state, outcome, held)))


def test_a_prompt_that_is_held_until_a_time_says_so_wherever_it_is_shown(daemon: ScriptedHttp) -> None:
    until = "2026-12-05T15:30:00+00:00"
    local = f"{datetime.fromisoformat(until).astimezone():%Y-%m-%d %H:%M}"
    view = {"id": "d_9", "seat": "review", "state": "held", "held": "limited", "held_until": until}
    daemon.on("POST", "/v1/seats/review/prompts", view)
    daemon.on("GET", "/v1/seats/review/deliveries", [view])
    daemon.on("GET", "/v1/deliveries/d_9", view)
    daemon.on("GET", "/v1/seats/review", {**SEAT, "queue": [view]})

    for words in (
        ["send", "review", "hello"],
        ["deliveries", "review"],
        ["delivery", "show", "d_9"],
        ["seat", "show", "review"],
    ):
        assert f"limited until {local}" in inspan(*words).out, words
    assert inspan("--json", "delivery", "show", "d_9").value["held_until"] == until


def test_a_prompt_that_is_missing_is_asked_for_with_the_ways_to_give_it(
    daemon: ScriptedHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())

    result = inspan("send", "review")

    assert result.status == 2
    assert result.err.splitlines() == [
        "inspan: There is no prompt.",
        "  next: Give it as the last words of the command, or pipe it in: `… < task.md`.",
    ]
    assert daemon.requests == []


@pytest.mark.parametrize(
    ("posture", "words"),
    [
        ({"unattended": "person", "permission_timeout_s": 3600.0}, "are rejected after 1 h"),
        ({"unattended": "person", "permission_timeout_s": 90.0}, "are rejected after 1 min 30 s"),
        ({"unattended": "person", "permission_timeout_s": None}, "wait for ever"),
        ({"unattended": "reject", "permission_timeout_s": 3600.0}, "Inspan rejects every request"),
        ({"unattended": "allow_once", "permission_timeout_s": 3600.0}, "Inspan allows each request once"),
    ],
)
def test_a_posture_says_who_answers_and_what_happens_where_nobody_does(
    daemon: ScriptedHttp, posture: dict[str, Any], words: str
) -> None:
    daemon.on("GET", "/v1/seats/review", {**SEAT, "posture": {**SEAT["posture"], **posture}})

    lines = inspan("seat", "show", "review").out.splitlines()

    [shown] = [line for line in lines if line.startswith("  requests")]
    assert shown.endswith(words)
    assert ("asks a person; unanswered requests" in shown) == (posture["unattended"] == "person")
    assert any(line.endswith("approvals ask, sandbox none (default)") for line in lines)


@pytest.mark.parametrize("position", [None, 7])
def test_evidence_has_a_column_of_events_only_where_one_is_known(
    daemon: ScriptedHttp, position: int | None
) -> None:
    lines: list[dict[str, Any]] = [{"source": "core", "rule": "r", "says": "s", "age_s": 3661.0}]
    if position is not None:
        lines.append({**lines[0], "position": position, "won": True})
    daemon.on("GET", "/v1/seats/review/explain", {"seat": "review", "evidence": lines})

    head, *rows = inspan("explain", "review").out.splitlines()[-1 - len(lines) :]

    assert head.split() == ["WON", "SOURCE", "SAYS", "AGE", *([] if position is None else ["EVENT"]), "RULE"]
    assert "1 h 1 min" in rows[0]
    if position is not None:
        assert rows[1].split()[0] == "yes"
        assert str(position) in rows[1]


def test_a_list_of_harnesses_says_in_one_word_whether_each_is_installed(daemon: ScriptedHttp) -> None:
    daemon.on(
        "GET",
        "/v1/harnesses",
        [
            {"id": "there", "name": "T", "installed": "yes"},
            {"id": "absent", "name": "A", "installed": "no"},
            {"id": "open", "name": "O"},
            {"id": "faulty", "name": "F", "problem": {"message": "Its manifest is wrong."}},
        ],
    )

    result = inspan("harness", "list")

    last = [line.split()[-1] for line in result.out.splitlines()[1:4]]
    assert last == ["yes", "no", "-"]
    assert result.out.rstrip().endswith("Its manifest is wrong.")
    assert result.err.splitlines() == [
        "  next: `inspan harness probe ID` asks one for its version and its sign-in"
    ]


def test_a_probe_of_all_is_a_line_each_and_more_only_where_it_is_asked_for(daemon: ScriptedHttp) -> None:
    problem = {"code": "not_installed", "message": "It is not installed.", "hint": "Install it."}
    daemon.on("GET", "/v1/harnesses", [{"id": f"h{number}"} for number in range(9)])
    for number in range(9):
        absent = {"harness": f"h{number}", "installed": "no", "problems": [problem]}
        daemon.on("POST", f"/v1/harnesses/h{number}/probe", absent)

    short, long = inspan("harness", "probe", "--all"), inspan("harness", "probe", "--all", "-v")

    assert len(short.out.splitlines()) == 1 + 9
    assert len(short.err.splitlines()) == 1
    assert long.out.count("next: Install it.") == 9


def test_a_seat_that_lacks_a_harness_is_offered_those_that_are_installed(daemon: ScriptedHttp) -> None:
    there, absent = {"id": "there", "installed": "yes"}, {"id": "absent", "installed": "no"}
    daemon.on("GET", "/v1/harnesses", [there, absent])
    assert inspan("seat", "add", "x").err.splitlines()[1].endswith("installed here: there.")

    daemon.on("GET", "/v1/harnesses", [absent])
    assert inspan("run", "hello").err.splitlines()[1].endswith("once it is installed: absent.")
