import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from support.program import inspan, inspan_process
from support.scripted_http import Request, ScriptedHttp, failure
from support.scripted_turn import ScriptedTurn

DEADLINE_S = 20.0
SENDING: tuple[str, dict[str, Any]] = ("delivery_sending", {})
HELLO: tuple[str, dict[str, Any]] = (
    "message_chunk",
    {"role": "agent", "text": "Hello \x1b[31mthere", "message_id": "m1"},
)
ASKS: tuple[str, dict[str, Any]] = (
    "permission_opened",
    {
        "request": "p_1",
        "tool_call": {"id": "c", "title": "Run ls", "kind": "execute", "raw_input": {"command": "ls"}},
        "options": [
            {"id": "once", "name": "Yes", "kind": "allow_once", "raw_kind": "allow_once"},
            {"id": "no", "name": "No way", "kind": "reject_once", "raw_kind": "reject_once"},
        ],
    },
)


def _ended(outcome: str) -> tuple[str, dict[str, Any]]:
    return ("turn_ended", {"turn": "t_1", "outcome": outcome, "raw_reason": "end_turn"})


def _until(condition: Callable[[], object], process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        if process is not None:
            assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("completed", 0), ("refused", 10), ("limited", 11), ("cancelled", 12), ("failed", 13), ("lost", 14)],
)
def test_the_outcome_of_the_turn_is_the_exit_status(daemon: ScriptedHttp, outcome: str, status: int) -> None:
    ScriptedTurn(daemon, SENDING, HELLO, _ended(outcome))

    result = inspan("run", "--seat", "review", "hello")

    assert result.status == status
    assert "Hello \\x1b[31mthere" in result.out
    assert "NOT OURS" not in result.out
    assert result.err.startswith(f"turn {outcome}")


def test_for_programs_there_is_one_value_at_the_end(daemon: ScriptedHttp) -> None:
    more = ("message_chunk", {"role": "agent", "text": "again", "message_id": "m2"})
    thought = ("message_chunk", {"role": "thought", "text": "hm", "message_id": "m3"})
    ScriptedTurn(daemon, SENDING, HELLO, thought, more, _ended("completed"))

    result = inspan("--json", "send", "review", "--wait", "hello")

    assert (result.status, result.err) == (0, "")
    assert result.value["text"] == "Hello \x1b[31mthere\n\nagain"
    assert result.value["turn"] == {"id": "t_1", "outcome": "completed"}
    assert result.value["exit_status"] == 0


@pytest.mark.parametrize(
    ("kind", "status"),
    [("delivery_held", 15), ("delivery_refused", 10), ("delivery_failed", 13), ("delivery_unknown", 14)],
)
def test_a_prompt_that_gets_no_turn_ends_the_wait_with_its_own_status(
    daemon: ScriptedHttp, kind: str, status: int
) -> None:
    ScriptedTurn(
        daemon, (kind, {"why": "launch_failed", "error": {"code": "launch_failed", "message": "No."}})
    )

    assert inspan("send", "review", "--wait", "hello").status == status


def test_time_that_runs_out_is_told_apart_from_a_person_who_is_waited_for(daemon: ScriptedHttp) -> None:
    turn = ScriptedTurn(daemon, SENDING)
    assert inspan("send", "review", "--wait", "--timeout", "0.2", "hello").status == 16

    turn.story = [SENDING, ASKS]
    result = inspan("send", "review", "--wait", "--timeout", "0.5", "hello")

    assert result.status == 15
    assert "inspan approve p_1" in result.out
    assert "inspan approve p_1" in result.err
    assert "time ran out while a person owes an answer" in result.err


def test_time_that_runs_out_is_said_with_what_goes_on(daemon: ScriptedHttp) -> None:
    ScriptedTurn(daemon, SENDING)

    result = inspan("send", "review", "--wait", "--timeout", "0.2", "hello")

    assert "  time ran out; it goes on: `inspan watch review`" in result.err.splitlines()


NOT_INSTALLED = {"code": "not_installed", "message": "It is not installed.", "hint": "Install it."}


