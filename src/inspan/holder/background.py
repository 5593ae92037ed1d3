"""Stop a harness's own background processes that outlive it: only what bears its launch's mark, never by a name alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Sequence

from .orphans import KILL_WAIT_S, POLL_S, StoppedOrphans
from .process import ProcessIdentity
from .program.processes import Process, carries_launch, process_table, read_process, send_signal

__all__ = ["stop_background"]

_COMMAND_BYTES = 4096


async def stop_background(
    launch: str, patterns: Sequence[str], *, term_grace_s: float = 2.0
) -> StoppedOrphans:
    """Stop the background processes of a launch, which left its process group and its family.

    A process is one if it carries the launch's id in its environment and its command line holds one of the
    patterns, or if it carries the id and is of the process group of such a one. Where the system hides
    environments, nothing is found and nothing is stopped. Calling it again is safe.

    Args:
        launch: The launch's id.
        patterns: Regular expressions, searched in command lines.
        term_grace_s: How long after SIGTERM to wait before SIGKILL.
    """
    if not patterns:
        return StoppedOrphans()
    wanted = [re.compile(pattern) for pattern in patterns]
    found: dict[ProcessIdentity, Process] = {}
    for number, wait_s in ((signal.SIGTERM, term_grace_s), (signal.SIGKILL, KILL_WAIT_S)):
        # A daemon that is stopped may have started another one meanwhile.
        found |= await asyncio.to_thread(_find, launch, wanted)
        for row in found.values():
            send_signal(row, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while _living(found):  # noqa: ASYNC110 - processes of others set no event
                    await asyncio.sleep(POLL_S)
        if not _living(found):
            break
    remaining = _living(found)
    return StoppedOrphans(
        stopped=tuple(one for one in found if one not in remaining), remaining=tuple(remaining)
    )


def _find(launch: str, wanted: Sequence[re.Pattern[str]]) -> dict[ProcessIdentity, Process]:
    marked = [
        row
        for row in process_table().values()
        if row.pid != os.getpid() and not row.is_gone and carries_launch(row.pid, launch)
    ]
    named = {row.pid for row in marked if any(one.search(_command_of(row.pid)) for one in wanted)}
    groups = {row.group for row in marked if row.pid in named}
    return {
        ProcessIdentity(pid=row.pid, start_time=row.start_time): row for row in marked if row.group in groups
    }


def _command_of(pid: int) -> str:
    """The command line, to be searched and forgotten: it may hold secrets."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(_COMMAND_BYTES).replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def _living(found: dict[ProcessIdentity, Process]) -> list[ProcessIdentity]:
    rows = ((identity, read_process(identity.pid)) for identity in found)
    return [
        identity
        for identity, row in rows
        if row is not None and row.start_time == identity.start_time and not row.is_gone
    ]
