"""Inspan's daemon as a source of events: `python -m benchmarks.fanout_server HOME`.

The daemon is the real one, with its log, its routes and its server. What a harness would bring about is
appended here: for each number read from standard input, so many events, each made durable before it is shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator

from inspan.daemon.composition import Parts, open_daemon, open_parts
from inspan.home import Home, locate_home
from inspan.store import Append, Store
from support.store.drafts import add_seat, appending, chunk, launch

__all__ = ["BATCH", "TEXT", "serve"]

BATCH = 50
"""Events in one append: as many as a talkative harness says at once."""

TEXT = "A piece of an answer, as long as they are."


async def serve(home: Home) -> None:
    """Serves until standard input ends."""
    opened: list[Parts] = []
    async with open_daemon(home, open_parts=lambda home: _open_and_keep(home, opened)):
        store = opened[0].log
        assert isinstance(store, Store)
        await store.append(appending(add_seat("s0"), *launch("l0", seat="s0")))
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            for first in range(0, int(line), BATCH):
                size = min(BATCH, int(line) - first)
                drafts = tuple(chunk(TEXT, seat="s0", launch="l0") for _ in range(size))
                await store.append(Append(drafts=drafts))


@contextlib.asynccontextmanager
async def _open_and_keep(home: Home, opened: list[Parts]) -> AsyncGenerator[Parts]:
    async with open_parts(home) as parts:
        opened.append(parts)
        yield parts


if __name__ == "__main__":
    asyncio.run(serve(locate_home(sys.argv[1])))
