"""Runs an app's pipeline: its install and build to their end, and its start until it answers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from .client import AppClient
from .faults import AppUnreachable, Rejected
from .folder import Folder
from .ports import base_url_of, is_listening
from .processes import birth_of, end_tree

__all__ = [
    "HEALTHY_WITHIN_S",
    "PYTHON_VARIABLE",
    "app_environment",
    "log_tail",
    "run_step",
    "start_app",
    "wait_until_free",
    "wait_until_healthy",
]

HEALTHY_WITHIN_S = 20.0
"""How long an app has from its start until it answers."""

PYTHON_VARIABLE = "A2APP_PYTHON"
"""Names the interpreter that has this library, for the start commands of apps in Python."""

_POLL_S = 0.1
_RENEW_S = 30.0
_LARGEST_LOG_BYTES = 4 * 1024 * 1024
_TAIL_BYTES = 8 * 1024
_TAIL_LINES = 20


def app_environment(*, port: int, data: Path, env: str) -> dict[str, str]:
    """The environment that an app runs in: this one's, and where to listen and to keep its data.

    Args:
        port: The loopback port.
        data: The folder for its data, absolute.
        env: `live`, or `dev` for a change that is being tried.
    """
    return {
        **os.environ,
        "PORT": str(port),
        "A2APP_ENV": env,
        "A2APP_DATA_DIR": str(data),
        PYTHON_VARIABLE: sys.executable,
    }


def run_step(
    folder: Folder, step: str, log: Path, environment: Mapping[str, str], *, still_here: Callable[[], None]
) -> bool:
    """Runs `install` or `build` to its end, where the app has one; whether it has.

    The manifest is the owner's own, so its commands go through a shell.

    Args:
        folder: The app.
        step: Which command.
        log: Where its output goes.
        environment: Its environment.
        still_here: Called now and then while it runs.

    Raises:
        Rejected: It failed; the message holds the end of its output.
    """
    command = folder.pipeline(step)
    if not command.strip():
        return False
    process = _spawn(folder, command, log, environment)
    try:
        while True:
            try:
                status = process.wait(timeout=_RENEW_S)
                break
            except subprocess.TimeoutExpired:
                still_here()
    except BaseException:
        end_tree(process.pid, birth_of(process.pid))
        raise
    if status:
        raise Rejected(
            f"The app's {step} failed (status {status}).", hint=_pointer(log), fields={"log": log_tail(log)}
        )
    return True


def start_app(folder: Folder, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Starts the app in a session of its own, so that it outlives this program and its terminal.

    Raises:
        Rejected: The manifest has no start command.
    """
    command = folder.pipeline("start")
    if not command.strip():
        raise Rejected("The app has no start command: `pipeline.start` of its manifest is empty.")
    return _spawn(folder, command, log, environment)


def wait_until_healthy(
    folder: Folder,
    process: subprocess.Popen[bytes],
    port: int,
    log: Path,
    *,
    within_s: float = HEALTHY_WITHIN_S,
) -> None:
    """Returns once the app answers on its port, as itself.

    Raises:
        Rejected: It ended, or does not answer in time, or answers as another app. It is not ended here.
    """
    deadline = time.monotonic() + within_s
    health = folder.pipeline("health") or "/api/_a2app"
    with AppClient(base_url_of(port), agent="agent-app-status", timeout_s=2.0) as client:
        while True:
            status = process.poll()
            if status is not None:
                raise Rejected(
                    f"The app ended while it was started (status {status}).",
                    hint=_pointer(log),
                    fields={"log": log_tail(log)},
                )
            try:
                if client.request("GET", health).is_ok:
                    _check_identity(folder, client)
                    return
            except AppUnreachable:
                pass  # not yet
            if time.monotonic() >= deadline:
                raise Rejected(
                    f"The app did not answer on port {port} within {within_s:g} s.",
                    hint=_pointer(log),
                    fields={"log": log_tail(log)},
                )
            time.sleep(_POLL_S)


def wait_until_free(port: int, *, within_s: float = 2.0) -> bool:
    """Whether nothing holds the port any more, at the latest after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while is_listening(port):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_S / 2)
    return True


def log_tail(log: Path) -> str:
    """The end of a log, a few lines of it."""
    try:
        with open(log, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - _TAIL_BYTES, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-_TAIL_LINES:])


def _check_identity(folder: Folder, client: AppClient) -> None:
    identity = client.identity()
    app: object = identity.get("app") if identity else None
    found: object = app.get("id") if isinstance(app, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if found != folder.id:
        raise Rejected(
            "The app that was started answers as another one: its id differs from that in manifest.json.",
            hint="The app has to take its id from manifest.json.",
        )


def _spawn(
    folder: Folder, command: str, log: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > _LARGEST_LOG_BYTES:
        os.replace(log, log.with_name(f"{log.name}.1"))
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=folder.path,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,
        )
    finally:
        os.close(handle)


def _pointer(log: Path) -> str:
    return f"See {log}"
