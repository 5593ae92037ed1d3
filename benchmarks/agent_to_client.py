"""How fast, how late and how whole does what an agent says reach a client, through the whole daemon?

Every event is in the log before it is shown. The burst: one agent says 20,000 updates as fast as they are taken;
the peer is `acpx`, which hands the same agent's words to its standard output and keeps nothing. The pace: twenty
agents say a hundred updates a second each; the peer is `sandbox-agent`, a server that keeps the last thousand
in memory and tells each client over server-sent events, losing what a client cannot take at once.

A client that reads Inspan's stream sees all seats on one connection; one that reads the peer's has one connection
a session, since it has no other. Rates run from the writing of the first update to the receipt of the last.
"""

from __future__ import annotations

import asyncio
import statistics
from pathlib import Path

from .figures import Figure, Target
from .ground import Ground, open_ground, throwaway_folder, write_agent_program
from .peers import acpx, sandbox_agent
from .received import Received, percentile
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS = ("acpx", "sandbox-agent")

_RAM_DISK = Path("/dev/shm")
_HAS_RAM_DISK = _RAM_DISK.is_dir()


def run(scale: Scale) -> list[Figure]:
    """Measures both questions, each side in turns."""
    return asyncio.run(_run(scale))


async def _run(scale: Scale) -> list[Figure]:
    return [*await _burst(scale), *await _pace(scale)]


async def _burst(scale: Scale) -> list[Figure]:
    count = scale.count(20_000, small=300)
    ours: list[float] = []
    peer: list[float] = []
    lost: list[float] = []
    peer_lost: list[float] = []
    sandbox_lost: list[float] = []
    with throwaway_folder() as folder:
        program = write_agent_program(folder / "bin")
        for _ in range(scale.rounds):
            async with open_ground() as ground:
                received = await _burst_on(ground, count)
            ours.append(received.per_second)
            lost.append(count - received.total + received.doubled)
            received = await acpx.burst(folder, program, count)
            peer.append(received.per_second)
            peer_lost.append(count - received.total)
            async with sandbox_agent.serving(folder, program) as server:
                received = await server.burst(count)
            sandbox_lost.append(count - received.total)
    return [
        Figure(
            what=f"Agent to client, {count:,} updates at once",
            unit="updates/s",
            ours=ours,
            peer=peer,
            peer_name="acpx 0.19.1",
            target=Target(of="ratio", bound="at least", limit=0.5),
            note=f"acpx keeps nothing; it lost {statistics.median(peer_lost):.0f}.",
        ),
        Figure(
            what=f"Updates lost or doubled, of {count:,} at once",
            unit="updates",
            ours=lost,
            peer=sandbox_lost,
            peer_name="sandbox-agent 0.4.2",
            target=Target(of="ours", bound="at most", limit=0),
        ),
    ]


async def _burst_on(ground: Ground, count: int) -> Received:
    [seat] = await ground.open_seats(1)
    received = Received()
    async with ground.watching(received) as expect:
        await ground.client.send(seat, f"burst {count}")
        expect(count)
    return received


async def _pace(scale: Scale) -> list[Figure]:
    sessions = scale.count(20, small=2)
    rate = 100
    seconds = scale.seconds(5.0, small=0.2)
    count = sessions * int(rate * seconds)
    ours: list[float] = []
    peer: list[float] = []
    medians: list[float] = []
    peer_medians: list[float] = []
    undisked: list[float] = []
    lost: list[float] = []
    peer_lost: list[float] = []
    with throwaway_folder() as folder:
        program = write_agent_program(folder / "bin")
        for _ in range(scale.rounds):
            async with open_ground() as ground:
                received = await _pace_on(ground, sessions, rate, seconds)
            ours.append(percentile(received.latencies_us, 99) / 1000)
            medians.append(percentile(received.latencies_us, 50) / 1000)
            lost.append(count - received.total + received.doubled)
            if _HAS_RAM_DISK:
                async with open_ground(_RAM_DISK) as ground:
                    received = await _pace_on(ground, sessions, rate, seconds)
                undisked.append(percentile(received.latencies_us, 99) / 1000)
            async with sandbox_agent.serving(folder, program) as server:
                received = await server.pace(sessions, rate, seconds)
            peer.append(percentile(received.latencies_us, 99) / 1000)
            peer_medians.append(percentile(received.latencies_us, 50) / 1000)
            peer_lost.append(count - received.total)
    what = f"agent to client, {sessions} sessions of {rate} updates a second"
    return [
        Figure(
            what=f"p99 latency, {what}",
            unit="ms",
            ours=ours,
            peer=peer,
            peer_name="sandbox-agent 0.4.2",
            target=Target(of="ratio", bound="at most", limit=3),
        ),
        *_without_a_disk(what, undisked, peer),
        Figure(
            what=f"Median latency, {what}",
            unit="ms",
            ours=medians,
            peer=peer_medians,
            peer_name="sandbox-agent 0.4.2",
        ),
        Figure(
            what=f"Updates lost or doubled, of {count:,} paced",
            unit="updates",
            ours=lost,
            peer=peer_lost,
            peer_name="sandbox-agent 0.4.2",
            target=Target(of="ours", bound="at most", limit=0),
        ),
    ]


def _without_a_disk(what: str, ours: list[float], peer: list[float]) -> list[Figure]:
    """What of the latency is not the disk's: nothing is durable there."""
    if not ours:
        return []
    return [
        Figure(
            what=f"The same with Inspan's home on a RAM disk: p99 latency, {what}",
            unit="ms",
            ours=ours,
            peer=peer,
            peer_name="sandbox-agent 0.4.2",
            note="Only to tell the disk's part of the latency from the program's.",
        )
    ]


async def _pace_on(ground: Ground, sessions: int, rate: int, seconds: float) -> Received:
    seats = await ground.open_seats(sessions)
    received = Received()
    async with ground.watching(received) as expect:
        await asyncio.gather(*(ground.client.send(seat, f"paced {rate} {seconds}") for seat in seats))
        expect(sessions * int(rate * seconds))
    return received
