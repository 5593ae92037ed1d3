"""Runs a program to its end, and ends whatever it started with it.

The program leads a session and a process group of its own, and its environment bears a mark that its children inherit. What
is still there when it ends, or has to, is found by session, group and mark. A process that leaves the session *and* clears
its environment, or that another service starts on its behalf (a container, a job of the system), is not found.
"""

from __future__ import annotations

import atexit
import os
import secrets
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from .names import show_name

__all__ = ["MARK", "ProcessEnd", "ProcessRun"]

MARK = "INSPAN_AGENT_CALL"
"""The variable that all processes of one call have in their environment."""

_GRACE_S = 1.0
_POLL_S = 0.05
_PIECE_BYTES = 64 * 1024
_LAST_WORDS_BYTES = 1024 * 1024
_ROUNDS = 5
_RUNNING: set[int] = set()


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessEnd:
    """How a program ended.

    Attributes:
        exit_code: Its status; None if a signal ended it.
        signal: The signal's name, such as `SIGTERM`; empty if it exited.
        why: `exited`, `timeout` or `cancelled`.
        left_behind: Processes that it had left behind and that were ended, each `name (pid)`.
        still_there: Processes that could not be ended.
    """

    exit_code: int | None
    signal: str
    why: str
    left_behind: tuple[str, ...] = ()
    still_there: tuple[str, ...] = ()


class ProcessRun:
    """One run of a program. Everything here blocks; it is made for a thread of its own.

    Args:
        argv: The program and its arguments.
        folder: Where it runs.
        environment: Its whole environment; the mark is added.
        limit_s: How long it may run.
        stop: Ends it when it is set.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        limit_s: float,
        stop: threading.Event,
    ) -> None:
        self._argv = argv
        self._folder = folder
        self._mark = secrets.token_hex(16)
        self._environment = {**environment, MARK: self._mark}
        self._limit_s = limit_s
        self._stop = stop

    def run(self, take: Callable[[bytes], None]) -> ProcessEnd:
        """Runs it, gives each piece of its output (both streams, as they come) to `take`, and returns when it is over.

        Its input is empty from the start. On a time limit or a stop its processes get a SIGTERM and, a second later, a
        SIGKILL. So do those that it leaves behind when it exits by itself.

        Raises:
            OSError: It could not be started.
        """
        reading, writing = os.pipe()
        try:
            os.set_blocking(reading, False)
            try:
                began_at = time.time()
                process = subprocess.Popen(
                    self._argv,
                    stdin=subprocess.DEVNULL,
                    stdout=writing,
                    stderr=writing,
                    cwd=self._folder,
                    env=self._environment,
                    start_new_session=True,
                )
            finally:
                os.close(writing)
            _RUNNING.add(process.pid)
            try:
                why = self._follow(process, reading, take)
                left, stuck = self._end(process, began_at, lambda: _drain(reading, take))
            finally:
                if not _is_over(process):  # only after an exception: nothing may outlive this block
                    _kill_group(process.pid, signal.SIGKILL)
                process.wait()
                _RUNNING.discard(process.pid)
            _drain(reading, take)
        finally:
            os.close(reading)
        code = process.returncode
        return ProcessEnd(
            exit_code=code if code >= 0 else None,
            signal=_signal_name(-code) if code < 0 else "",
            why=why,
            left_behind=left,
            still_there=stuck,
        )

    def _follow(self, process: subprocess.Popen[bytes], reading: int, take: Callable[[bytes], None]) -> str:
        deadline = time.monotonic() + self._limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(reading, selectors.EVENT_READ)
            ended = _watch_end(process.pid)
            if ended is not None:
                selector.register(ended, selectors.EVENT_READ)
            try:
                while not _is_over(process):
                    if self._stop.is_set():
                        return "cancelled"
                    room = deadline - time.monotonic()
                    if room <= 0:
                        return "timeout"
                    for key, _ in selector.select(min(room, _POLL_S)):
                        if key.fd == reading and not _read_piece(reading, take):
                            selector.unregister(reading)  # it closed its output and runs on
                            if not selector.get_map():
                                self._stop.wait(_POLL_S)
            finally:
                if ended is not None:
                    os.close(ended)
        return "exited"

    def _end(
        self, process: subprocess.Popen[bytes], began_at: float, drain: Callable[[], None]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        was_running = not _is_over(process)
        if was_running:
            _kill_group(process.pid, signal.SIGTERM)
        members = self._members(process.pid, began_at)
        left = {one.pid: _describe(one) for one in members if one.pid != process.pid}
        _signal_all(members, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        while (members or not _is_over(process)) and time.monotonic() < deadline:
            drain()  # who waits to write before it dies can do so
            time.sleep(_POLL_S / 5)
            members = [one for one in members if _lives(one)]
        for _ in range(_ROUNDS):
            if not _is_over(process):
                _kill_group(process.pid, signal.SIGKILL)
            members = self._members(process.pid, began_at)
            if not members:
                break
            left.update({one.pid: _describe(one) for one in members})
            _signal_all(members, signal.SIGKILL)
            psutil.wait_procs(members, timeout=_GRACE_S)
        stuck = tuple(_describe(one) for one in members if _lives(one))
        ended = () if was_running else tuple(left.values())
        return ended, stuck

    def _members(self, leader: int, began_at: float) -> list[psutil.Process]:
        """The living processes of this run, the program itself left out."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            if process.pid == leader or process.pid == os.getpid():
                continue
            with suppress(psutil.Error, OSError):
                if process.create_time() < began_at - 2 or not _lives(process):
                    continue
                if self._is_ours(process, leader):
                    found.append(process)
        return found

    def _is_ours(self, process: psutil.Process, leader: int) -> bool:
        with suppress(OSError):
            if leader in (os.getsid(process.pid), os.getpgid(process.pid)):
                return True
        return process.environ().get(MARK) == self._mark


@atexit.register
def _kill_what_runs() -> None:
    """A program that ends in the middle of a call leaves nothing of it behind."""
    for leader in tuple(_RUNNING):
        _kill_group(leader, signal.SIGKILL)


def _is_over(process: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended. It is not collected where that can be had: until it is, nobody else gets its number."""
    wait = getattr(os, "waitid", None)
    if wait is None or process.returncode is not None:
        return process.poll() is not None
    try:
        return wait(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return process.poll() is not None


def _watch_end(pid: int) -> int | None:
    """A descriptor that is readable once the process has ended; None where the system has no such thing."""
    open_it = getattr(os, "pidfd_open", None)
    if open_it is None:
        return None
    try:
        return int(open_it(pid))
    except OSError:
        return None


def _read_piece(reading: int, take: Callable[[bytes], None]) -> bool:
    """Reads once. Returns whether there may be more, now or later."""
    try:
        piece = os.read(reading, _PIECE_BYTES)
    except BlockingIOError:
        return True
    if piece:
        take(piece)
    return bool(piece)


def _drain(reading: int, take: Callable[[bytes], None]) -> None:
    """Takes what is in the pipe, without waiting, and no more than a bounded amount."""
    for _ in range(_LAST_WORDS_BYTES // _PIECE_BYTES):
        try:
            piece = os.read(reading, _PIECE_BYTES)
        except BlockingIOError:
            return
        if not piece:
            return
        take(piece)


def _kill_group(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _signal_all(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.Error, OSError):
            process.send_signal(number)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _describe(process: psutil.Process) -> str:
    try:
        return f"{show_name(process.name())} ({process.pid})"
    except psutil.Error:
        return f"a process ({process.pid})"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
