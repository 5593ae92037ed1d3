"""How many events a second does the log make durable for 50 producers, beside what the disk can sync?

One producer stands for one seat whose harness talks: each append holds one event and moves the launch's cursor,
as the daemon does, and the producer waits until it is durable. The disk's own rate is one 4 KiB write and one
`fdatasync` after the other, on the same file system.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

from inspan.store import Append, open_store
from support.store.drafts import add_seat, appending, chunk, cursor_of, launch

from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_PRODUCERS = 50
_TEXT = "A piece of an answer, as long as they are."
_BLOCK = b"x" * 4096


def run(scale: Scale) -> list[Figure]:
    """Measures log and disk in turns, in the folder for temporary files."""
    seconds = scale.seconds(2.0, small=0.05)
    ours: list[float] = []
    disk: list[float] = []
    bursts: list[float] = []
    with tempfile.TemporaryDirectory(prefix="isp-") as name:
        folder = Path(name)
        for number in range(scale.rounds):
            ours.append(asyncio.run(_appended(folder / f"one-{number}.db", seconds, events_per_append=1)))
            disk.append(_synced(folder, seconds))
            bursts.append(asyncio.run(_appended(folder / f"many-{number}.db", seconds, events_per_append=20)))
    return [
        Figure(
            what="Durable events, 50 producers, one event an append",
            unit="events/s",
            ours=ours,
            peer=disk,
            peer_name="the disk's own fdatasync rate",
            target=Target(of="ratio", bound="at least", limit=6),
            note=(
                "Each producer waits for its event, so the interpreter's time for all of them is added to each "
                "sync: the faster the disk, the smaller the ratio."
            ),
        ),
        Figure(
            what="Durable events, 50 producers, 20 events an append",
            unit="events/s",
            ours=bursts,
            peer=disk,
            peer_name="the disk's own fdatasync rate",
            note="As a talkative harness makes them; without a target.",
        ),
    ]


def _synced(folder: Path, seconds: float) -> float:
    file = os.open(folder / "synced", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            os.pwrite(file, _BLOCK, count * len(_BLOCK))
            os.fdatasync(file)
            count += 1
        return count / (time.perf_counter() - began)
    finally:
        os.close(file)


async def _appended(path: Path, seconds: float, *, events_per_append: int) -> float:
    async with open_store(path) as store:
        for number in range(_PRODUCERS):
            await store.append(appending(add_seat(f"s{number}"), *launch(f"l{number}", seat=f"s{number}")))
        first = store.last_position()
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
        return (store.last_position() - first) / passed_s
