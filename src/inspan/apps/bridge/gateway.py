"""Gateways: a harness that listens, and that the bridge may start by the command that its operator wrote."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from inspan.apps.faults import Rejected
from inspan.apps.processes import birth_of, end_tree

from .environment import agent_environment
from .handoff import is_up
from .routes import GatewayRoute

__all__ = ["StartedGateway", "ensure_gateway"]

_LOOK_S = 0.2


class StartedGateway(NamedTuple):
    """A gateway that this bridge started; it leads a process group of its own."""

    pid: int
    birth: str


def ensure_gateway(
    route: GatewayRoute, *, app: Path, environ: Mapping[str, str], log: Path | None
) -> StartedGateway | None:
    """Returns once the gateway answers; starts it where it does not.

    Args:
        route: How it is asked and started.
        app: The app's folder, in which it is started.
        environ: The bridge's variables.
        log: Where its output goes; nowhere if there is none.

    Returns:
        What was started; `None` where it was up already.

    Raises:
        Rejected: It was started and did not answer in time; it is gone again.
    """
    if is_up(route.health, allow_remote=route.allow_remote):
        return None
    inherits = (*route.env, *((route.token_env,) if route.token_env else ()))
    with open(log, "ab") if log is not None else open("/dev/null", "ab") as output:
        process = subprocess.Popen(  # noqa: S602 - the operator wrote it, for a shell
            route.start,
            shell=True,
            cwd=app,
            env=agent_environment(environ, inherits=inherits, sets={}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    birth = birth_of(process.pid)
    deadline = time.monotonic() + route.ready_ms / 1000
    while time.monotonic() < deadline:
        if is_up(route.health, allow_remote=route.allow_remote):
            return StartedGateway(process.pid, birth)
        if process.poll() not in (None, 0):  # with 0 it may have gone to the background
            break
        time.sleep(_LOOK_S)
    end_tree(process.pid, birth)
    process.poll()
    raise Rejected(
        f"The gateway was started with `{route.start}`, and {route.health} did not answer within {route.ready_ms} ms.",
        hint="Start it yourself, or correct the profile.",
    )