def test_what_kept_a_prompt_from_its_turn_is_said_once_with_each_next_step(daemon: ScriptedHttp) -> None:
    turn = ScriptedTurn(
        daemon,
        ("launch_ended", {"reason": "never_started", "error": NOT_INSTALLED}),
        ("delivery_held", {"why": "launch_failed", "error": NOT_INSTALLED}),
    )
    held = {"held": "launch_failed", "hint": "`inspan start review` sends it."}
    daemon.on("POST", "/v1/seats/review/prompts", _with(turn, daemon, **held))

    result = inspan("send", "review", "--wait", "hello")
    said = (result.out + result.err).splitlines()

    assert result.status == 15
    assert sum("It is not installed." in line for line in said) == 1
    assert [line for line in said if "next:" in line] == [
        "  next: Install it.",
        "  next: `inspan start review` sends it.",
    ]
    assert sum("prompt held" in line for line in said) == 1


def test_an_error_that_ended_a_turn_is_said_once(daemon: ScriptedHttp) -> None:
    error = {"code": "harness_exited", "message": "The harness exited.", "hint": "Look at it."}
    ended = ("turn_ended", {"turn": "t_1", "outcome": "failed", "error": error})
    ScriptedTurn(daemon, SENDING, ended)
    daemon.on("GET", "/v1/turns/t_1", {"id": "t_1", "outcome": "failed", "error": error})

    result = inspan("send", "review", "--wait", "hello")

    assert result.out == ""
    assert result.err.splitlines() == ["turn failed  t_1", "  The harness exited.", "  next: Look at it."]


def test_an_error_that_only_an_event_told_is_not_lost(daemon: ScriptedHttp) -> None:
    ScriptedTurn(
        daemon,
        ("launch_ended", {"reason": "failed", "error": NOT_INSTALLED}),
        ("delivery_held", {"why": "launch_failed"}),
    )

    assert "  It is not installed." in inspan("send", "review", "--wait", "hello").err.splitlines()


def test_how_a_turn_ended_is_said_once_with_its_tokens(daemon: ScriptedHttp) -> None:
    ScriptedTurn(daemon, SENDING, HELLO, _ended("completed"))
    usage = {"total_tokens": 1, "kind": "turn"}
    view = {"id": "t_1", "outcome": "completed", "raw_reason": "end_turn", "usage": usage}
    daemon.on("GET", "/v1/turns/t_1", view)

    result = inspan("run", "--seat", "review", "hello")

    assert result.err.splitlines() == ["turn completed (end_turn)  1 token, counted per turn  t_1"]
    assert "turn" not in result.out


@pytest.mark.parametrize(("ahead", "words"), [(1, "after 1 other prompt"), (2, "after 2 other prompts")])
def test_the_prompts_ahead_are_counted_in_words(daemon: ScriptedHttp, ahead: int, words: str) -> None:
    turn = ScriptedTurn(daemon, SENDING, _ended("completed"))
    daemon.on("POST", "/v1/seats/review/prompts", _with(turn, daemon, ahead=ahead))

    for options in ([], ["--wait"]):
        assert words in inspan("send", "review", *options, "hello").out.splitlines()[0]


def test_a_prompt_that_ended_before_is_read_back_and_not_waited_for(daemon: ScriptedHttp) -> None:
    over = {"id": "x", "seat": "review", "state": "started", "turn": "t_1", "turn_outcome": "limited"}
    daemon.on("POST", "/v1/seats/review/prompts", over)
    daemon.on("GET", "/v1/turns/t_1", {"id": "t_1", "outcome": "limited"})

    assert inspan("send", "review", "--id", "x", "--wait", "hello").status == 11
    assert daemon.streams == []


@pytest.mark.parametrize("is_over_at_once", [False, True])
def test_a_prompt_that_died_with_its_harness_while_it_was_sent_has_no_turn_and_its_own_status(
    daemon: ScriptedHttp, is_over_at_once: bool
) -> None:
    error = {"code": "harness_gone", "message": "It is gone."}
    ScriptedTurn(daemon, SENDING, ("delivery_unknown", {"why": "launch_ended", "error": error}))
    daemon.fail("GET", "/v1/turns/t_1", "unknown_turn", status=404)
    if is_over_at_once:
        over = {"id": "x", "seat": "review", "state": "unknown", "turn": "t_1"}
        daemon.on("POST", "/v1/seats/review/prompts", over)

    told = inspan("--json", "send", "review", "--id", "x", "--wait", "hello")

    assert told.status == 14
    assert told.value["turn"] is None
    assert told.value["delivery"]["state"] == "unknown"


