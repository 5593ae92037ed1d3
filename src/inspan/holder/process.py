"""Who a process is, on this side of the holder: a pid with its start time, never a pid alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

import msgspec

from .program.processes import liveness as _liveness
from .program.processes import read_process, started_since_boot

__all__ = ["ProcessIdentity", "is_of_this_boot", "liveness", "start_time", "this_process"]


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """One process for ever: its pid may be used again, but not with this start time.

    Attributes:
        pid: Its number.
        start_time: An opaque text that only compares; it differs across reboots as well.
    """

    pid: int
    start_time: str


def start_time(pid: int) -> str | None:
    """The start time of whoever has `pid` now, or None if that is nobody or cannot be read."""
    row = read_process(pid)
    return row.start_time if row is not None else None


def this_process() -> ProcessIdentity:
    """The identity of the calling process."""
    pid = os.getpid()
    return ProcessIdentity(pid=pid, start_time=start_time(pid) or "")


def is_of_this_boot(identity: ProcessIdentity) -> bool:
    """Whether it is proven that the machine has not been started anew since the process was."""
    return started_since_boot(identity.start_time)


def liveness(
    identity: ProcessIdentity, *, kill: Callable[[int, int], None] = os.kill
) -> Literal["alive", "dead", "unknown"]:
    """Whether the process still lives; only what is proven is `dead`, and `unknown` counts as alive.

    ESRCH, another start time under the pid, and a zombie are proofs. EPERM and every other errno are not.

    Args:
        identity: The process.
        kill: Sends a signal; given by tests alone.
    """
    return _liveness(identity.pid, identity.start_time, kill=kill)
