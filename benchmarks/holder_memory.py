"""How much memory does a holder cost, fresh and after its harness has said 20,000 updates?"""

from __future__ import annotations

import asyncio

from .figures import Figure, Target
from .ground import open_ground
from .memory import pss_mb
from .received import Received
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()


def run(scale: Scale) -> list[Figure]:
    """Measures one holder alone, so that nobody shares its pages but the daemon's interpreter."""
    return asyncio.run(_run(scale))


async def _run(scale: Scale) -> list[Figure]:
    count = scale.count(20_000, small=200)
    fresh: list[float] = []
    used: list[float] = []
    for _ in range(scale.rounds):
        async with open_ground() as ground:
            [seat] = await ground.open_seats(1)
            fresh.append(pss_mb(ground.holder_pids()))
            received = Received()
            async with ground.watching(received) as expect:
                await ground.client.send(seat, f"burst {count}")
                expect(count)
            used.append(pss_mb(ground.holder_pids()))
    target = Target(of="ours", bound="at most", limit=12)
    return [
        Figure(what="Memory of a holder (PSS), fresh", unit="MB", ours=fresh, target=target),
        Figure(
            what=f"Memory of a holder (PSS), after {count:,} updates", unit="MB", ours=used, target=target
        ),
    ]