def test_the_wait_goes_on_where_the_stream_was_cut(daemon: ScriptedHttp) -> None:
    ScriptedTurn(daemon, SENDING, HELLO, _ended("completed"))
    for position in (11, 13):
        daemon.end_stream_after(position, "break")

    result = inspan("run", "--seat", "review", "hello")

    assert result.status == 0
    assert result.out.count("Hello") == 1
    assert len(daemon.streams) == 3


def test_a_seat_that_was_made_for_the_prompt_is_removed_and_one_that_was_there_stays(
    daemon: ScriptedHttp,
) -> None:
    daemon.fail("GET", "/v1/seats/new", "unknown_seat", status=404)
    ScriptedTurn(daemon, SENDING, _ended("completed"), seat="new")
    daemon.fail("GET", "/v1/seats/new", "unknown_seat", status=404)
    daemon.on("POST", "/v1/seats", {"name": "new", "harness": "h", "scripted": True})
    daemon.on("DELETE", "/v1/seats/new", {"name": "new"})

    gone = inspan("--json", "run", "--harness", "h", "--seat", "new", "hello")
    kept = inspan("--json", "run", "--harness", "h", "--seat", "new", "--keep", "hello")

    assert (gone.value["seat_kept"], kept.value["seat_kept"]) == (False, True)
    removals = [one.query for one in daemon.requests if one.method == "DELETE"]
    assert removals == [{"stop": "true", "delete_config": "true"}]


def test_a_seat_whose_prompt_waits_for_a_person_is_kept(daemon: ScriptedHttp) -> None:
    ScriptedTurn(daemon, ("delivery_held", {"why": "launch_failed"}), seat="new")
    daemon.fail("GET", "/v1/seats/new", "unknown_seat", status=404)
    daemon.on("POST", "/v1/seats", {"name": "new", "harness": "h"})

    result = inspan("run", "--harness", "h", "--seat", "new", "hello")

    assert result.status == 15
    assert "inspan seat remove new --stop" in result.err


def test_a_seat_on_another_harness_is_not_used(daemon: ScriptedHttp) -> None:
    ScriptedTurn(daemon)

    result = inspan("run", "--seat", "review", "--harness", "other", "hello")

    assert result.status == 2
    assert daemon.bodies("POST", "/v1/seats/review/prompts") == []


def test_without_a_harness_the_known_ones_are_named(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/harnesses", [{"id": "one"}, {"id": "two"}])

    assert "one, two" in inspan("run", "hello").err


def test_the_first_interrupt_cancels_and_the_turn_s_own_end_counts(daemon: ScriptedHttp) -> None:
    turn = ScriptedTurn(daemon, SENDING, HELLO)

    def cancel(_: Request) -> dict[str, Any]:
        turn.end("cancelled")
        return {}

    daemon.on("POST", "/v1/seats/review/cancel", cancel)
    process = inspan_process("send", "review", "--wait", "hello")
    try:
        _until(lambda: turn.delivery.get("turn") and daemon.streams, process)
        assert process.stdout is not None
        _until(lambda: b"there" in _read(process), process)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 12
    assert error.startswith(b"turn cancelled")


def test_a_second_interrupt_leaves_and_the_turn_goes_on(daemon: ScriptedHttp) -> None:
    turn = ScriptedTurn(daemon, SENDING, HELLO)
    daemon.on("POST", "/v1/seats/review/cancel", {})
    process = inspan_process("send", "review", "--wait", "hello")
    try:
        _until(lambda: b"there" in _read(process), process)
        process.send_signal(signal.SIGINT)
        _until(lambda: daemon.bodies("POST", "/v1/seats/review/cancel"), process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 130
    assert len(daemon.bodies("POST", "/v1/seats/review/cancel")) == 1
    assert "turn_outcome" not in turn.delivery


def test_an_interrupt_before_the_turn_takes_the_prompt_out_of_the_queue(daemon: ScriptedHttp) -> None:
    turn = ScriptedTurn(
        daemon, ("launch_requested", {"attempt": "fresh"}), ("launch_starting", {"program": "p"})
    )
    process = inspan_process("send", "review", "--wait", "hello")
    try:
        _until(lambda: b"starting" in _read(process), process)

        def withdraw(_: Request) -> dict[str, Any]:
            turn.tell("delivery_refused", error={"message": "Withdrawn."})
            return {}

        daemon.on("DELETE", f"/v1/deliveries/{turn.delivery['id']}", withdraw)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 10


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (b"a\n", {"decision": "allow", "seat": "review"}),
        (b"nonsense\nd\n", {"decision": "deny", "seat": "review"}),
        (b"2\n", {"decision": "deny", "option": "no", "seat": "review"}),
        (b"9\n1\n", {"decision": "allow", "option": "once", "seat": "review"}),
    ],
)
def test_a_person_at_the_terminal_is_asked_and_answers(
    daemon: ScriptedHttp, typed: bytes, answer: dict[str, str]
) -> None:
    turn = ScriptedTurn(daemon, SENDING, ASKS)

    def take(request: Any) -> dict[str, str]:
        turn.tell("permission_answered", request="p_1", decision=request.body["decision"], by="operator")
        turn.end("completed")
        return {"id": "p_1"}

    daemon.on("POST", "/v1/permissions/p_1/answer", take)
    with _terminal("send", "review", "--wait", "hello") as (handle, process):
        shown = _expect(handle, b"Ctrl-C cancels")
        os.write(handle, typed)
        shown += _expect(handle, b"completed")
        status = process.wait(timeout=DEADLINE_S)

    assert status == 0
    assert shown.count(b"Run ls") == (2 if len(typed.splitlines()) == 2 else 1)
    assert b"asks:" not in shown
    assert b"by you" in shown
    assert b"operator" not in shown
    assert b"No way" in shown
    assert b'{"command": "ls"}' in shown
    assert daemon.bodies("POST", "/v1/permissions/p_1/answer") == [answer]


