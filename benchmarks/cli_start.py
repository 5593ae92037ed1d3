"""How long does `inspan seat list` take, with the daemon running, beside an interpreter that does nothing?"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence

from .figures import Figure, Target
from .ground import open_ground
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_RUNS_A_ROUND = 10


def run(scale: Scale) -> list[Figure]:
    """Measures both in turns; each round's value is the median of ten runs."""
    return asyncio.run(_run(scale))


async def _run(scale: Scale) -> list[Figure]:
    runs = scale.count(_RUNS_A_ROUND, small=1)
    program = find_inspan()
    ours: list[float] = []
    helped: list[float] = []
    bare: list[float] = []
    async with open_ground() as ground:
        await ground.open_seats(2)
        for _ in range(scale.rounds):
            one: list[float] = []
            two: list[float] = []
            three: list[float] = []
            for _ in range(runs):
                one.append(timed_ms([program, "--home", str(ground.home.path), "seat", "list"]))
                two.append(timed_ms([sys.executable, "-I", "-c", "pass"]))
                three.append(timed_ms([program, "--help"]))
            ours.append(_median(one))
            bare.append(_median(two))
            helped.append(_median(three))
    return [
        Figure(
            what="`inspan seat list`, the daemon running",
            unit="ms",
            ours=ours,
            peer=bare,
            peer_name="`python -I -c pass`",
            target=Target(of="ratio", bound="at most", limit=7),
        ),
        Figure(what="`inspan --help`", unit="ms", ours=helped, peer=bare, peer_name="`python -I -c pass`"),
    ]


def find_inspan() -> str:
    """The command beside this interpreter.

    Raises:
        FileNotFoundError: There is none.
    """
    found = shutil.which("inspan", path=os.path.dirname(sys.executable))
    if found is None:
        raise FileNotFoundError("the `inspan` command is not installed beside this Python")
    return found


def timed_ms(command: Sequence[str], *, environment: dict[str, str] | None = None) -> float:
    """Milliseconds that a command takes from its start to its end.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    passed_s = time.perf_counter() - began
    done.check_returncode()
    return passed_s * 1000


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
