"""What does Inspan cost beside `omnigent` 0.19.1: on the disk, to start, in memory, for one run, in latency?

Both drive the same fake agent, without a network, in throwaway homes. What the peer does besides (a web page, a
terminal for each session) is part of what it costs and of what it gives.
"""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from . import installed_size
from .cli_start import find_inspan, timed_ms
from .figures import Figure, Target
from .ground import HARNESS, Ground, open_ground, throwaway_folder, write_agent_program
from .memory import pss_mb, rss_mb
from .peers import omnigent
from .peers.installing import installed
from .received import Received, percentile
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS = ("omnigent",)

_NAME = "omnigent 0.19.1"


def run(scale: Scale) -> list[Figure]:
    """Measures all questions; the peer starts once, since that takes it a minute."""
    return asyncio.run(_run(scale))


async def _run(scale: Scale) -> list[Figure]:
    with throwaway_folder() as folder:
        program = write_agent_program(folder / "bin")
        figures = [_size(), _help(scale)]
        async with open_ground() as ground, omnigent.serving(folder / "home", program) as peer:
            await asyncio.sleep(scale.seconds(5.0, small=0.5))
            figures.append(_idle(ground, peer))
            figures.append(await _one_shot(scale, ground, peer))
            figures += await _sessions(scale, ground, peer)
        return figures


def _size() -> Figure:
    python = installed("omnigent") / "bin" / "python"
    return Figure(
        what="Installed size, dependencies included",
        unit="MB",
        ours=[installed_size.of_distribution("inspan")],
        peer=[_other_size(python)],
        peer_name=_NAME,
        target=Target(of="ratio", bound="at most", limit=0.1),
        reported_peer=702,
        note="The interpreter is not counted; a source file counts twice, since it is compiled.",
    )


def _other_size(python: Path) -> float:
    command = [str(python), installed_size.__file__, "omnigent"]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _help(scale: Scale) -> Figure:
    ours: list[float] = []
    peer: list[float] = []
    for _ in range(scale.rounds):
        ours.append(timed_ms([find_inspan(), "--help"]))
        peer.append(timed_ms(omnigent.help_command()))
    return Figure(
        what="Cold start, `--help`",
        unit="ms",
        ours=ours,
        peer=peer,
        peer_name=_NAME,
        target=Target(of="ratio", bound="at most", limit=0.25),
        reported_peer=385,
    )


def _idle(ground: Ground, peer: omnigent.Omnigent) -> Figure:
    return Figure(
        what="Memory before any session (RSS of all processes)",
        unit="MB",
        ours=[rss_mb([ground.pid])],
        peer=[rss_mb(peer.pids())],
        peer_name=_NAME,
        target=Target(of="ratio", bound="at most", limit=0.25),
        reported_peer=409,
    )


async def _one_shot(scale: Scale, ground: Ground, peer: omnigent.Omnigent) -> Figure:
    words = [
        "--home",
        str(ground.home.path),
        "run",
        "--harness",
        HARNESS,
        "--workspace",
        str(ground.workspace),
    ]
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(scale.rounds):
        ours.append(await asyncio.to_thread(timed_ms, [find_inspan(), *words, "hello"]) / 1000)
        theirs.append(await asyncio.to_thread(peer.run_once))
    return Figure(
        what="One-shot run, the server running",
        unit="s",
        ours=ours,
        peer=theirs,
        peer_name=_NAME,
        target=Target(of="ratio", bound="at most", limit=1 / 6),
        reported_peer=8.7,
        note="The agent answers in a millisecond.",
    )


