"""A console that passes through states by chance for as long as it runs. Run as a program.

Usage: `console_parade.py FOLDER`. What it writes is appended to FOLDER/written-PID before it is written, what it
reads to FOLDER/heard-PID. Now and then it asks its terminal a question that no other question is like; the answers
that are due are in FOLDER/due-PID. While FOLDER/hold is there it stands still, and has said so in FOLDER/held-PID.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import sys
import time
import tty
from pathlib import Path

COLUMNS, ROWS = 100, 30
PROMPT = "> type here\r\n  model: scripted"
STATES = (
    ("", PROMPT),
    ("state=done", PROMPT),
    ("state=working:app=scripted", "* Working (esc to interrupt)\r\n\r\n" + PROMPT),
    ("", "* Working (esc to interrupt)\r\n\r\n" + PROMPT),
    ("state=blocked:kind=permission", "Run this command?\r\n  rm -r build\r\n> 1. Yes\r\n  2. No"),
    ("", "Do you trust this folder?\r\n> 1. Yes\r\n  2. No, exit"),
    ("", "Usage limit reached. Resets at 3pm.\r\n\r\n" + PROMPT),
    ("state=error:msg=aXQgYnJva2U", PROMPT),
    ("state=working:id=agent/1:title=ZG9jcw", ""),
    ("", "nothing that anybody knows"),
)
"""A status report, or that there is none, and what is on the screen with it."""


class Parade:
    """The program."""

    def __init__(self, folder: Path) -> None:
        pid = os.getpid()
        self.folder = folder
        self.held = folder / f"held-{pid}"
        self.chance = random.Random(pid)
        self.written = (folder / f"written-{pid}").open("ab", buffering=0)
        self.heard = (folder / f"heard-{pid}").open("ab", buffering=0)
        self.due = (folder / f"due-{pid}").open("ab", buffering=0)
        self.asked = 0

    def write(self, data: bytes) -> None:
        self.written.write(data)
        while data:
            data = data[os.write(1, data) :]

    def show(self) -> None:
        status, text = self.chance.choice(STATES)
        if not text:
            self.write(f"\x1b]7501;{status}\x1b\\".encode())
            return
        # What an earlier state reported is taken back, so that report and screen agree.
        report = (
            f"\x1b]7501;state=clear\x1b\\\x1b]7501;{status}\x1b\\"
            if status
            else "\x1b]7501;state=clear\x1b\\"
        )
        self.write((report + "\x1b[2J\x1b[H" + text).encode())

    def ask(self) -> None:
        row, column = 5 + self.asked % (ROWS - 5), 1 + self.asked // (ROWS - 5) % COLUMNS
        self.asked += 1
        self.due.write(b"\x1b]7501;?\x1b\\\x1b[%d;%dR" % (row, column))
        self.write(b"\x1b]7501;?\x1b\\\x1b[%d;%dH\x1b[6n" % (row, column))

    def listen(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([0], [], [], left)[0]:
                self.heard.write(os.read(0, 65536))

    def run(self) -> None:
        tty.setraw(0)
        while True:
            if (self.folder / "hold").exists():
                self.held.write_text("")
                self.listen(0.02)
                continue
            with contextlib.suppress(FileNotFoundError):
                self.held.unlink()
            chance = self.chance.random()
            if chance < 0.04:
                self.write(b"".join(b"line %d of a flood\r\n" % n for n in range(16_000)))
                self.show()
            elif chance < 0.5:
                self.ask()
            else:
                self.show()
            self.listen(self.chance.uniform(0, 0.04))


if __name__ == "__main__":
    Parade(Path(sys.argv[1])).run()
