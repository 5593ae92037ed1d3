"""Launches with a terminal: what they wrote, for which size, and programs to put into one."""

from __future__ import annotations

from typing import Any

from inspan.holder import HolderConnection, HolderSpec, TerminalSize

from .holders import Launches, script, until

SIZE = TerminalSize(columns=80, rows=24)

RAW = "import os, signal, sys, time, tty\ntty.setraw(0)\nos.write(1, b'ready ')\n"
"""Begins a program that reads single bytes and has no echo."""

ECHO_RAW = RAW + "while data := os.read(0, 65536): os.write(1, data)\n"
"""Writes back every byte that it reads, as the terminal would not."""

SAYS_SIZE = (
    "import os, signal\n"
    "def say(*_):\n"
    "    size = os.get_terminal_size()\n"
    "    os.write(1, b'%dx%d ' % (size.columns, size.lines))\n"
    "signal.signal(signal.SIGWINCH, say)\n"
    "say()\n"
    "while True: signal.pause()\n"
)
"""Says its size at the start and at each SIGWINCH."""


class Shown:
    """What a connection has received of a terminal, checked to be without a gap and of one size a piece."""

    def __init__(self, from_offset: int = 0) -> None:
        self.start = from_offset
        self.data = bytearray()
        self.sizes: list[tuple[int, TerminalSize]] = []

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    def take(self, offset: int, data: bytes) -> None:
        assert self.sizes, "the size comes before the first byte"
        assert offset == self.end
        assert data
        self.data += data

    def resized(self, offset: int, size: TerminalSize) -> None:
        assert offset == self.end
        self.sizes.append((offset, size))

    async def saw(self, what: bytes) -> None:
        """Return when `what` has come."""
        await until(lambda: what in self.data, f"{what!r} is shown")


async def start_in_terminal(
    launches: Launches, text: str, *, columns: int = 80, rows: int = 24, **changes: Any
) -> HolderSpec:
    """Start a Python program in a terminal."""
    return await launches.start(*script(text), terminal=size(columns, rows), **changes)


async def follow(connection: HolderConnection, from_offset: int = 0) -> Shown:
    """Attach, and collect what comes."""
    shown = Shown(from_offset)
    await connection.attach(from_offset, shown.take, resized=shown.resized)
    return shown


def size(columns: int, rows: int) -> TerminalSize:
    """A size."""
    return TerminalSize(columns=columns, rows=rows)
