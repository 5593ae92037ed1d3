"""A network namespace with a loopback and nothing else: "does not phone home" as a fact.

Making one needs root and iproute2. Where they are missing the live tests fail and say so; with
`INSPAN_LIVE_OPTIONAL=1` they are skipped instead.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

__all__ = ["Namespace", "NamespaceError", "obstacle", "open_namespace"]

_PREFIX = "isp-live-"
_END_DEADLINE_S = 10.0
_POLL_S = 0.02


class NamespaceError(Exception):
    """The namespace could not be made or removed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Namespace:
    """A namespace that exists. Programs started in it, and all their children, see its loopback only."""

    name: str
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def argv(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs `argv` inside; it replaces itself, so the pid is the program's own."""
        return [_ip(), "netns", "exec", self.name, *argv]

    def start(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        stderr: int | None = None,
        is_piped: bool = True,
    ) -> subprocess.Popen[bytes]:
        """Start `argv` inside, in its own process group, with `environment` and no other variable.

        Standard input and output are pipes, or with `is_piped=False` the null device. Whoever starts a
        program stops it; what is left when the namespace closes is killed.
        """
        pipe = subprocess.PIPE if is_piped else subprocess.DEVNULL
        process = subprocess.Popen(
            self.argv(argv),
            env=dict(environment),
            cwd=cwd,
            stdin=pipe,
            stdout=pipe,
            stderr=stderr,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        timeout_s: float = 60.0,
        stdin_text: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` inside to its end and return what it said; its exit status is not judged."""
        return subprocess.run(
            self.argv(argv),
            env=dict(environment),
            cwd=cwd,
            input=stdin_text,
            stdin=subprocess.DEVNULL if stdin_text is None else None,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def empty(self) -> None:
        """Kill everything inside and wait until it is gone."""
        # Children may start others while we look, so look again until there is nobody.
        deadline = time.monotonic() + _END_DEADLINE_S
        self._kill_everything()
        while pids := self.pids():
            if time.monotonic() > deadline:
                raise NamespaceError(f"processes {pids} in {self.name} do not end")
            time.sleep(_POLL_S)
            self._kill_everything()

    def pids(self) -> list[int]:
        """Return the processes that are inside now."""
        return [int(word) for word in _run_ip("netns", "pids", self.name).split()]

    def _kill_everything(self) -> None:
        for process in self._started:
            if process.poll() is None:  # it may not be inside yet
                process.kill()
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def obstacle() -> str | None:
    """Say why no namespace can be made here, or return `None` where one can."""
    if not sys.platform.startswith("linux"):
        return "live tests need Linux network namespaces; this is " + sys.platform
    if os.geteuid() != 0:
        return "live tests need root for a network namespace; run them as root, or set INSPAN_LIVE_OPTIONAL=1"
    if _find_ip() is None:
        return "live tests need the `ip` program; install iproute2, or set INSPAN_LIVE_OPTIONAL=1"
    return None


@contextmanager
def open_namespace() -> Generator[Namespace]:
    """Make a namespace; afterwards kill what still runs in it and remove it, whatever happened.

    Namespaces that a killed test run has left behind are removed first.
    """
    _remove_left_behind()
    name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(3)}"
    _run_ip("netns", "add", name)
    namespace = Namespace(name=name)
    try:
        _run_ip("-n", name, "link", "set", "lo", "up")
        yield namespace
    finally:
        _remove(namespace)


def _remove(namespace: Namespace) -> None:
    namespace.empty()
    _run_ip("netns", "del", namespace.name)


def _remove_left_behind() -> None:
    for line in _run_ip("netns", "list").splitlines():
        name = line.partition(" ")[0]
        owner = name.removeprefix(_PREFIX).partition("-")[0]
        if name.startswith(_PREFIX) and owner.isdigit() and not psutil.pid_exists(int(owner)):
            _remove(Namespace(name=name))


def _run_ip(*arguments: str) -> str:
    done = subprocess.run([_ip(), *arguments], capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        raise NamespaceError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _ip() -> str:
    found = _find_ip()
    if found is None:
        raise NamespaceError("the `ip` program is not installed")
    return found


def _find_ip() -> str | None:
    return shutil.which("ip", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
