"""Holders: small processes that keep harnesses alive while the daemon comes and goes.

`start_holder` starts one, `connect_holder` becomes its owner, `LaunchDisk` reads what it left when it is
gone, and `stop_orphans` stops what it left running. The program itself is in `program/`.
"""

from __future__ import annotations

from .background import stop_background
from .chunks import Chunks, TerminalPieces
from .client import HolderConnection, connect_holder
from .disk import LaunchDisk, OperationRecord, StartFailure
from .launch import HolderSpec, start_holder
from .orphans import StoppedOrphans, stop_orphans
from .process import ProcessIdentity, liveness, start_time, this_process
from .wire import (
    Foreground,
    HarnessExit,
    HarnessProcess,
    HolderIdentity,
    HolderState,
    JournalBounds,
    TerminalPiece,
    TerminalSize,
    Welcome,
    WriteResult,
)

__all__ = [
    "Chunks",
    "Foreground",
    "HarnessExit",
    "HarnessProcess",
    "HolderConnection",
    "HolderIdentity",
    "HolderSpec",
    "HolderState",
    "JournalBounds",
    "LaunchDisk",
    "OperationRecord",
    "ProcessIdentity",
    "StartFailure",
    "StoppedOrphans",
    "TerminalPiece",
    "TerminalPieces",
    "TerminalSize",
    "Welcome",
    "WriteResult",
    "connect_holder",
    "liveness",
    "start_holder",
    "start_time",
    "stop_background",
    "stop_orphans",
    "this_process",
]
