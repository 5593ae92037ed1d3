"""How many consoles of 30 KB/s does one core follow at 200x50, each read by its rules ten times a second?

The consoles write what the built-in harnesses wrote while they were recorded. Both sides are fed the same pieces and
read by the same rules; the core's time is that of the one thread that does it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from inspan.transports.terminal.console import Console
from inspan.transports.terminal.evaluating import RuleBook

from .busy_consoles import BYTES_PER_SECOND, SIZE, BusyConsole, read_consoles
from .figures import Figure, Target
from .peers.pyte_screen import PyteScreen
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS = ("pyte",)

_LOOKS_PER_SECOND = 10
_BEGUN = datetime(2026, 11, 30, tzinfo=UTC)


def run(scale: Scale) -> list[Figure]:
    """Measures all consoles one after the other, each side in turns."""
    seconds = scale.seconds(10.0, small=1.0)
    consoles = read_consoles(seconds=seconds)
    _follow(consoles[0])
    ours: list[float] = []
    peer: list[float] = []
    for _ in range(scale.rounds):
        ours.append(seconds * len(consoles) / sum(map(_follow, consoles)))
        peer.append(seconds * len(consoles) / sum(map(_follow_with_pyte, consoles)))
    return [
        Figure(
            what=f"Consoles of {BYTES_PER_SECOND // 1000} KB/s that one core follows, {len(consoles)} harnesses",
            unit="consoles",
            ours=ours,
            peer=peer,
            peer_name="pyte 0.8.2",
            target=Target(of="ratio", bound="at least", limit=20),
            note=(
                "Recorded at 120x40 and shown at 200x50. Ours also answers the program, reads titles and status "
                "reports, and weighs what it sees; the peer draws, and its rows are read by the same rules."
            ),
        )
    ]


def _follow(console: BusyConsole) -> float:
    followed = Console(SIZE, rules=console.rules)
    pieces, every = console.pieces, _pieces_per_look(console)
    now, step = _BEGUN, timedelta(seconds=1 / _LOOKS_PER_SECOND / every)
    begun = time.thread_time()
    for number, piece in enumerate(pieces, 1):
        now += step
        followed.feed(piece, at=now)
        if number % every == 0:
            followed.look(now=now)
    passed = time.thread_time() - begun
    followed.close()
    return passed


def _follow_with_pyte(console: BusyConsole) -> float:
    screen, book = PyteScreen(SIZE), RuleBook(console.rules)
    every = _pieces_per_look(console)
    begun = time.thread_time()
    for number, piece in enumerate(console.pieces, 1):
        screen.feed(piece)
        if number % every == 0:
            book.read(screen.snapshot())
    return time.thread_time() - begun


def _pieces_per_look(console: BusyConsole) -> int:
    return BYTES_PER_SECOND // len(console.pieces[0]) // _LOOKS_PER_SECOND
