"""`start` and `stop`, and waiting until they have come about."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.program import inspan
from support.scripted_http import ScriptedHttp, envelope

FAILED = {"code": "not_installed", "message": "It is not installed.", "hint": "Install it."}


def _seat(status: str, launch: str, **more: Any) -> dict[str, Any]:
    return {"name": "review", "status": status, "launch": {"id": "l_1", "status": launch, **more}}


def _views(daemon: ScriptedHttp, first: dict[str, Any], *views: dict[str, Any]) -> None:
    """The seat's view: what the call answers, then what each look at it finds, and an event between them."""
    left: Iterator[dict[str, Any]] = iter(views)
    position = iter(range(1, 100))

    def look(_: object) -> dict[str, Any]:
        view = next(left, views[-1] if views else first)
        daemon.emit(envelope(next(position), "launch_ready"))
        return view

    for verb in ("start", "stop"):
        daemon.on("POST", f"/v1/seats/review/{verb}", first)
    daemon.on("GET", "/v1/seats/review", look)


def test_without_wait_a_stop_returns_as_it_is_decided_on(daemon: ScriptedHttp) -> None:
    _views(daemon, _seat("stopping", "stopping"))

    assert inspan("stop", "review").out == "review  stopping\n"
    assert daemon.streams == []


def test_a_stop_waits_until_the_process_has_ended(daemon: ScriptedHttp) -> None:
    stopping = _seat("stopping", "stopping")
    _views(daemon, stopping, stopping, stopping, _seat("stopped", "ended", reason="stopped"))

    result = inspan("stop", "review", "--wait")

    assert (result.status, result.out, result.err) == (0, "review  stopped\n", "")


def test_a_stop_is_over_where_another_launch_has_begun(daemon: ScriptedHttp) -> None:
    after = _seat("starting", "starting")
    after["launch"]["id"] = "l_2"
    _views(daemon, _seat("stopping", "stopping"), after)

    assert inspan("stop", "review", "--wait").status == 0


def test_a_stop_of_a_seat_that_never_ran_is_over_at_once(daemon: ScriptedHttp) -> None:
    _views(daemon, {"name": "review", "status": "stopped"})

    assert inspan("stop", "review", "--wait", "--timeout", "5").status == 0


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_a_wait_that_takes_too_long_is_left_and_says_so(daemon: ScriptedHttp, verb: str) -> None:
    busy = {"start": _seat("starting", "connecting"), "stop": _seat("stopping", "stopping")}[verb]
    daemon.on("POST", f"/v1/seats/review/{verb}", busy)
    daemon.on("GET", "/v1/seats/review", busy)

    result = inspan(verb, "review", "--wait", "--timeout", "0.2")

    assert result.status == 16
    assert result.err == f"  time ran out; the {verb} goes on: `inspan watch review`\n"


def test_a_start_waits_until_the_harness_takes_prompts(daemon: ScriptedHttp) -> None:
    starting = _seat("starting", "starting")
    _views(daemon, starting, starting, _seat("starting", "connecting"), _seat("idle", "ready"))

    result = inspan("start", "review", "--wait")

    assert (result.status, result.out) == (0, "review  idle\n")


def test_a_start_that_fails_says_why_and_what_to_do(daemon: ScriptedHttp) -> None:
    starting, failed = _seat("starting", "starting"), _seat("failed", "ended", reason="failed", error=FAILED)
    _views(daemon, starting, failed)

    result = inspan("start", "review", "--wait")

    assert result.status == 23
    assert result.out == "review  failed\n"
    assert result.err.splitlines() == ["  It is not installed.", "  next: Install it."]


def test_a_start_that_leaves_a_prompt_held_waits_for_a_person(daemon: ScriptedHttp) -> None:
    failed = _seat("held", "ended", reason="failed", error=FAILED)
    failed["queue"] = [{"id": "d_1", "state": "queued", "held": "launch_failed", "hint": "Start it again."}]
    _views(daemon, _seat("starting", "starting"), failed)

    result = inspan("--json", "start", "review", "--wait")
    for_people = inspan("start", "review", "--wait")

    assert (result.status, result.value) == (15, failed)
    assert for_people.out.splitlines()[1] == "  1 prompt in the queue"
    assert for_people.err.splitlines()[1:] == ["  next: Install it.", "  next: Start it again."]


def test_a_one_shot_run_that_came_to_its_end_was_started(daemon: ScriptedHttp) -> None:
    _views(daemon, _seat("starting", "starting"), _seat("idle", "ended", reason="done"))

    assert inspan("start", "review", "--wait").status == 0
