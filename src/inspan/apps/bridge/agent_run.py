"""One run of an agent: a process in a group of its own, its output's end kept, ended as a group.

The process waits for a first line until its starter has written down who it is: whoever dies in between, no agent runs
that nobody knows of. What waits is a shell with a fixed script, which then becomes the program; it reads no word of the
command.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from inspan.apps.processes import birth_of, is_alive

__all__ = ["TAIL_CHARS", "AgentRun", "end_group"]

TAIL_CHARS = 2_000
"""As much is kept of what an agent says."""

# On a pipe, `read` takes one byte at a time: what follows the line is the program's.
_GATE = 'IFS= read -r go || exit 125; exec "$@"'
_CANNOT_RUN = (126, 127)
_READ_BYTES = 64 * 1024
_LOOK_S = 0.05
_SLICE_S = 0.2


class AgentRun:
    """A run. Not for several threads.

    Args:
        argv: The program and its arguments.
        cwd: Its working folder.
        environment: All of its environment.
        stdin: What it reads on its standard input, which then ends.

    Raises:
        OSError: It cannot be started.
        ValueError: Likewise: an argument has a zero byte.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stdin: str = ""
    ) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GATE, "sh", *argv],
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self.birth = birth_of(self.pid)
        self._exit: int | None = None
        self._tails = {"stdout": _Tail(), "stderr": _Tail()}
        self._input = memoryview(b"go\n" + stdin.encode())
        self._is_let_go = False
        self._selector = selectors.DefaultSelector()
        for name, pipe in (("stdout", self._process.stdout), ("stderr", self._process.stderr)):
            assert pipe is not None  # noqa: S101 - it was asked for
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)
        self._ending = _watch_end(self.pid)
        if self._ending >= 0:
            self._selector.register(self._ending, selectors.EVENT_READ, "end")

    def let_go(self) -> None:
        """Lets the program begin. Calling it twice is safe."""
        pipe = self._process.stdin
        if self._is_let_go or pipe is None:
            return
        self._is_let_go = True
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, selectors.EVENT_WRITE, "stdin")
        self._pump(0.0)

    def wait(self, timeout_s: float) -> int | None:
        """Carries its input and output for so long; its exit status once it has ended, negative after a signal.

        What its descendants still hold open is not waited for.
        """
        deadline = time.monotonic() + timeout_s
        while self._exit is None:
            slice_s = _LOOK_S if self._ending < 0 else _SLICE_S
            self._pump(min(slice_s, max(0.0, deadline - time.monotonic())))
            if self._has_ended():
                # While it is not collected, nobody else can have its number: the group is still this one.
                end_group(self.pid, term_s=0.5, kill_s=1.0)
                self._exit = self._process.wait()
                self._pump(0.0)
                break
            if time.monotonic() >= deadline:
                break
        return self._exit

    def end(self, *, term_s: float, kill_s: float = 2.0) -> int | None:
        """Ends it and its group: TERM, a wait, KILL, a wait. Its exit status; None if even that did not end it."""
        if self._exit is None:
            _signal(self.pid, signal.SIGTERM)
            if self.wait(term_s) is None:
                _signal(self.pid, signal.SIGKILL)
                self.wait(kill_s)
        return self._exit

    def close(self) -> None:
        """Gives its pipes back. The run should have ended."""
        self._selector.close()
        if self._ending >= 0:
            os.close(self._ending)
            self._ending = -1
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            _close(pipe)

    @property
    def could_not_begin(self) -> bool:
        """Whether it ended since the program could not be run at all: it is no program, or its interpreter is gone."""
        return self._exit in _CANNOT_RUN and self._tails["stderr"].text().startswith("sh: ")

    @property
    def tail(self) -> str:
        """The end of what it said, on both of its outputs."""
        return "\n".join(filter(None, (one.text() for one in self._tails.values())))

    def _has_ended(self) -> bool:
        if hasattr(os, "waitid"):
            try:
                return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
            except ChildProcessError:
                return True
        return self._process.poll() is not None

    def _pump(self, timeout_s: float) -> None:
        if not self._selector.get_map():
            time.sleep(timeout_s)
            return
        ready = self._selector.select(timeout_s)
        for _ in range(64):  # a chatterbox must not keep its own time limit from being looked at
            if not any(self._serve(str(key.data)) for key, _ in ready):
                return
            ready = self._selector.select(0)

    def _serve(self, what: str) -> bool:
        """Moves what can be moved; whether more may come."""
        match what:
            case "stdin":
                self._write()
            case "stdout":
                self._read(self._process.stdout, self._tails[what])
            case "stderr":
                self._read(self._process.stderr, self._tails[what])
            case _:
                return False
        return True

    def _write(self) -> None:
        held = self._process.stdin
        assert held is not None  # noqa: S101 - it is registered
        try:
            while self._input:
                self._input = self._input[os.write(held.fileno(), self._input) :]
        except BlockingIOError:
            return
        except OSError:
            self._input = self._input[:0]  # it does not want to read it
        self._selector.unregister(held)
        _close(held)

    def _read(self, held: IO[bytes] | None, tail: _Tail) -> None:
        assert held is not None  # noqa: S101 - it is registered
        try:
            data = os.read(held.fileno(), _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            tail.add(data)
            return
        self._selector.unregister(held)


def end_group(group: int, *, term_s: float, kill_s: float) -> bool:
    """Ends what still runs in a process group whose leader is ended or being ended. Whether all of it is gone."""
    for number, patience_s in ((signal.SIGTERM, term_s), (signal.SIGKILL, kill_s)):
        if not _members(group):
            return True
        _signal(group, number)
        deadline = time.monotonic() + patience_s
        while _members(group) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
    return not _members(group)


def _watch_end(pid: int) -> int:
    """A file that becomes readable when the process ends; -1 where the system has no such thing."""
    if sys.platform != "linux":
        return -1
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


class _Tail:
    """The last characters of a stream of bytes."""

    def __init__(self) -> None:
        self._kept = b""
        self._is_cut = False

    def add(self, data: bytes) -> None:
        most = TAIL_CHARS * 4
        self._kept += data
        if len(self._kept) > most:
            self._kept, self._is_cut = self._kept[-most:], True

    def text(self) -> str:
        text = self._kept.decode("utf-8", "replace").strip()
        return f"…{text[-TAIL_CHARS:]}" if self._is_cut or len(text) > TAIL_CHARS else text


def _members(group: int) -> list[int]:
    import psutil

    found: list[int] = []
    for pid in psutil.pids():
        try:
            if os.getpgid(pid) == group and is_alive(pid):
                found.append(pid)
        except OSError:
            continue
    return found


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()
