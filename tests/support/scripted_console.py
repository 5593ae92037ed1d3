"""A scripted console: a full-screen program that shows what the keys ask of it. Run as a program.

Usage: `scripted_console.py FOLDER [WORD…]`. Every byte that it reads is appended to FOLDER/keys. Keys:

    i  the prompt line, idle          b  works, with a spinner that goes on
    p  a dialog that asks permission  t  a dialog that asks for trust
    l  idle after a usage limit       s  the size of its terminal
    a  asks the terminal who it is    w/k/d/e  program status: working, blocked, idle, error
    c  clears its program status      z  another program takes the foreground for a while
    n  writes a megabyte              q  ends with 0
    8  draws on the other screen      9  back to the main screen, which is not drawn again

It begins with the prompt line, or with what the first WORD says. The word `late` shows nothing until a key comes.
"""

from __future__ import annotations

import base64
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time
import tty
from pathlib import Path

PROMPT = "> type here\r\n  model: scripted"


def show(text: str) -> None:
    out = ("\x1b[2J\x1b[H" + text).encode()
    while out:
        out = out[os.write(1, out) :]


def size() -> tuple[int, int]:
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))
    return columns, rows


def show_size() -> None:
    columns, rows = size()
    show(f"size {columns}x{rows}\r\n{PROMPT}")


def fit(_number: int, _frame: object) -> None:
    """Draws anew for another size."""
    show_size()


def ask() -> None:
    """Asks as programs do: status first, device attributes last, and everything until the last answer is kept."""
    os.write(1, b"\x1b]7501;?\x1b\\\x1b[6n\x1b[c")
    answer, deadline = b"", time.monotonic() + 10
    while not (answer.endswith(b"c") and b"\x1b[?" in answer) and time.monotonic() < deadline:
        if select.select([0], [], [], 0.1)[0]:
            answer += os.read(0, 1024)
    show("answers " + answer.decode("latin-1").replace("\x1b", "^[") + "\r\n" + PROMPT)


def status(fields: str) -> None:
    os.write(1, f"\x1b]7501;{fields}\x1b\\".encode())


def other_in_front() -> None:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpid())
        os.execvp("sleep", ["sleep", "5"])  # noqa: S606 - no shell is the point
    os.waitpid(child, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpgrp())
    show(PROMPT)


mode: dict[str, bool] = {"trust": False}


def press(key: str) -> bool:
    if key == "\r" and mode["trust"]:
        mode["trust"] = False
        show(PROMPT)
        return True
    match key:
        case "i":
            show(PROMPT)
        case "b":
            show("* Working (esc to interrupt)\r\n\r\n" + PROMPT)
        case "p":
            show("Run this command?\r\n  rm -r build\r\n> 1. Yes\r\n  2. No")
        case "t":
            mode["trust"] = True
            show(
                f"Do you trust this folder?\r\n  {os.environ.get('SHOWN_PATH', os.getcwd())}\r\n> 1. Yes\r\n  2. No, exit"
            )
        case "l":
            show("Usage limit reached. Resets at 3pm.\r\n\r\n" + PROMPT)
        case "s":
            show_size()
        case "a":
            ask()
        case "w":
            status("state=working:app=scripted")
        case "k":
            status("state=blocked:kind=permission:msg=" + base64.b64encode(b"may I").decode())
        case "d":
            status("state=idle")
        case "e":
            status("state=error:msg=" + base64.b64encode(b"it broke").decode())
        case "c":
            status("state=clear")
        case "z":
            other_in_front()
        case "n":
            for _ in range(320):
                show("line of text " * 300 + "\r\n")
            show("flooded\r\n" + PROMPT)
        case "8":
            os.write(1, b"\x1b[?1049h\x1b[2J\x1b[Hthe other screen")
        case "9":
            os.write(1, b"\x1b[?1049l")
        case "q":
            return False
        case _:
            pass
    return True


def main() -> None:
    folder = Path(sys.argv[1])
    tty.setraw(0)
    (folder / "pid").write_text(str(os.getpid()))
    signal.signal(signal.SIGWINCH, fit)
    word = sys.argv[2] if len(sys.argv) > 2 else "idle"
    first = {"busy": "b", "asks": "p", "trust": "t", "limit": "l"}.get(word, "i")
    if word != "late":
        press(first)
    spinner, is_on = 0, True
    while is_on:
        try:
            readable = select.select([0], [], [], 0.2)[0]
        except InterruptedError:
            continue
        if readable:
            keys = os.read(0, 65536)
            with (folder / "keys").open("ab") as file:
                file.write(keys)
            for key in keys.decode("latin-1"):
                is_on = is_on and press(key)
        spinner += 1
    show("goodbye\r\n")


if __name__ == "__main__":
    main()