async def _sessions(scale: Scale, ground: Ground, peer: omnigent.Omnigent) -> list[Figure]:
    rounds = scale.rounds
    ours_mb: list[float] = []
    theirs_mb: list[float] = []
    ours_processes: list[float] = []
    theirs_processes: list[float] = []
    sessions: list[str] = []
    names: list[str] = []
    for number in range(rounds):
        before = pss_mb(ground.own_pids()), len(ground.own_pids())
        names += await ground.open_seats(1, first=number)
        ours_mb.append(pss_mb(ground.own_pids()) - before[0])
        ours_processes.append(len(ground.own_pids()) - before[1])
        before = pss_mb(peer.pids()), len(peer.pids())
        sessions.append(await peer.open_session())
        await peer.say(sessions[-1], "hello", 1)
        theirs_mb.append(pss_mb(peer.pids()) - before[0])
        theirs_processes.append(len(peer.pids()) - before[1])
    return [
        Figure(
            what="Memory that a seat adds (PSS, without the agent)",
            unit="MB",
            ours=ours_mb,
            peer=theirs_mb,
            peer_name=_NAME,
            target=Target(of="ratio", bound="at most", limit=0.25),
            reported_peer=77,
        ),
        Figure(
            what="Processes that a seat adds, without the agent",
            unit="processes",
            ours=ours_processes,
            peer=theirs_processes,
            peer_name=_NAME,
            reported_peer=6,
        ),
        *await _latency(scale, ground, peer, names[0], sessions[0]),
        await _during_a_turn(scale, ground, peer, names[0], sessions[0]),
        *await _burst(scale, ground, peer, names[0], sessions[0]),
    ]


async def _latency(
    scale: Scale, ground: Ground, peer: omnigent.Omnigent, seat: str, session: str
) -> list[Figure]:
    seconds = scale.seconds(5.0, small=0.2)
    count = int(100 * seconds)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(scale.rounds):
        received = await _heard(ground, seat, f"paced 100 {seconds}", count)
        ours.append(percentile(received.latencies_us, 99) / 1000)
        received = await peer.say(session, f"paced 100 {seconds}", count)
        theirs.append(percentile(received.latencies_us, 99) / 1000)
        await peer.until_idle(session)
    return [
        Figure(
            what="p99 latency, agent to client, one session of 100 updates a second",
            unit="ms",
            ours=ours,
            peer=theirs,
            peer_name=_NAME,
            target=Target(of="ratio", bound="at most", limit=0.5),
            reported_peer=3.4,
        )
    ]


async def _during_a_turn(
    scale: Scale, ground: Ground, peer: omnigent.Omnigent, seat: str, session: str
) -> Figure:
    """Sends messages while a turn runs, and counts those that never reached the agent."""
    seconds = scale.seconds(3.0, small=0.5)
    count = scale.count(15, small=3)
    turn = int(100 * seconds)
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(scale.rounds):
        marks = [f"mark {1000 * (number + 1) + one}" for one in range(count)]
        received = Received()
        async with ground.watching(received) as expect:
            await ground.client.send(seat, f"paced 100 {seconds}")
            for mark in marks:
                await ground.client.send(seat, mark)
            expect(turn + count)
        ours.append(turn + count - received.total)
        received = await peer.say(session, f"paced 100 {seconds}", turn + count, during=marks)
        theirs.append(turn + count - received.total)
        await peer.until_idle(session)
    return Figure(
        what=f"Messages lost, of {count} sent while a turn runs",
        unit="messages",
        ours=ours,
        peer=theirs,
        peer_name=_NAME,
        target=Target(of="ours", bound="at most", limit=0),
        reported_peer=10,
        note="A message counts as delivered when its words reach the agent, alone or joined with others.",
    )


async def _burst(
    scale: Scale, ground: Ground, peer: omnigent.Omnigent, seat: str, session: str
) -> list[Figure]:
    count = scale.count(20_000, small=200)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(scale.rounds):
        received = await _heard(ground, seat, f"burst {count}", count)
        ours.append(count - received.total + received.doubled)
        received = await peer.say(session, f"burst {count}", count)
        theirs.append(count - received.total)
        await peer.until_idle(session)
    return [
        Figure(
            what=f"Updates that a client lost, of {count:,} at once",
            unit="updates",
            ours=ours,
            peer=theirs,
            peer_name=_NAME,
            target=Target(of="ours", bound="at most", limit=0),
            note="The peer's client is cut, and gets no more of that turn.",
        )
    ]


async def _heard(ground: Ground, seat: str, text: str, count: int) -> Received:
    received = Received()
    async with ground.watching(received) as expect:
        await ground.client.send(seat, text)
        expect(count)
    return received
