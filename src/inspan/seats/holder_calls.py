"""Asking a holder: again and again for what must be done, and a last time before its folder is removed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from inspan.holder import HolderConnection, LaunchDisk
from inspan.model.errors import HolderError
from inspan.store import OutboxRow

from .link import Link

__all__ = ["insist", "part_from", "put_first"]

_PART_WAIT_S = 10.0
"""A holder that was let go ends at once; a machine that is busy may take its time."""
_ASK_AGAIN_S = 0.5

_T = TypeVar("_T")

_log = logging.getLogger("inspan.seats")


async def insist(connection: HolderConnection, launch: str, ask: Callable[[], Awaitable[_T]]) -> _T:
    """Asks the holder, however long it cannot do it: what it refuses was not begun, so asking again is safe."""
    is_said = False
    while True:
        try:
            return await ask()
        except HolderError as error:
            if error.code == "holder_lost" or connection.is_closed:
                raise
            if not is_said:
                _log.warning("the input of launch %s waits: %s", launch, error.message)
                is_said = True
        await asyncio.sleep(_ASK_AGAIN_S)


async def part_from(connection: HolderConnection, folder: Path) -> None:
    """Lets the holder go, and waits a little until it is gone: a folder is removed when nobody writes into it."""
    disk = LaunchDisk(folder)
    with contextlib.suppress(HolderError, TimeoutError):
        await connection.release()
        async with asyncio.timeout(_PART_WAIT_S):
            await connection.wait_closed()
            while not disk.is_holder_dead():  # noqa: ASYNC110 - another process sets no event
                await asyncio.sleep(0.01)


def put_first(link: Link, row: OutboxRow) -> None:
    """Puts a write back in front of those that wait."""
    rest = [row]
    while not link.writes.empty():
        rest.append(link.writes.get_nowait())
    for one in rest:
        link.writes.put_nowait(one)
