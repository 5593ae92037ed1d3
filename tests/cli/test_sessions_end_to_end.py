"""Sessions through the program, the daemon, the holder and the scripted harness: all of them real."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.program import inspan, wait_until_gone

DEADLINE_S = 60.0

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def stopped_at_the_end(throwaway_home: Path) -> Iterator[None]:
    """Stops what a test started, and looks whether it did."""
    (throwaway_home / "w").mkdir()
    yield
    assert inspan("daemon", "stop", "--harnesses").status == 0
    wait_until_gone(os.environ["INSPAN_HOME"])


def value(*words: str, status: int = 0) -> Any:
    result = inspan("--json", *words)
    assert result.status == status, result
    return result.value


def until_status(seat: str, status: str) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while (view := value("seat", "show", seat))["status"] != status:
        assert time.monotonic() < deadline, view
        time.sleep(0.02)
    return view


def test_sessions_are_set_up_listed_taken_up_elsewhere_and_never_shared(throwaway_home: Path) -> None:
    for seat in ("one", "two"):
        value("seat", "add", seat, "--harness", "demo", "--workspace", str(throwaway_home / "w"))
    value("send", "one", "--wait", "hello")
    kept = value("seat", "show", "one")["session"]["id"]

    view = value("seat", "set", "one", "--session-mode", "yolo")
    assert [one["status"] for one in view["session"]["settings"]] == ["effective"]
    assert (
        value("seat", "set", "one", "--session-mode", "none", status=2)["error"]["code"] == "option_unknown"
    )
    assert [one["id"] for one in value("session", "list", "one")["sessions"]] == [kept]
    assert kept in inspan("session", "list", "one").out
    assert value("session", "delete", "one", "x", status=22)["error"]["code"] == "unsupported_capability"
    assert value("seat", "fork", "one", "three", status=22)["error"]["code"] == "unsupported_capability"
    assert value("start", "two", "--session", kept, status=4)["error"]["code"] == "session_in_use"
    assert value("start", "two", "--session", "no such", status=2)["error"]["code"] == "invalid_argument"

    value("stop", "one")
    until_status("one", "stopped")
    value("start", "two", "--session", kept)
    assert until_status("two", "idle")["session"]["id"] == kept
    assert value("start", "one", status=4)["error"]["code"] == "session_in_use"
