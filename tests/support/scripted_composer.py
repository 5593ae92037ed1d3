"""A scripted console with an input line, that logs each key with what it met. Run as a program.

Usage: `scripted_composer.py FOLDER`. FOLDER/script.json may hold a list of replies, one a turn: `{"work_s": 0.3,
"ask": "rm -r build", "say": "text", "limit": true}`; without one every turn works for a moment. FOLDER/orders is
polled for lines that a test writes: `dialog TEXT` draws a dialog at once, `draft TEXT` puts text into the input line
as a person would have, `undraft` removes it, `swallow` loses the next paste, `deaf N` ignores the next N Enters,
`front` gives the terminal to another program for a second, `slow S` sets how long a turn works.

Each thing that is read goes to FOLDER/keys.jsonl: `{"met": "composer|draft|dialog|busy|front", "what": "text|enter|escape|
key", "data": "…"}`. Each prompt that is submitted goes to FOLDER/prompts.jsonl, each answer to FOLDER/answers.jsonl.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import termios
import time
import tty
from pathlib import Path
from typing import Any

HOME = 2
PASTE, PASTE_END = b"\x1b[200~", b"\x1b[201~"


class Console:
    clock = staticmethod(time.monotonic)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.text = ""
        self.is_draft = False
        self.busy_until = 0.0
        self.dialog: str | None = None
        self.then: dict[str, Any] = {}
        self.marked = 0
        self.notes: list[str] = []
        self.work_s = 0.2
        self.deaf = 0
        self.swallows = False
        self.buffer = b""
        self.read_orders = 0
        self.drawn = ""
        script = folder / "script.json"
        self.script: list[dict[str, Any]] = json.loads(script.read_text()) if script.exists() else []

    @property
    def is_busy(self) -> bool:
        return self.busy_until > 0

    def met(self) -> str:
        if self.dialog is not None:
            return "dialog"
        if self.is_busy:
            return "busy"
        return "draft" if self.is_draft else "composer"

    def log(self, name: str, **values: Any) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(values) + "\n")

    def emit(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def draw(self) -> None:
        lines = [*self.notes[-4:], ""]
        if self.dialog is not None:
            lines += ["Run this command?", f"  {self.dialog}"]
            lines += [
                f"{'>' if self.marked == at else ' '} {at + 1}. {word}" for at, word in enumerate(CHOICES)
            ]
            out = "\x1b[2J\x1b[H" + "\r\n".join(lines) + "\x1b[?25l"
        else:
            if self.is_busy:
                lines += ["* Working (esc to interrupt)"]
            shown = self.text.split("\n")[-5:]
            row = len(lines) + len(shown)
            lines += ["> " + shown[0], *("  " + more for more in shown[1:]), "  model: scripted"]
            column = HOME + len(shown[-1]) + 1
            out = "\x1b[2J\x1b[H" + "\r\n".join(lines) + f"\x1b[{row};{column}H\x1b[?25h"
        if out != self.drawn:
            self.drawn = out
            self.emit(b"\x1b[?2026h" + out.encode() + b"\x1b[?2026l")

    def take(self, data: bytes) -> None:
        self.buffer += data
        while self.buffer:
            if self.buffer.startswith(PASTE):
                end = self.buffer.find(PASTE_END)
                if end < 0:
                    return  # the rest of the paste is on its way
                raw, self.buffer = self.buffer[len(PASTE) : end], self.buffer[end + len(PASTE_END) :]
                self.type(raw)
                self.swallows = False
            elif 1 < len(self.buffer) < len(PASTE) and PASTE.startswith(self.buffer):
                return
            else:
                self.take_key()

    def take_key(self) -> None:
        for keys, name in (
            (b"\x1b[A", "up"),
            (b"\x1b[B", "down"),
            (b"\r", "enter"),
            (b"\x15", "clear"),
            (b"\x1b", "escape"),
        ):
            if self.buffer.startswith(keys):
                self.buffer = self.buffer[len(keys) :]
                self.press(name)
                return
        end = next((at for at, byte in enumerate(self.buffer) if byte < 0x20), len(self.buffer)) or 1
        raw, self.buffer = self.buffer[:end], self.buffer[end:]
        self.type(raw)

    def type(self, raw: bytes) -> None:
        text = raw.decode("utf-8", "replace").replace("\r", "\n")
        self.log("keys.jsonl", met=self.met(), what="text", data=text)
        if self.dialog is None and not self.swallows:
            self.text += text

    def press(self, key: str) -> None:
        self.log("keys.jsonl", met=self.met(), what=key, data=self.text)
        if self.dialog is not None:
            self.press_in_dialog(key)
        elif key == "enter" and self.deaf:
            self.deaf -= 1
        elif key == "enter" and self.text:
            self.log("prompts.jsonl", text=self.text, met=self.met())
            self.notes.append("you: " + self.text.split("\n")[0][:60])
            self.text, self.is_draft = "", False
            turn = self.script.pop(0) if self.script else {}
            self.busy_until = self.clock() + float(turn.get("work_s", self.work_s))
            self.then = turn
            if turn.get("ask"):
                self.dialog, self.marked = str(turn["ask"]), 0
        elif key == "clear":
            self.text, self.is_draft = "", False
        elif key == "escape" and self.is_busy:
            self.busy_until = 0.0
            self.then = {}
            self.notes.append("Interrupted")

    def press_in_dialog(self, key: str) -> None:
        match key:
            case "down":
                self.marked = min(self.marked + 1, len(CHOICES) - 1)
            case "up":
                self.marked = max(self.marked - 1, 0)
            case "enter" | "escape":
                choice = CHOICES[self.marked] if key == "enter" else "escape"
                self.log("answers.jsonl", asked=self.dialog, choice=choice)
                self.dialog = None
                self.notes.append(f"answered {choice}")
            case _:
                pass

    def obey(self) -> None:
        path = self.folder / "orders"
        if not path.exists():
            return
        orders = path.read_text().splitlines(keepends=True)
        for order in orders[self.read_orders :]:
            if not order.endswith("\n"):
                break
            self.read_orders += 1
            word, _, rest = order.strip().partition(" ")
            self.do(word, rest)
            self.log("done.jsonl", order=order.strip())

    def do(self, word: str, rest: str) -> None:
        match word:
            case "dialog":
                self.dialog, self.marked = rest, 0
            case "undialog":
                self.dialog = None
            case "draft":
                self.text, self.is_draft = rest, True
            case "undraft":
                self.text, self.is_draft = "", False
            case "swallow":
                self.swallows = True
            case "deaf":
                self.deaf = int(rest)
            case "slow":
                self.work_s = float(rest)
            case "front":
                self.lend()
            case _:
                pass

    def lend(self) -> None:
        """Another program reads the terminal for a while, as an editor or a shell would, and logs what it reads."""
        here = str(self.folder / "front")
        program = f"import sys,select,os\nopen({here!r},'ab').close()\nimport time\nend=time.time()+1.5\nwhile time.time()<end:\n r=select.select([0],[],[],0.1)[0]\n if r: open({here!r},'ab').write(os.read(0,4096))\n"
        child = subprocess.Popen([sys.executable, "-c", program], process_group=0)
        old = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, child.pid)
        child.wait()
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, old)

    def run(self) -> None:
        self.emit(b"\x1b[?2004h\x1b[?1049h")
        self.draw()
        while True:
            readable = select.select([0], [], [], 0.02)[0]
            if readable:
                data = os.read(0, 65536)
                if not data:
                    return
                self.take(data)
            self.obey()
            self.tick()

    def tick(self) -> None:
        if self.is_busy and self.dialog is None and self.clock() > self.busy_until:
            self.busy_until = 0.0
            self.notes.append("Usage limit reached. Resets at 3pm." if self.then.get("limit") else "done")
            self.then = {}
        self.draw()


CHOICES = ("Yes", "Yes, always", "No")


def main() -> None:
    folder = Path(sys.argv[1])
    tty.setraw(0)
    (folder / "pid").write_text(str(os.getpid()))
    signal.signal(signal.SIGWINCH, signal.SIG_IGN)
    with contextlib.suppress(OSError, termios.error):
        Console(folder).run()


if __name__ == "__main__":
    main()
