"""What the tests of the command line stand on: a daemon whose answers the test writes, or a real one with a console."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.console_harness import HARNESS, add_console_harness
from support.program import inspan, wait_until_gone
from support.scripted_http import ScriptedHttp, scripted_http

DEADLINE_S = 40.0


@pytest.fixture
def daemon(throwaway_home: Path) -> Iterator[ScriptedHttp]:
    """A fake daemon on the test's home."""
    with scripted_http(Path(os.environ["INSPAN_HOME"]) / "daemon.sock") as served:
        yield served


@pytest.fixture
def console(throwaway_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A real daemon's seat `worker` whose scripted console is up; gives the folder with its keys. All ends with the test."""
    folder = add_console_harness(throwaway_home, monkeypatch)
    workspace = throwaway_home / "w"
    workspace.mkdir()
    try:
        added = inspan("seat", "add", "worker", "--harness", HARNESS, "--workspace", str(workspace))
        assert added.status == 0, added
        started = inspan("start", "worker", "--wait", "--timeout", str(DEADLINE_S))
        assert started.status == 0, started
        deadline = time.monotonic() + DEADLINE_S
        while "> type here" not in inspan("screen", "worker").out:
            assert time.monotonic() < deadline, "the console never came up"
            time.sleep(0.02)
        yield folder
    finally:
        assert inspan("daemon", "stop", "--harnesses").status == 0
        wait_until_gone(os.environ["INSPAN_HOME"])
