"""What the live walks find: a console that is called idle in mid-turn, never seen to run, or told twice."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from inspan.model.console import ConsoleJudged
from inspan.model.evidence import Source
from support.live.console_seats import Said
from support.live.console_walks import find_lies, find_repeats


def said(at: float, activity: Literal["unknown", "running", "idle", "needs_input"]) -> Said:
    judged = ConsoleJudged(activity=activity)
    return Said(datetime.fromtimestamp(at, UTC), Source.SCREEN, "rule", judged)


def request(number: int, at: float, marker: str | None, **fields: Any) -> dict[str, Any]:
    line = {"kind": "request", "number": number, "at": at, "marker": marker, "is_side": False}
    return {**line, "has_tool_result": False, "call": None, **fields}


def ended(number: int, at: float) -> dict[str, Any]:
    return {"kind": "ended", "number": number, "at": at}


SHELL = [
    request(1, 10, "TOOLSHELL", call="bash"),
    ended(1, 11),
    request(2, 15, None, has_tool_result=True),
    ended(2, 16),
    request(3, 19, None, has_tool_result=True),
    ended(3, 20),
]
RETRIES = [request(1, 10, "QUOTA"), ended(1, 10), request(2, 14, "QUOTA"), ended(2, 14)]


@pytest.mark.parametrize(
    ("at", "model", "is_lie"),
    [
        (9.9, SHELL, False),
        (10.5, SHELL, True),
        (13, SHELL, True),
        (15.5, SHELL, True),
        (15.9, SHELL, False),
        (19.5, SHELL, False),
        (12, RETRIES, True),
        (14.1, RETRIES, False),
    ],
)
def test_idle_is_a_lie_from_a_turn_s_first_request_to_its_last_answer_and_while_it_asks(
    at: float, model: list[dict[str, Any]], is_lie: bool
) -> None:
    verdicts = sorted([said(9, "idle"), said(10.1, "running"), said(at, "idle")])
    assert bool(find_lies(verdicts, model)) is is_lie


def test_a_turn_that_is_never_seen_to_run_is_a_lie_too() -> None:
    assert find_lies([said(9, "idle"), said(12, "needs_input"), said(17, "idle")], SHELL) != []


def test_what_is_said_twice_is_found() -> None:
    assert find_repeats([said(1, "idle"), said(2, "running"), said(3, "idle")]) == []
    assert len(find_repeats([said(1, "idle"), said(2, "idle")])) == 1
