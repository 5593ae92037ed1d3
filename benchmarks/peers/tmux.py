"""A poller over `tmux`: what most programs do that follow consoles. Every 500 ms it captures every pane.

`python -m benchmarks.peers.tmux SOCKET COUNT SECONDS` is the poller; it prints what it found and its processor time
with that of the captures. It looks for the state in what it captured, and for nothing else.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import msgspec

from ..checkout import child_environment
from ..state_changes import StateChanges

__all__ = ["PERIOD_S", "Polled", "Tmux", "find_tmux", "serving", "tmux_version"]

PERIOD_S = 0.5
_COLUMNS = 200
_ROWS = 50


class Polled(msgspec.Struct, frozen=True, kw_only=True):
    """What the poller found.

    Attributes:
        latencies_us: How late it found each change.
        cpu_s: Its processor time and that of the captures.
        passed_s: How long it polled.
    """

    latencies_us: list[int]
    cpu_s: float
    passed_s: float


class Tmux:
    """A server of its own with one session a console."""

    def __init__(self, socket: Path, count: int, pid: int) -> None:
        self._socket = socket
        self._count = count
        self.pid = pid

    def poll(self, seconds: float) -> Polled:
        """Polls that long, in a process of its own."""
        command = [sys.executable, "-m", __name__, str(self._socket), str(self._count), str(seconds)]
        done = subprocess.run(command, env=child_environment(), stdout=subprocess.PIPE, check=True)
        return msgspec.json.decode(done.stdout, type=Polled)

    def paste(self, text: str) -> None:
        """Pastes a text into the first console and presses Enter, by three commands as a shell would run them."""
        _tmux(self._socket, "load-buffer", "-b", "prompt", "-", given=text)
        _tmux(self._socket, "paste-buffer", "-p", "-d", "-b", "prompt", "-t", "=s0:")
        _tmux(self._socket, "send-keys", "-t", "=s0:", "Enter")


def find_tmux() -> str:
    """The program.

    Raises:
        RuntimeError: It is not installed.
    """
    found = shutil.which("tmux")
    if found is None:
        raise RuntimeError("tmux is not installed on this machine")
    return found


def tmux_version() -> str:
    """Its name and version."""
    return subprocess.run([find_tmux(), "-V"], capture_output=True, text=True, check=True).stdout.strip()


@contextlib.contextmanager
def serving(folder: Path, program: Path, count: int) -> Generator[Tmux]:
    """A server with so many sessions of the program, in the folder, inside the block; afterwards all are gone."""
    socket = folder / "tmux"
    try:
        for number in range(count):
            size = ("-x", str(_COLUMNS), "-y", str(_ROWS))
            _tmux(
                socket,
                "-f",
                os.devnull,
                "new-session",
                "-d",
                "-s",
                f"s{number}",
                "-c",
                str(folder),
                *size,
                str(program),
            )
        yield Tmux(socket, count, int(_tmux(socket, "display-message", "-p", "#{pid}")))
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            _tmux(socket, "kill-server")


def _tmux(socket: Path, *words: str, given: str = "") -> str:
    command = [find_tmux(), "-S", str(socket), *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout.strip()


def _poll(socket: str, count: int, seconds: float) -> Polled:
    changes = StateChanges()
    tmux = find_tmux()
    begun = time.monotonic()
    ends_at = begun + seconds
    due = begun
    while due < ends_at:
        for number in range(count):
            command = [tmux, "-S", socket, "capture-pane", "-p", "-t", f"=s{number}:"]
            changes.look(subprocess.run(command, capture_output=True, check=True).stdout)
        due = max(due + PERIOD_S, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Polled(
        latencies_us=changes.latencies_us,
        cpu_s=sum(one.ru_utime + one.ru_stime for one in used),
        passed_s=time.monotonic() - begun,
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(_poll(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
