import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from inspan.cli.phrases import phrase
from inspan.model.events import EVENT_VERSIONS
from support.program import inspan, inspan_process
from support.scripted_http import Request, ScriptedHttp, envelope

DEADLINE_S = 20.0
BUSY = {"name": "review", "status": "running", "last_turn": {"id": "t_1"}}
IDLE = {"name": "review", "status": "idle", "last_turn": {"id": "t_1", "outcome": "completed"}}


def _seats(daemon: ScriptedHttp, *views: dict[str, Any]) -> None:
    left: Iterator[dict[str, Any]] = iter(views)
    last = {"view": views[-1]}

    def answer(_: Request) -> dict[str, Any]:
        return next(left, last["view"])

    daemon.on("GET", "/v1/seats/review", answer)


def test_an_idle_seat_is_left_at_once(daemon: ScriptedHttp) -> None:
    _seats(daemon, IDLE)

    assert inspan("watch", "review", "--until", "idle").status == 0


def test_a_seat_is_watched_until_its_turn_has_ended(daemon: ScriptedHttp) -> None:
    _seats(daemon, BUSY, BUSY, IDLE)
    daemon.emit(
        envelope(1, "noise", lines=1), envelope(2, "turn_ended", outcome="completed"), envelope(3, "noise")
    )

    result = inspan("--json", "watch", "review", "--until", "idle")

    assert result.status == 0
    assert [one["position"] for one in result.values][:2] == [1, 2]


def test_the_log_is_shown_before_an_idle_seat_is_left(daemon: ScriptedHttp) -> None:
    _seats(daemon, IDLE)
    daemon.on("GET", "/v1/status", {"last_position": 4})
    daemon.emit(
        envelope(1, "delivery_queued", text="look", delivery="d_1"),
        envelope(2, "turn_ended", outcome="completed"),
        envelope(3, "noise", lines=2),
        envelope(4, "noise", seat="other"),
    )

    result = inspan("--json", "watch", "review", "--after", "0", "--until", "idle")

    assert result.status == 0
    assert [one["position"] for one in result.values] == [1, 2, 3]


def test_only_the_wanted_types_are_shown(daemon: ScriptedHttp) -> None:
    _seats(daemon, BUSY, BUSY, IDLE)
    daemon.on("GET", "/v1/events", [])
    daemon.emit(envelope(1, "noise", lines=1), envelope(2, "turn_ended", outcome="completed"))

    result = inspan("--json", "watch", "review", "--until", "idle", "--types", "turn_ended,plan")

    assert [one["type"] for one in result.values] == ["turn_ended"]


def test_a_type_that_does_not_exist_is_refused_where_something_is_waited_for(daemon: ScriptedHttp) -> None:
    _seats(daemon, BUSY)
    daemon.fail("GET", "/v1/events", "invalid_argument", status=400)

    assert inspan("watch", "review", "--until", "idle", "--types", "turn_end").status == 2
    assert daemon.streams == []


def test_the_daemon_is_asked_only_for_the_wanted_types(daemon: ScriptedHttp) -> None:
    inspan("watch", "--types", "turn_ended, plan", "--timeout", "0.1")

    [asked] = [one.query for one in daemon.requests if one.path == "/v1/events/stream"]
    assert asked["types"] == "turn_ended,plan"


def test_time_that_runs_out_has_a_status_only_where_something_was_waited_for(daemon: ScriptedHttp) -> None:
    _seats(daemon, BUSY)

    assert inspan("watch", "review", "--until", "idle", "--timeout", "0.3").status == 16
    assert inspan("watch", "--timeout", "0.1").status == 0


def test_a_seat_that_is_not_there_is_not_taken_for_a_quiet_one(daemon: ScriptedHttp) -> None:
    daemon.fail("GET", "/v1/seats/review", "unknown_seat", status=404)

    assert inspan("watch", "review").status == 3


def test_people_see_time_seat_and_words_and_no_control_characters(daemon: ScriptedHttp) -> None:
    _seats(daemon, BUSY, BUSY, IDLE)
    daemon.emit(
        envelope(1, "message_chunk", role="agent", text="two\x1b[2J", message_id="m"),
        envelope(2, "message_chunk", role="agent", text=" halves", message_id="m"),
        envelope(3, "tool_call", id="c", title="Run \x9bls", status="pending"),
        envelope(4, "tool_call", id="c", status="completed"),
        envelope(5, "turn_ended", outcome="completed", raw_reason="end_turn"),
    )

    lines = inspan("watch", "review", "--until", "idle").out.splitlines()

    assert [line[10:] for line in lines if "  review  " in line] == [
        "review  says:",
        "review  tool: Run \\x9bls pending",
        "review  tool: Run \\x9bls done",
        "review  turn ended: completed (end_turn)",
    ]
    assert lines[1] == "two\\x1b[2J halves"


def test_watching_goes_on_when_the_daemon_comes_back(daemon: ScriptedHttp) -> None:
    _seats(daemon, BUSY, BUSY, IDLE)
    daemon.emit(envelope(1, "noise", lines=1), envelope(2, "turn_ended", outcome="completed"))
    daemon.end_stream_after(1, "bye")

    result = inspan("watch", "review", "--until", "idle")

    assert result.status == 0
    assert "the daemon was stopped" in result.err
    assert result.out.count("noise") == 1


def test_an_interrupt_ends_the_watch_with_its_own_status(daemon: ScriptedHttp) -> None:
    process = inspan_process("watch")
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not daemon.streams and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
        process.wait()

    assert (process.returncode, output) == (130, b"")
    assert b"Traceback" not in error


@pytest.mark.parametrize("kind", sorted(EVENT_VERSIONS))
def test_every_kind_of_event_has_words_even_where_its_fields_are_missing(kind: str) -> None:
    if kind == "message_chunk":
        return  # its text is shown as it comes
    words = "".join(piece if isinstance(piece, str) else piece.text for piece in phrase(kind, {}))

    assert words.strip()
    assert "does not know" not in words or kind.startswith("unknown_")


def test_an_event_of_a_newer_daemon_is_shown_as_such() -> None:
    words = "".join(
        piece if isinstance(piece, str) else piece.text for piece in phrase("solar_flare", {"a": 1})
    )

    assert words == "solar_flare: an event that this version does not know"
