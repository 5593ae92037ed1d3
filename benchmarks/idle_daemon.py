"""What does a daemon with twenty seats cost while nobody says anything: share of a core, and memory?"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from .figures import Figure, Target
from .ground import open_ground
from .memory import pss_mb, rss_mb
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()


def run(scale: Scale) -> list[Figure]:
    """Measures the daemon's process alone, with all harnesses running and one client watching."""
    return asyncio.run(_run(scale))


async def _run(scale: Scale) -> list[Figure]:
    seats = scale.count(20, small=2)
    seconds = scale.seconds(10.0, small=0.2)
    shares: list[float] = []
    rss: list[float] = []
    pss: list[float] = []
    holders: list[float] = []
    async with open_ground() as ground:
        await ground.open_seats(seats)
        for _ in range(scale.rounds):
            used, began = _cpu_s(ground.pid), time.perf_counter()
            await asyncio.sleep(seconds)
            shares.append(100 * (_cpu_s(ground.pid) - used) / (time.perf_counter() - began))
            rss.append(rss_mb([ground.pid]))
            pss.append(pss_mb([ground.pid]))
            holders.append(pss_mb(ground.holder_pids()) / seats)
    return [
        Figure(
            what=f"Idle daemon with {seats} seats, share of a core over {seconds:g} s",
            unit="%",
            ours=shares,
            target=Target(of="ours", bound="at most", limit=1),
        ),
        Figure(what=f"Idle daemon with {seats} seats, memory (RSS)", unit="MB", ours=rss),
        Figure(what=f"Idle daemon with {seats} seats, memory (PSS)", unit="MB", ours=pss),
        Figure(what=f"Each of {seats} holders, memory (PSS)", unit="MB", ours=holders),
    ]


def _cpu_s(pid: int) -> float:
    """The CPU time of all threads: to the nanosecond, which is needed where there is next to none."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9
