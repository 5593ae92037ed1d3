"""What a holder says, as typed values."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from inspan.model.errors import HolderError

from .process import ProcessIdentity

__all__ = [
    "Foreground",
    "HarnessExit",
    "HarnessProcess",
    "HolderIdentity",
    "HolderState",
    "JournalBounds",
    "TerminalPiece",
    "TerminalSize",
    "Welcome",
    "WriteResult",
    "holder_error",
]


class JournalBounds(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal holds, as absolute byte offsets.

    Attributes:
        first: The lowest offset that is kept.
        end: The offset after the last byte.
        acknowledged: Up to here an owner has said that the bytes are durable elsewhere.
    """

    first: int
    end: int
    acknowledged: int = 0


class TerminalSize(msgspec.Struct, frozen=True, kw_only=True):
    """A terminal's window: 1 to 65535 columns and as many rows. A holder refuses others as `size_invalid`."""

    columns: int
    rows: int


class TerminalPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of what a harness wrote to its terminal, all of it for one size.

    Attributes:
        offset: Where it begins.
        data: The bytes; empty where only the size is told.
        size: The terminal's size from `offset` on.
    """

    offset: int
    data: bytes
    size: TerminalSize


class Foreground(msgspec.Struct, frozen=True, kw_only=True):
    """Who has a terminal's foreground: gets what is typed, and Ctrl-C.

    Attributes:
        group: The process group; None if there is none.
        leader: The process that the group is named for; None if it is gone.
        name: What the system calls the leader's program, at most 256 bytes.
        argv0: What the leader's program calls itself, at most 256 bytes. Both names prove nothing, a
            wrapper's program has that of its interpreter: `leader` is the identity.
        is_harness: Whether it is the group of the harness itself, so that nothing stands in front of it.
    """

    group: int | None
    leader: ProcessIdentity | None
    name: str
    argv0: str
    is_harness: bool


class HarnessExit(msgspec.Struct, frozen=True, kw_only=True):
    """How a harness's process ended: exactly one of `exit_code` and `signal` is set.

    Attributes:
        at: When the holder saw it.
        end: Where its output ended; None if the holder died before it had read to the end.
    """

    exit_code: int | None
    signal: int | None
    at: datetime
    end: int | None = None


class HarnessProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The harness's process, as its holder sees it."""

    pid: int
    start_time: str
    running: bool


class HolderState(msgspec.Struct, frozen=True, kw_only=True):
    """A holder's state at one moment.

    Attributes:
        frame_cap: The most bytes of one frame, with 9 of them for the head of a write.
        exit: How the harness ended, once it has.
        last_op: The last operation that ended; 0 before the first. All before it are done.
        last_op_state: How `last_op` ended; `failed` says that the harness's input is broken for good.
        op_in_progress: The operation that is being written now.
        accepted_op: The last operation that was taken; it will be written whoever lives.
        stdin_open: Whether a new operation can be written.
        stalled: The errno that keeps the journal from being written, if one does.
        reading: Whether output is read now; False under back-pressure, while stalled, and after its end.
        stderr_bytes: How much the harness wrote to its standard error; a terminal takes it as output.
        terminal: The size of the harness's terminal; None for a harness on pipes.
        answered_offset: The offset of the output up to which the terminal's queries were answered.
    """

    protocol: int
    holder_version: str
    frame_cap: int
    harness: HarnessProcess
    exit: HarnessExit | None
    last_op: int
    last_op_state: Literal["none", "done", "failed"]
    op_in_progress: int | None
    accepted_op: int
    stdin_open: bool
    journal: JournalBounds
    stalled: int | None
    reading: bool
    stderr_bytes: int
    terminal: TerminalSize | None = None
    answered_offset: int = 0


class Welcome(HolderState, frozen=True, kw_only=True):
    """The answer to a handshake: the state, and the launch that it is of."""

    launch: str


class WriteResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an operation.

    Attributes:
        outcome: `done`: all of it went to the harness. `failed_clean`: none of it did. `cut`: some did.
        written: How many bytes went out.
        length: How many there were; 0 for a guarded operation of which nothing was written.
        duplicate: The operation was known: this is its outcome from before, nothing was written now.
    """

    op: int
    outcome: Literal["done", "failed_clean", "cut"]
    written: int
    length: int
    duplicate: bool


class HolderIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A holder and its harness, from `holder.json`."""

    launch: str
    holder: ProcessIdentity
    harness: ProcessIdentity
    socket: str
    protocol: int
    holder_version: str


_CODES = {
    "exec_failed": "launch_failed",
    "cwd_missing": "workspace_missing",
    "socket_path_too_long": "socket_path_too_long",
    "frame_too_large": "frame_too_large",
}

_HINTS = {
    "exec_failed": "Check that the program is installed and may be executed.",
    "cwd_missing": "Create the folder or choose another one.",
    "socket_path_too_long": "Choose a shorter home folder.",
    "socket_in_use": "Another process serves this socket; stop it first.",
    "claimed": "Start a new launch with a new folder.",
    "folder_open": "Make the folder private with chmod 700.",
    "owner_alive": "Another daemon owns this launch; stop it first.",
    "version_mismatch": "Use the version of Inspan that started the launch, or stop the launch.",
    "offset_gone": "Attach at the first offset that is kept.",
    "size_invalid": "Choose a size from 1x1 to 65535x65535.",
    "terminal_failed": "Close terminals that are not needed, or raise the system's limit of ptys.",
    "terminal_endless": "Type what ends the program, or stop it.",
    "no_terminal": "Start the harness in a mode that has a terminal.",
}


def holder_error(default_code: str, reason: str, message: str, **detail: Any) -> HolderError:
    """A `HolderError`; the holder's own word for it is `detail["reason"]`."""
    return HolderError(
        f"{message[:1].upper()}{message[1:].rstrip('.')}.",
        code=_CODES.get(reason, default_code),
        hint=_HINTS.get(reason, ""),
        detail={"reason": reason, **detail},
    )
