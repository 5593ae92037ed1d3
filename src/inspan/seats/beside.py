"""Work beside a connection to a holder: what goes on for as long as the launch is followed, and must not end unseen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine

from inspan.holder import HolderConnection
from inspan.model.errors import HolderError

__all__ = ["work_beside"]


@contextlib.asynccontextmanager
async def work_beside(
    connection: HolderConnection, *work: Coroutine[object, object, None]
) -> AsyncGenerator[None]:
    """Does all of `work` at the same time as the block, and cancels at the block's end what still goes on.

    Work may come to its end by itself, or with the connection. Where it breaks instead, the connection is closed, so
    that the block ends too: a seat that nobody looks at, or writes for, must not seem to be followed.

    Raises:
        RuntimeError: A part of the work broke; what broke it is its cause.
    """
    broken: list[BaseException] = []

    def note_end(task: asyncio.Task[None]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, HolderError):
            broken.append(error)
            connection.close()

    tasks = [asyncio.create_task(one) for one in work]
    for task in tasks:
        task.add_done_callback(note_end)
    try:
        yield
    except HolderError:
        if broken:
            raise RuntimeError("A part of following a launch broke.") from broken[0]
        raise
    finally:
        for task in tasks:
            task.remove_done_callback(note_end)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
