"""Programs that tests of the store run in processes of their own, and how they are run.

`python -m support.store.programs NAME FOLDER`
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

from inspan.model.errors import StoreError
from inspan.store import Append, open_store

from .drafts import add_seat, appending, chunk, cursor_of, launch, queue

__all__ = ["PRODUCERS", "command", "environment", "running"]

PRODUCERS = 4
"""How many launches the program `append` appends for at once."""

_TESTS = Path(__file__).parents[2]


def command(name: str, folder: Path) -> list[str]:
    """The arguments that run a program of this module."""
    return [sys.executable, "-m", "support.store.programs", name, str(folder)]


def environment() -> dict[str, str]:
    """The environment that such a program needs."""
    return {**os.environ, "PYTHONPATH": str(_TESTS), "PYTHONUNBUFFERED": "1"}


@contextlib.contextmanager
def running(name: str, folder: Path) -> Generator[subprocess.Popen[str]]:
    """Runs a program with pipes to it, and ends it with the block."""
    process = subprocess.Popen(
        command(name, folder),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


async def append(folder: Path) -> None:
    """Appends without end; writes `launch number position` for every event that it was told is durable."""
    async with open_store(folder / "log.db") as store:
        if store.last_position() == 0:
            await store.append(appending(add_seat()))
            for number in range(PRODUCERS):
                await store.append(appending(*launch(f"l{number}")))

        async def produce(name: str) -> None:
            known = store.cursor(name)
            number = 0 if known is None else known.offset
            while True:
                number += 1
                event = chunk(str(number), launch=name)
                cursor = cursor_of(name, offset=number)
                (envelope,) = await store.append(Append(drafts=(event,), cursor=cursor))
                os.write(1, f"{name} {number} {envelope.position}\n".encode())

        async with asyncio.TaskGroup() as group:
            for number in range(PRODUCERS):
                group.create_task(produce(f"l{number}"))


async def hold(folder: Path) -> None:
    """Holds the log open until its standard input ends."""
    async with open_store(folder / "log.db"):
        print(os.getpid())
        await asyncio.to_thread(sys.stdin.read)


async def block(folder: Path) -> None:
    """Holds SQLite's own write lock, as a stray tool would, until its standard input ends."""
    with contextlib.closing(sqlite3.connect(folder / "log.db", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        print("blocked")
        await asyncio.to_thread(sys.stdin.read)


async def fill(folder: Path) -> None:
    """Fills the small disk that `folder` is on, frees some of it, and goes on; writes what happened as JSON."""
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * 400_000)
    durable = 0
    code = "none"
    async with open_store(folder / "log.db") as store:
        await store.append(appending(add_seat()))
        try:
            for _ in range(10_000):
                durable += len(await store.append(appending(chunk("x" * 5000))))
        except StoreError as error:
            code = error.code
        status, full_at = store.status, store.last_position()
        readable = len(store.events(limit=100_000))
        ballast.unlink()
        (resumed,) = await store.append(appending(queue("d1")))
        result = {
            "code": code,
            "status": status,
            "durable": durable,
            "full_at": full_at,
            "readable": readable,
            "resumed_at": resumed.position,
            "status_after": store.status,
            "problems": (await store.check()).problems,
        }
    print(json.dumps(result))


async def write_two(folder: Path) -> None:
    """Writes two events and closes the log."""
    async with open_store(folder / "log.db") as store:
        await store.append(appending(add_seat(), chunk("x")))


async def meet_read_only(folder: Path) -> None:
    """Tries to write to a folder that cannot be written, then reads it; writes what happened as JSON."""
    result: dict[str, object] = {}
    for name, path in (("there", folder / "log.db"), ("new", folder / "new" / "log.db")):
        try:
            async with open_store(path):
                result[name] = "opened"
        except StoreError as error:
            result[name] = error.code
    async with open_store(folder / "log.db", read_only=True) as store:
        result["events"] = len(store.events())
        result["problems"] = (await store.check()).problems
    print(json.dumps(result))


if __name__ == "__main__":
    _programs = {
        "append": append,
        "hold": hold,
        "block": block,
        "fill": fill,
        "write-two": write_two,
        "meet-read-only": meet_read_only,
    }
    asyncio.run(_programs[sys.argv[1]](Path(sys.argv[2])))
