"""How many durable events a second does the log take from many producers, beside what the disk can sync?

`python -m support.store.measure FOLDER [SECONDS]` (with `tests` on the path). Not a test: a machine's disk
decides the numbers. One producer stands for one seat whose harness talks; each append also moves its cursor.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from inspan.store import Append, open_store

from .drafts import add_seat, appending, chunk, cursor_of, launch

__all__: list[str] = []

_PRODUCERS = 50
_TEXT = "A piece of an answer, as long as they are."


def _measure_disk(folder: Path, seconds: float) -> float:
    file = os.open(folder / "synced", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            os.pwrite(file, b"x" * 4096, count * 4096)
            os.fsync(file)
            count += 1
        return count / (time.perf_counter() - began)
    finally:
        os.close(file)


async def _measure_log(folder: Path, seconds: float, events_per_append: int) -> tuple[float, float]:
    async with open_store(folder / f"{events_per_append}.db") as store:
        for number in range(_PRODUCERS):
            await store.append(appending(add_seat(f"s{number}"), *launch(f"l{number}", seat=f"s{number}")))
        first, commits = store.last_position(), [0]
        store.subscribe(lambda _: commits.__setitem__(0, commits[0] + 1))
        began = time.perf_counter()

        async def produce(name: str, seat: str) -> None:
            appends = 0
            while time.perf_counter() - began < seconds:
                appends += 1
                drafts = tuple(chunk(_TEXT, seat=seat, launch=name) for _ in range(events_per_append))
                await store.append(Append(drafts=drafts, cursor=cursor_of(name, offset=appends)))

        async with asyncio.TaskGroup() as group:
            for number in range(_PRODUCERS):
                group.create_task(produce(f"l{number}", f"s{number}"))
        passed_s = time.perf_counter() - began
        return (store.last_position() - first) / passed_s, commits[0] / passed_s


if __name__ == "__main__":
    _seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as _name:
        print(f"disk: {_measure_disk(Path(_name), _seconds):,.0f} syncs/s")
        for _size in (1, 5, 20):
            _events, _commits = asyncio.run(_measure_log(Path(_name), _seconds, _size))
            print(
                f"{_PRODUCERS} producers, {_size} events an append: {_events:,.0f} events/s, {_commits:,.0f} commits/s"
            )
