"""Stop what a dead holder left behind, and only what is proven to be of its launch."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from pathlib import Path

import msgspec

from .disk import LaunchDisk
from .process import ProcessIdentity
from .program.processes import Process, carries_launch, family_of, process_table, read_process, send_signal
from .wire import HolderIdentity, holder_error

__all__ = ["StoppedOrphans", "stop_orphans"]

POLL_S = 0.02
KILL_WAIT_S = 2.0


class StoppedOrphans(msgspec.Struct, frozen=True, kw_only=True):
    """What was found and what became of it.

    Attributes:
        stopped: Processes that were signalled and are gone.
        remaining: Processes that even SIGKILL has not ended yet.
    """

    stopped: tuple[ProcessIdentity, ...] = ()
    remaining: tuple[ProcessIdentity, ...] = ()


async def stop_orphans(
    directory: Path, *, term_grace_s: float = 2.0, death_wait_s: float = 2.0
) -> StoppedOrphans:
    """Stop a launch's harness, its group and its descendants after its holder died.

    A process is ours if it is the harness by pid and start time, or of its group or family while that
    harness lives, or of its group and carries the launch's id in its environment. Names never count. Each
    signal goes to a process that was identified again just before. The socket is removed if nobody answers
    on it. Calling it again is safe; cancelled, it leaves the rest for the next call.

    Args:
        directory: The launch's folder.
        term_grace_s: How long after SIGTERM to wait before SIGKILL.
        death_wait_s: How long to wait for the proof that the holder is dead; its connection ends before it does.

    Raises:
        HolderError: `holder_refused` with reason `holder_alive`, if the holder is not proven dead.
    """
    disk = LaunchDisk(directory)
    identity = disk.identity()
    if identity is None:
        return StoppedOrphans()  # a harness runs only after its identity was written
    try:
        async with asyncio.timeout(death_wait_s):
            while not disk.is_holder_dead():  # noqa: ASYNC110 - processes of others set no event
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        text = f"the holder of {identity.launch} is not proven dead"
        raise holder_error("holder_refused", "holder_alive", text, launch=identity.launch) from None
    _remove_socket(identity.socket)
    found: dict[ProcessIdentity, Process] = {}
    for number, wait_s in ((signal.SIGTERM, term_grace_s), (signal.SIGKILL, KILL_WAIT_S)):
        found |= _ours(identity)
        for row in found.values():
            send_signal(row, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await _wait_until_gone(found)
        if not _living(found) and not _ours(identity):
            break
    remaining = _living(found)
    return StoppedOrphans(
        stopped=tuple(one for one in found if one not in remaining), remaining=tuple(remaining)
    )


def _ours(identity: HolderIdentity) -> dict[ProcessIdentity, Process]:
    table = process_table()
    leader = table.get(identity.harness.pid)
    if leader is not None and leader.start_time == identity.harness.start_time and not leader.is_gone:
        rows = [leader, *family_of(leader.pid, table)]
    else:
        # The leader's pid may be another's by now, so each member must prove itself.
        rows = [
            row
            for row in table.values()
            if row.group == identity.harness.pid
            and not row.is_gone
            and carries_launch(row.pid, identity.launch)
        ]
    return {ProcessIdentity(pid=row.pid, start_time=row.start_time): row for row in rows}


async def _wait_until_gone(found: dict[ProcessIdentity, Process]) -> None:
    while _living(found):  # noqa: ASYNC110 - processes of others set no event
        await asyncio.sleep(POLL_S)


def _living(found: dict[ProcessIdentity, Process]) -> list[ProcessIdentity]:
    rows = ((identity, read_process(identity.pid)) for identity in found)
    return [
        identity
        for identity, row in rows
        if row is not None and row.start_time == identity.start_time and not row.is_gone
    ]


def _remove_socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        except OSError:
            return
