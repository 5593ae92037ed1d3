"""Running `inspan`: in this process for speed, as a process of its own where the process is the point."""

import io
import json
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

from inspan.cli.main import main

__all__ = ["Result", "inspan", "inspan_process", "wait_until_gone"]


class Result(NamedTuple):
    """What came of a run."""

    status: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """The one JSON value on standard output."""
        return json.loads(self.out)

    @property
    def values(self) -> list[Any]:
        """One JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def inspan(*words: str) -> Result:
    """Runs a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(list(words))
    return Result(int(status), out.getvalue(), err.getvalue())


def inspan_process(*words: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Starts a command as a process with pipes; the caller ends it."""
    return subprocess.Popen(
        [sys.executable, "-m", "inspan.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=stdin,
        preexec_fn=_hear_interrupts,
    )


def _hear_interrupts() -> None:
    """A shell that runs the tests in its background has Ctrl-C ignored by all that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_until_gone(home: str, *, deadline_s: float = 30.0) -> None:
    """Waits until no process names `home` any more: a stop returns once the home is free, and its daemon
    has still to leave.

    Raises:
        AssertionError: Something runs there after `deadline_s`.
    """
    deadline = time.monotonic() + deadline_s
    while left := [line for line in _command_lines() if home in line]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def _command_lines() -> list[str]:
    return subprocess.run(
        ["ps", "-eo", "args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
