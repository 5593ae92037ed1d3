"""What does it cost to follow 40 busy consoles, and how late is a change told, beside a poller over `tmux`?

The same 40 consoles draw ten frames a second of 3,000 bytes and change their state about once a second. Ours goes
through the whole daemon: the holders' journals, the screens and their rules, the durable log, a client's stream. The
poller captures every pane every 500 ms and looks for the state. The consoles' own time is not counted on either side.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from .figures import Figure, Target
from .ground import CONSOLE, Ground, open_ground, throwaway_folder, write_agent_program
from .peers import tmux
from .received import percentile
from .scale import Scale
from .state_changes import StateChanges

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()


def run(scale: Scale) -> list[Figure]:
    """Measures both sides in turns, each with its consoles alone on the machine."""
    tmux.find_tmux()
    return asyncio.run(_run(scale))


async def _run(scale: Scale) -> list[Figure]:
    count = scale.count(40, small=2)
    seconds = scale.seconds(20.0, small=2.0)
    our_cpu: list[float] = []
    peer_cpu: list[float] = []
    our_p99: list[float] = []
    peer_p99: list[float] = []
    our_daemon: list[float] = []
    for _ in range(scale.rounds):
        async with open_ground(play=CONSOLE) as ground:
            await ground.open_seats(count)
            daemon, holders, changes = await _follow(ground, seconds)
        our_cpu.append(1000 * (daemon + holders) / count)
        our_daemon.append(1000 * daemon / count)
        our_p99.append(percentile(changes, 99) / 1000)
        with throwaway_folder() as folder:
            program = write_agent_program(folder / "bin", source=CONSOLE.program)
            cpu, changes = await asyncio.to_thread(_poll, folder, program, count, seconds)
        peer_cpu.append(1000 * cpu / count)
        peer_p99.append(percentile(changes, 99) / 1000)
    peer_name = f"a poller over {tmux.tmux_version()}, every 500 ms"
    return [
        Figure(
            what=f"Processor time of each of {count} busy consoles",
            unit="ms/s",
            ours=our_cpu,
            peer=peer_cpu,
            peer_name=peer_name,
            target=Target(of="ratio", bound="at most", limit=0.25),
            note="Ours with the holders and the disk; the poller with its captures and the tmux server. Missed since every "
            "piece of output passes Python in the holder and in the daemon, some ten frames a second a console; "
            "feeding and looking take a sixth of it. The poller looks twice a second and reads no rule.",
        ),
        Figure(what="Of ours, the daemon without the holders", unit="ms/s", ours=our_daemon),
        Figure(
            what="p99 from a change on the screen to its report",
            unit="ms",
            ours=our_p99,
            peer=peer_p99,
            peer_name=peer_name,
            target=Target(of="ratio", bound="at most", limit=0.05),
        ),
    ]


async def _follow(ground: Ground, seconds: float) -> tuple[float, float, list[int]]:
    """The processor time of the daemon and of the holders, a second, and how late each change was told."""
    changes = StateChanges()
    holders = ground.holder_pids()
    async with ground.watching(changes):
        begun = time.perf_counter()
        daemon_s, holders_s = _cpu_s([ground.pid]), _cpu_s(holders)
        await asyncio.sleep(seconds)
        passed_s = time.perf_counter() - begun
        daemon_s, holders_s = _cpu_s([ground.pid]) - daemon_s, _cpu_s(holders) - holders_s
    return daemon_s / passed_s, holders_s / passed_s, changes.latencies_us


def _poll(folder: Path, program: Path, count: int, seconds: float) -> tuple[float, list[int]]:
    with tmux.serving(folder, program, count) as server:
        begun, before = time.perf_counter(), _cpu_s([server.pid])
        polled = server.poll(seconds)
        served_s = (_cpu_s([server.pid]) - before) / (time.perf_counter() - begun)
    return served_s + polled.cpu_s / polled.passed_s, polled.latencies_us


def _cpu_s(pids: list[int]) -> float:
    """The processor time of all threads of processes."""
    tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir())
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
