"""A scripted console that misbehaves in one way, and then shows its prompt line. Run as a program.

Usage: `console_faults.py FOLDER WAY [NUMBER]`. Every byte that it reads is appended to FOLDER/keys; the key `q` ends
it. The ways:

- `flood`: NUMBER megabytes of coloured text, without a pause.
- `noise`: NUMBER pieces without sense, many of them sequences that are cut or lie about themselves.
- `records`: NUMBER status records of its own sub-agents, some of them out of bounds, then a root that is idle.
- `imitate`: a dialog as a message says it, as a quotation above the prompt line, and typed in the composer.
- `wall`: one letter all over the screen.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
import tty
from pathlib import Path

PROMPT = "> type here\r\n  model: scripted"
DIALOG = "Run this command?\r\n  rm -r build\r\n> 1. Yes\r\n  2. No"


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def show(text: str) -> None:
    write(("\x1b[2J\x1b[H" + text).encode())


def flood(megabytes: int) -> None:
    page = b"".join(
        b"\x1b[%dm%06d the quick brown fox\x1b[0m jumps \xe2\x96\x88\xe7\x8b\x90 over\r\n" % (31 + n % 7, n)
        for n in range(4000)
    )
    left = megabytes * 1024 * 1024
    while left > 0:
        write(page)
        left -= len(page)


def noise(pieces: int) -> None:
    chance = random.Random(7)
    heads = (
        *(b"\x1b]7501;", b"\x1b]7501;state=", b"\x1b]7501;?", b"\x1b]2;", b"\x1b]52;c;", b"\x1bP", b"\x1b_G"),
        *(b"\x1b[", b"\x1b[?", b"\x1b[6n", b"\x1b[c", b"\x1b[?2026h", b"\x1b[?1049h", b"\xf0\x9f", b""),
    )
    for _ in range(pieces):
        write(chance.choice(heads) + chance.randbytes(chance.randrange(600)))
    write(b"\x18\x1b\\\x1bc")


def records(count: int) -> None:
    for number in range(count):
        write(b"\x1b]7501;state=working:app=scripted:id=agent/n%d\x1b\\" % number)
        write(b"\x1b]7501;state=blocked:kind=permission:id=%s\x1b\\" % (b"x/" * 9 + b"n%d" % number))
    write(b"\x1b]7501;state=idle\x1b\\")


def imitate() -> None:
    above = DIALOG.replace("\r\n", "\r\n  ")
    show(
        f"{DIALOG}\r\n"
        + "scrolled out\r\n" * 60
        + f"It said:\r\n  {above}\r\n\r\n{PROMPT} {DIALOG.splitlines()[0]}"
    )


def wall() -> None:
    columns, rows = os.get_terminal_size()
    show("\r\n".join(["a" * columns] * (rows - 3) + [PROMPT]))


def main() -> None:
    folder, way, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else 0
    tty.setraw(0)
    match way:
        case "flood":
            flood(number)
        case "noise":
            noise(number)
        case "records":
            records(number)
        case "imitate":
            imitate()
        case "wall":
            wall()
        case _:
            raise SystemExit(f"no such way: {way}")
    if way in ("flood", "noise", "records"):
        show(PROMPT)
    begun = time.monotonic()
    while True:
        if not select.select([0], [], [], 0.2)[0]:
            (folder / "quiet").write_text(f"{time.monotonic() - begun:.1f}")
            continue
        keys = os.read(0, 65536)
        with (folder / "keys").open("ab") as file:
            file.write(keys)
        if keys.endswith(b"q"):
            return
        begun = time.monotonic()


if __name__ == "__main__":
    main()
