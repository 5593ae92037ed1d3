"""How soon does `a2app APP tasks next --wait` have new work in its hands, and what does waiting for it cost?

Work comes at random moments while the program waits. The time runs from just before the app queues the task until the
program has printed it: it includes the claim. The wait's cost is the CPU time of the program, and of the app that it
asks, while nothing comes.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

from .app_ground import AppGround, open_app
from .app_start import find_program
from .figures import Figure, Target
from .received import percentile
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_WAIT_MS = "600000"
_SETTLED_S = 1.0


def run(scale: Scale) -> list[Figure]:
    """Measures the wait's latency over many tasks a round, then an idle wait."""
    tasks = scale.count(20, small=1)
    seconds = scale.seconds(20.0, small=0.5)
    middle: list[float] = []
    late: list[float] = []
    waiting: list[float] = []
    asked: list[float] = []
    chance = random.Random(7)
    with open_app() as app:
        for _ in range(scale.rounds):
            taken = [_time_to_take_us(app, chance.uniform(0.3, 0.8)) for _ in range(tasks)]
            middle.append(percentile(taken, 50) / 1000)
            late.append(percentile(taken, 95) / 1000)
            program, server = _idle_shares(app, seconds)
            waiting.append(program)
            asked.append(server)
    return [
        Figure(
            what="From a task's queueing to its claim printed, median",
            unit="ms",
            ours=middle,
            target=Target(of="ours", bound="at most", limit=300),
        ),
        Figure(what="The same, 95th percentile", unit="ms", ours=late),
        Figure(
            what=f"Idle wait over {seconds:g} s, share of a core: the program",
            unit="%",
            ours=waiting,
            target=Target(of="ours", bound="at most", limit=1),
        ),
        Figure(what="The same: the app that is asked", unit="%", ours=asked),
    ]


def _time_to_take_us(app: AppGround, after_s: float) -> int:
    with _waiting(app) as program:
        time.sleep(_SETTLED_S + after_s)
        assert program.poll() is None, "it did not wait"
        began_ns = app.trigger("work")
        assert program.stdout is not None
        line = program.stdout.readline()
        ended_ns = time.monotonic_ns()
    taken = json.loads(line)
    assert taken["claimed"] is True
    # Or its lease would end, and a later wait would find it there already.
    close = [find_program("a2app"), app.ref, "tasks", "complete", taken["task"]["id"], "--result", "{}"]
    subprocess.run(close, stdout=subprocess.DEVNULL, env=app.environment, check=True)
    return (ended_ns - began_ns) // 1000


def _idle_shares(app: AppGround, seconds: float) -> tuple[float, float]:
    with _waiting(app) as program:
        time.sleep(_SETTLED_S)
        used = [_cpu_s(program.pid), _cpu_s(app.pid)]
        began = time.perf_counter()
        time.sleep(seconds)
        passed_s = time.perf_counter() - began
        shares = [
            100 * (_cpu_s(pid) - one) / passed_s
            for pid, one in zip((program.pid, app.pid), used, strict=True)
        ]
        assert program.poll() is None, "it did not wait"
        program.terminate()
    return shares[0], shares[1]


def _waiting(app: AppGround) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [find_program("a2app"), app.ref, "tasks", "next", "--wait", _WAIT_MS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=app.environment,
    )


def _cpu_s(pid: int) -> float:
    """The CPU time of all threads, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9
