"""A scripted console that is busy: it draws a screen of its own without a pause, and changes its state now and then.

`python fake_console.py`: ten frames a second of 3,000 bytes, each drawn in place in one synchronized update, with
colours, a turning sign and a box. Its last row says what it does: `* working` or `? asking`, and since when, as in
`? asking n=17 t=81723812831 s=s4711 since then`: the number of the state, the clock when it was written first
(microseconds, of `CLOCK_MONOTONIC`, which is one clock for all processes), and the process. About once a second the
state changes. The standard library alone.
"""

from __future__ import annotations

import os
import random
import time

__all__ = ["FRAMES_PER_SECOND", "FRAME_BYTES"]

FRAMES_PER_SECOND = 10
FRAME_BYTES = 3000

_ROWS = 50
_COLUMNS = 200
_SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_WORDS = [
    "the",
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
    "goes",
    "back",
    "to",
    "where",
    "it",
    "came",
    "from",
]


def _frame(number: int, status: str, chance: random.Random) -> bytes:
    begin = f"\x1b[?2026h\x1b[?25l\x1b[{_ROWS};1H\x1b[2K{status}\x1b[{_ROWS - 2};1H╭{'─' * 60}╮"
    end = "\x1b[?25h\x1b[?2026l"
    parts = [begin, f"\x1b[{_ROWS - 1};1H│ \x1b[35m{_SIGNS[number % len(_SIGNS)]}\x1b[39m │"]
    left = FRAME_BYTES - sum(len(part.encode()) for part in parts) - len(end)
    while left > 160:
        words = " ".join(chance.choices(_WORDS, k=chance.randint(3, 12)))
        row = (
            f"\x1b[{chance.randint(1, _ROWS - 4)};1H\x1b[2K\x1b[38;2;{chance.randint(0, 255)};120;90m"
            f"{number}\x1b[39m \x1b[1m{words[:20]}\x1b[22m{words[20:]}"
        )
        parts.append(row)
        left -= len(row.encode())
    parts.append(f"\x1b[{_ROWS - 3};1H\x1b[2m{'.' * max(0, left - 30)}\x1b[22m")
    return "".join([*parts, end]).encode()


def _main() -> None:
    os.environ.setdefault("TERM", "xterm-256color")
    chance = random.Random(os.getpid())
    states = ("* working", "? asking")
    number, changes_at = 0, 0.0
    status = ""
    begun = time.monotonic() + chance.random() / FRAMES_PER_SECOND
    _write(b"\x1b[?1049h\x1b[2J")
    for count in range(1 << 40):
        while (wait_s := begun + count / FRAMES_PER_SECOND - time.monotonic()) > 0:
            time.sleep(wait_s)
        if time.monotonic() >= changes_at:
            number += 1
            changes_at = time.monotonic() + chance.uniform(0.7, 1.3)
            clock_us = time.monotonic_ns() // 1000
            status = f"{states[number % 2]} n={number} t={clock_us} s=s{os.getpid()} since then"
        _write(_frame(count, status, chance))


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    _main()