def test_a_question_that_somebody_else_answered_is_dropped(daemon: ScriptedHttp) -> None:
    turn = ScriptedTurn(daemon, SENDING, ASKS)
    with _terminal("send", "review", "--wait", "hello") as (handle, process):
        _expect(handle, b"Ctrl-C cancels")
        turn.tell("permission_answered", request="p_1", decision="allow", by="operator", option_name="Yes")
        _expect(handle, b"by an operator")
        os.write(handle, b"d\n")
        turn.end("completed")
        _expect(handle, b"completed")
        status = process.wait(timeout=DEADLINE_S)

    assert status == 0
    assert daemon.bodies("POST", "/v1/permissions/p_1/answer") == []


def test_an_answer_that_came_too_late_is_said_and_the_wait_goes_on(daemon: ScriptedHttp) -> None:
    turn = ScriptedTurn(daemon, SENDING, ASKS)
    daemon.on("POST", "/v1/permissions/p_1/answer", failure("permission_closed"))
    with _terminal("send", "review", "--wait", "hello") as (handle, process):
        _expect(handle, b"Ctrl-C cancels")
        os.write(handle, b"a\n")
        _expect(handle, b"It is permission_closed.")
        turn.end("completed")
        _expect(handle, b"completed")
        status = process.wait(timeout=DEADLINE_S)

    assert status == 0


def test_a_reader_that_leaves_ends_the_program_without_a_word(daemon: ScriptedHttp) -> None:
    turn = ScriptedTurn(daemon, SENDING, HELLO)
    process = inspan_process("send", "review", "--wait", "hello")
    try:
        _until(lambda: b"there" in _read(process), process)
        assert process.stdout is not None
        process.stdout.close()
        turn.tell("message_chunk", role="agent", text="more\n", message_id="m1")
        assert process.wait(timeout=DEADLINE_S) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _with(turn: ScriptedTurn, daemon: ScriptedHttp, **more: object) -> Callable[[Request], dict[str, Any]]:
    """How `turn` answers a prompt that comes in, with more in the prompt's view."""
    queue = daemon.answers[("POST", "/v1/seats/review/prompts")]

    def answer(request: Request) -> dict[str, Any]:
        view = {**queue(request), **more}
        turn.delivery.update(more)
        return view

    return answer


def _read(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 0)
    return os.read(process.stdout.fileno(), 65536) if ready else b""


@contextlib.contextmanager
def _terminal(*words: str) -> Generator[tuple[int, subprocess.Popen[bytes]]]:
    """A run of the program on a terminal of its own: its handle, and the process."""
    handle, far = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "inspan.cli", *words], stdin=far, stdout=far, stderr=far
    )
    os.close(far)
    try:
        yield handle, process
    finally:
        process.kill()
        process.wait()
        os.close(handle)


def _expect(handle: int, wanted: bytes) -> bytes:
    shown = b""
    deadline = time.monotonic() + DEADLINE_S
    while wanted not in shown:
        ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"waited in vain for {wanted!r} behind {shown!r}"
        shown += os.read(handle, 65536)
    return shown
