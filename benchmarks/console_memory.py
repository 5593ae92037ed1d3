"""How much memory does a seat's screen of 200x50 take with 1,000 lines above it?

Each side fills its screens in a process of its own; what one more of them adds to the process is what it takes.
The lines are words in two colours, as long as lines of answers are.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from datetime import UTC, datetime

from .busy_consoles import SIZE
from .checkout import child_environment
from .figures import Figure, Target
from .memory import rss_mb
from .peers.pyte_screen import PyteScreen
from .scale import Scale

__all__ = ["PEERS", "main", "run"]

PEERS = ("pyte",)

_LINES = 1000
_SCREENS = 10
_WORDS = [
    "the",
    "file",
    "was",
    "read",
    "and",
    "its",
    "last",
    "line",
    "says",
    "that",
    "a",
    "test",
    "failed",
    "because",
    "a",
    "name",
    "is",
    "not",
    "known",
    "any",
    "more",
    "so",
    "it",
    "is",
    "given",
    "back",
    "to",
    "where",
    "it",
    "came",
    "from",
    "and",
    "then",
    "all",
    "of",
    "them",
    "pass",
]
_BEGUN = datetime(2026, 11, 30, tzinfo=UTC)


def run(scale: Scale) -> list[Figure]:
    """Measures both sides in turns."""
    count = scale.count(_SCREENS, small=2)
    ours: list[float] = []
    peer: list[float] = []
    for _ in range(scale.rounds):
        ours.append(_measured("ours", count))
        peer.append(_measured("pyte", count))
    return [
        Figure(
            what="Memory of one more console at 200x50 with 1,000 lines above",
            unit="MB",
            ours=ours,
            peer=peer,
            peer_name="pyte 0.8.2, HistoryScreen",
            target=Target(of="ratio", bound="at most", limit=0.1),
            note="Ours with its rules and what is believed of it, after the first look.",
        )
    ]


def main(side: str, count: int) -> None:
    """Fills screens of one side, and prints what one more of them takes, in MiB."""
    kept = [_open(side, number) for number in range(2)]
    before = rss_mb([os.getpid()])
    kept += [_open(side, number) for number in range(2, count + 2)]
    print((rss_mb([os.getpid()]) - before) / count)
    del kept


def _measured(side: str, count: int) -> float:
    command = [sys.executable, "-c", f"from benchmarks.console_memory import main; main({side!r}, {count})"]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=True)
    return float(done.stdout)


def _open(side: str, seed: int) -> object:
    lines = _lines(seed)
    if side == "pyte":
        screen = PyteScreen(SIZE, history=_LINES)
        for line in lines:
            screen.feed(line)
        screen.snapshot()
        return screen
    from inspan.transports.terminal.console import Console

    console = Console(SIZE, scrollback_lines=_LINES)
    for line in lines:
        console.feed(line, at=_BEGUN)
    console.look(now=_BEGUN)
    if len(console.scrollback(_LINES)) != _LINES:
        raise RuntimeError("it does not keep the lines that it is measured with")
    return console


def _lines(seed: int) -> list[bytes]:
    chance = random.Random(seed)
    found: list[bytes] = []
    for number in range(_LINES + 3 * SIZE.rows):
        words = " ".join(chance.choices(_WORDS, k=chance.randint(1, 40)))
        found.append(f"\x1b[38;5;{number % 256}m{number}\x1b[39m {words}".encode()[:190] + b"\r\n")
    return found
