"""Senders: from which seat a prompt comes, by who is at the other end of the connection, never by what is claimed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from inspan.holder import LaunchDisk, start_time
from inspan.holder.ancestry import ancestors_of
from inspan.model.errors import HolderError
from inspan.model.state import SeatState

__all__ = ["find_sender"]


def find_sender(pid: int | None, states: Iterable[SeatState]) -> str:
    """The seat whose running harness started the process, or one of its ancestors; empty where that is not known.

    What stands in the process's environment or in its message counts for nothing. A process that left its harness's
    family, as a daemon does, has no sender.

    Args:
        pid: The process at the other end of the connection; `None` where that is not known.
        states: The seats.
    """
    if pid is None:
        return ""
    family = ancestors_of(pid)
    for state in states:
        live = state.live_launch
        if live is None or live.pid not in family:
            continue
        try:
            identity = LaunchDisk(Path(live.directory)).identity()
        except HolderError:
            continue
        if identity is not None and identity.harness.pid == live.pid:
            # A pid alone proves nothing: it may be another's by now.
            return state.name if start_time(live.pid) == identity.harness.start_time else ""
    return ""
