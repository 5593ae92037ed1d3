"""How long does `a2app` take to show a running app, beside `inspan seat list` with its daemon running?"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys

from .app_ground import open_app
from .cli_start import find_inspan, timed_ms
from .figures import Figure, Target
from .ground import open_ground
from .scale import Scale

__all__ = ["PEERS", "find_program", "run"]

PEERS: tuple[str, ...] = ()

_RUNS_A_ROUND = 10


def run(scale: Scale) -> list[Figure]:
    """Measures both in turns; each round's value is the median of ten runs."""
    return asyncio.run(_run(scale))


async def _run(scale: Scale) -> list[Figure]:
    runs = scale.count(_RUNS_A_ROUND, small=1)
    a2app, inspan = find_program("a2app"), find_inspan()
    root: list[float] = []
    listing: list[float] = []
    seats: list[float] = []
    async with open_ground() as ground:
        await ground.open_seats(2)
        with open_app() as app:
            for _ in range(scale.rounds):
                one: list[float] = []
                two: list[float] = []
                three: list[float] = []
                for _ in range(runs):
                    one.append(timed_ms([a2app, app.ref], environment=app.environment))
                    two.append(timed_ms([inspan, "--home", str(ground.home.path), "seat", "list"]))
                    three.append(
                        timed_ms([a2app, app.ref, "data", "cards", "list"], environment=app.environment)
                    )
                root.append(_median(one))
                seats.append(_median(two))
                listing.append(_median(three))
    return [
        Figure(
            what="`a2app APP`, the first screen",
            unit="ms",
            ours=root,
            peer=seats,
            peer_name="`inspan seat list`",
            target=Target(of="ratio", bound="at most", limit=2),
        ),
        Figure(
            what="`a2app APP data cards list`",
            unit="ms",
            ours=listing,
            peer=seats,
            peer_name="`inspan seat list`",
        ),
    ]


def find_program(name: str) -> str:
    """The command of this name beside this interpreter.

    Raises:
        FileNotFoundError: There is none.
    """
    found = shutil.which(name, path=os.path.dirname(sys.executable))
    if found is None:
        raise FileNotFoundError(f"the `{name}` command is not installed beside this Python")
    return found


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
