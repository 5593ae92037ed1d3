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

__all__ = ["BATCH", "SEATS", "TEXT", "serve"]

BATCH = 50
"""Events in one append: as many as a talkative harness says at once."""

SEATS = 20
"""How many seats say something at the same time; each waits until what it said is durable."""

TEXT = "A piece of an answer, as long as they are."


async def serve(home: Home) -> None:
    """Serves until standard input ends."""
    opened: list[Parts] = []
    async with open_daemon(home, open_parts=lambda home: _open_and_keep(home, opened)):
        store = opened[0].log
        assert isinstance(store, Store)
        for seat in range(SEATS):
            await store.append(appending(add_seat(f"s{seat}"), *launch(f"l{seat}", seat=f"s{seat}")))
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            sizes = [min(BATCH, int(line) - first) for first in range(0, int(line), BATCH)]
            async with asyncio.TaskGroup() as group:
                for seat in range(SEATS):
                    group.create_task(_say(store, f"s{seat}", f"l{seat}", sizes[seat::SEATS]))


async def _say(store: Store, seat: str, name: str, sizes: list[int]) -> None:
    for size in sizes:
        drafts = tuple(chunk(TEXT, seat=seat, launch=name) for _ in range(size))
        await store.append(Append(drafts=drafts))


@contextlib.asynccontextmanager
async def _open_and_keep(home: Home, opened: list[Parts]) -> AsyncGenerator[Parts]:
    async with open_parts(home) as parts:
        opened.append(parts)
        yield parts


if __name__ == "__main__":
    asyncio.run(serve(locate_home(sys.argv[1])))
