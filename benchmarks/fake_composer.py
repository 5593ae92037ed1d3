"""A scripted console with an input line that says when what was typed came to it.

`python fake_composer.py`: draws an input line and takes pastes and Enter. It tells of each, as a datagram to the
socket `typed` in its working folder, `text 81723812831` or `enter 81723812831`: the clock right after the bytes were
read (microseconds, of `CLOCK_MONOTONIC`, which is one clock for all processes). A prompt is worked on for a moment.
The standard library alone.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
import tty

__all__ = ["SOCKET"]

SOCKET = "typed"

_PASTE, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_WORKS_S = 0.05
_ROWS = 50


def _frame(text: bytes, *, is_busy: bool) -> bytes:
    row = b"* working" if is_busy else b""
    shown = text[-150:]
    return b"".join(
        [
            b"\x1b[?2026h",
            b"\x1b[%d;1H\x1b[2K%s" % (_ROWS - 3, row),
            b"\x1b[%d;1H\x1b[2K  model: fake" % _ROWS,
            b"\x1b[%d;1H\x1b[2K> %s" % (_ROWS - 1, shown),
            b"\x1b[?2026l",
        ]
    )


def _main() -> None:
    tty.setraw(0)
    teller = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    text, pending, busy_until = b"", b"", 0.0
    _write(b"\x1b[?1049h\x1b[2J\x1b[?2004h" + _frame(text, is_busy=False))
    while True:
        wait_s = max(0.0, busy_until - time.monotonic()) if busy_until else None
        if not select.select([0], [], [], wait_s)[0]:
            busy_until = 0.0
            _write(_frame(text, is_busy=False))
            continue
        read = os.read(0, 65536)
        clock_us = time.monotonic_ns() // 1000
        if not read:
            return
        pending += read
        told: list[str] = []
        if pending.startswith(_PASTE) and _PASTE_END in pending:
            pasted, _, pending = pending.removeprefix(_PASTE).partition(_PASTE_END)
            text += pasted
            told.append("text")
        if pending.startswith(b"\r"):
            pending = pending[1:]
            text, busy_until = b"", time.monotonic() + _WORKS_S
            told.append("enter")
        for what in told:
            with contextlib.suppress(OSError):
                teller.sendto(f"{what} {clock_us}".encode(), SOCKET)
        if told:
            _write(_frame(text, is_busy=busy_until > 0))


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    _main()
