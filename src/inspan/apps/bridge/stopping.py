"""`bridge stop`: ends the app's bridge, and the agent that it may be running. Nobody else is ever touched."""

from __future__ import annotations

import os
import signal
import time

from inspan.apps.files import locked
from inspan.apps.folder import Folder
from inspan.apps.processes import end_tree, is_same_process
from inspan.apps.programs.screen import note, print_json

from .record import BridgeRecord, Record, end_agent

__all__ = ["clear_remains", "stop"]

_TERM_S = 5.0
_KILL_S = 2.0
_LOOK_S = 0.05


def stop(folder: Folder) -> int:
    """Ends the bridge and prints what was ended.

    It is asked first, and ends at once if it brings nothing; a task at hand goes back to the queue, once the app has
    heard nothing of it for a minute.
    """
    record = Record(folder)
    with locked(folder.state / "bridge.lock"):
        found = record.read()
        if found is None:
            record.clear()
            print_json({"ok": True, "stopped": None})
            return 0
        if not found.is_alive:
            clear_remains(record, found)
            print_json({"ok": True, "stopped": None, "cleared": True})
            return 0
        if not _end(record, found):
            print_json({"ok": False, "stopped": None, "pid": found.pid})
            return 1
        _end_gateway(found)
        record.clear()
    print_json({"ok": True, "stopped": found.pid})
    return 0


def clear_remains(record: Record, found: BridgeRecord) -> None:
    """Ends the agent of a bridge that is gone, and the gateway that it started, and removes its record."""
    if end_agent(found.agent):
        note("The bridge was gone and its agent was not: the agent was ended.")
    _end_gateway(found)
    record.clear()


def _end(record: Record, found: BridgeRecord) -> bool:
    _tell(found.pid)
    deadline = time.monotonic() + _TERM_S
    while time.monotonic() < deadline:
        if not is_same_process(found.pid, found.birth):
            end_agent(found.agent)
            return True
        time.sleep(_LOOK_S)
    # Its agent first: once the bridge is gone, nobody else knows of it.
    latest = record.read() or found
    is_gone = end_tree(found.pid, found.birth, term_s=0.0, kill_s=_KILL_S)
    end_agent(latest.agent)
    return is_gone


def _tell(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return


def _end_gateway(found: BridgeRecord) -> None:
    if found.gateway_pid is not None and found.gateway_birth:
        end_tree(found.gateway_pid, found.gateway_birth)
