"""What a console is believed to do, and why: as `explain`, `seat list`, `seat show` and `doctor` tell it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.console_harness import press
from support.program import inspan
from support.scripted_http import ScriptedHttp

DEADLINE_S = 40.0


def seat_when(condition: Callable[[Any], object]) -> Any:
    """The seat's view, once `condition` holds for it."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition(seat := inspan("--json", "seat", "show", "worker").value):
        assert time.monotonic() < deadline, seat
        time.sleep(0.02)
    return seat


@pytest.mark.timeout(300)
@pytest.mark.requirement("L4", "H-C19")
def test_a_console_s_state_is_told_with_its_kind_its_error_and_every_rule_that_was_tried(
    console: Path,
) -> None:
    press(b"p")
    seat_when(lambda seat: seat["status"] == "needs_input")
    listed = inspan("seat", "list").out
    assert "needs_input (permission)" in listed
    assert "asks: Run this command?" in listed
    shown = inspan("seat", "show", "worker").out
    assert "not ready" in shown
    assert "`inspan attach worker` answers it in the console itself" in shown
    assert "Run `inspan attach worker` and answer it there." in inspan("doctor").out

    explained = inspan("explain", "worker").out
    whole = inspan("--json", "explain", "worker").value
    assert [(one["rule"], one["says"]) for one in whole["evidence"] if one.get("won")] == [
        ("dialog.permission", "needs input: permission")
    ]
    value = whole["console"]
    assert [one["rule"] for one in value["rules"]] == [
        *("dialog.permission", "gate.trust", "working", "limit", "idle", "ready")
    ]
    for rule in value["rules"]:
        assert rule["rule"] in explained
        assert rule["region"]
        assert rule["why"][:60] in explained
    assert "  matches  dialog.permission" in explained
    assert "  no       gate.trust" in explained
    assert "| Run this command?" in explained
    assert value["claims"][0]["outcome"] == "believed"
    assert value["claims"][0]["reason"] in explained
    assert "which is the harness" in explained

    press(b"k")
    told = "What the program says of itself (OSC 7501)"
    seat_when(lambda _: told in (explained := inspan("explain", "worker").out) and "may I" in explained)

    press(b"ct")
    seat_when(lambda seat: seat["console"].get("gate") == "trust")
    assert "needs_input (trust)" in inspan("seat", "list").out
    assert "trust" in inspan("seat", "show", "worker").out

    press(b"l")
    seat_when(lambda seat: "error" in seat["console"])
    assert "until 3pm" in inspan("seat", "list").out
    assert "until 3pm" in inspan("seat", "show", "worker").out

    press(b"i")
    seat_when(lambda seat: seat["console"]["is_ready"])
    assert "ready for a prompt" in inspan("seat", "show", "worker").out


def _explained(**console: Any) -> dict[str, Any]:
    return {
        "seat": "review",
        "status": "idle",
        "activity": {"value": "idle", "source": "screen", "rule": "idle", "why": "it says so"},
        "evidence": [],
        "console": console,
    }


def _rule(name: str, region: str | None, **changes: Any) -> dict[str, Any]:
    rule = {"rule": name, "report": "idle", "priority": 5, "has_matched": False, "why": "no"}
    return {**rule, **({} if region is None else {"region": region}), **changes}


def test_what_a_rule_looked_at_is_cut_unless_all_is_asked_for_and_drives_no_terminal(
    daemon: ScriptedHttp,
) -> None:
    region = "\n".join(["first\x1b]0;evil\x07", *(f"row {number}" for number in range(20)), "", ""])
    rules = [_rule("one", region), _rule("two", region), _rule("three", None), _rule("four", "\n\n")]
    daemon.on("GET", "/v1/seats/review/explain", _explained(rules=rules))

    short, full = inspan("explain", "review").out, inspan("explain", "review", "--full").out

    assert "… 15 lines above: --full shows all" in short
    assert "first" not in short
    assert "| row 19" in short
    assert "| first\\x1b]0;evil\\x07" in full
    assert "\x1b" not in full
    assert full.count("row 7") == 1
    assert "looks at the same text as one" in full
    assert "the screen has no such region" in full
    assert "looks at rows without text" in full


def test_what_is_not_believed_any_more_is_told(daemon: ScriptedHttp) -> None:
    claim = {"source": "hook", "rule": "h", "says": "running", "reason": "older than 15 s", "age_s": 20.0}
    console = _explained(
        claims=[{**claim, "outcome": "stale"}],
        suspended=["slow.rule"],
        discarded_reports=3,
        last_discard="too long",
        foreground={"is_harness": False, "pid": 7, "name": "sh"},
        was_asked=True,
    )
    daemon.on("GET", "/v1/seats/review/explain", console)

    told = inspan("explain", "review").out

    for words in ("stale", "older than 15 s", "slow.rule", "3 status reports not taken", "too long"):
        assert words in told
    assert "sh (7), which is not the harness" in told
