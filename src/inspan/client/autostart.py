"""Autostart: finds the daemon of a home, or starts one that outlives whoever needed it first.

Shared by the library and the command line, so it uses the standard library alone, and loads what starts a
process only when one has to be started.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import sys
import time
from typing import Any, cast

from inspan.home import Home, prepare_home
from inspan.model.errors import HostError, InspanError, error_from_wire

__all__ = ["START_TIMEOUT_S", "ensure_daemon", "is_serving", "unreachable"]

START_TIMEOUT_S = 30.0
"""How long a daemon may take until it serves."""

_LOOK_AGAIN_S = 0.02
_WAIT_FOR_WINNER_S = 2.0


def is_serving(home: Home) -> bool:
    """Whether something listens on the home's socket.

    Raises:
        HostError: `daemon_unreachable`: the socket is there, and this user may not open it.
    """
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.settimeout(5.0)
        probe.connect(str(home.socket))
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        return False
    except OSError as error:
        # A listener whose queue is full is one that lives.
        if error.errno == errno.EAGAIN or isinstance(error, TimeoutError):
            return True
        raise unreachable(home, f"its socket cannot be opened: {error.strerror or error}") from error
    finally:
        probe.close()
    return True


def ensure_daemon(home: Home, *, timeout_s: float = START_TIMEOUT_S) -> bool:
    """Returns once a daemon serves `home`; starts one where none does. Blocks; may be called by many at once.

    The one that is started leaves this process's session and belongs to nobody: it goes on when the caller
    ends. Where two are started at the same time, the home's lock lets one live, and both callers find that one.

    Returns:
        Whether this call started it.

    Raises:
        HostError: `daemon_unreachable` where none serves in time, or what kept the new one from serving.
        StoreError: The log cannot be opened.
    """
    deadline = time.monotonic() + timeout_s
    while not is_serving(home):
        prepare_home(home)
        if _start(home, deadline):
            return True
        # Another one owns the home and does not serve yet. If it never does, the next round finds out why.
        patience = min(deadline, time.monotonic() + _WAIT_FOR_WINNER_S)
        while time.monotonic() < patience and not is_serving(home):
            time.sleep(_LOOK_AGAIN_S)
        if time.monotonic() >= deadline:
            raise unreachable(
                home, f"another process owns it and did not serve within {timeout_s:.0f} seconds"
            )
    return False


def unreachable(home: Home, reason: str) -> HostError:
    """The error that says why no daemon could be spoken to."""
    return HostError(
        f"No daemon can be reached on the home {home.path}: {reason}.",
        code="daemon_unreachable",
        hint=f"Start it with `inspan daemon start`, and see its log, {home.log_file}.",
        detail={"home": str(home.path), "socket": str(home.socket)},
    )


def _start(home: Home, deadline: float) -> bool:
    """Starts a daemon; `True` once it serves, `False` if another one owns the home."""
    import subprocess

    # Without -P the current folder, or the home, could put a module of its own in front of ours.
    command = [sys.executable, "-P", "-m", "inspan.daemon", "--background", "--home", str(home.path)]
    # What it says before its log is open, and if Python itself fails, must not be lost.
    errors = os.open(home.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=home.path,
            start_new_session=True,
        )
    finally:
        os.close(errors)
    with process:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        line = _read_line(process.stdout.fileno(), deadline)
    if line is None:
        raise unreachable(home, "it was started and does not serve yet")
    answer = _parse(line)
    if "ready" in answer:
        return True
    if "error" not in answer:
        raise unreachable(home, "it was started and ended before it served")
    error: InspanError = error_from_wire(answer["error"])
    if error.code == "daemon_running":
        return False
    raise error


def _read_line(handle: int, deadline: float) -> bytes | None:
    """The first line, what there was of it before the end, or `None` where time ran out."""
    found = b""
    while b"\n" not in found:
        ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        piece = os.read(handle, 65536)
        if not piece:
            break
        found += piece
    return found.partition(b"\n")[0]


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value: object = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
