"""Running `inspan`: in this process for speed, as a process of its own where the process is the point."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

from inspan.cli.main import main

__all__ = ["Result", "inspan", "inspan_process"]


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
    )
