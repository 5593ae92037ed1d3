"""A scripted console with an input line that has a hook system of its own. Run as a program.

Usage: `scripted_hooked.py FOLDER`, as `scripted_composer.py`. It runs the commands of the file that the variable
SCRIPTED_HOOKS names, else of FOLDER/hooks.json: `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}`,
each with a payload on its standard input. Its events are SessionStart, UserPromptSubmit, PermissionRequest, Stop and StopFailure; a
reply `{"fail": WORD}` in FOLDER/script.json ends its turn with the last. The order `hook EVENT JSON` fires one by itself,
`nest EVENT JSON` the same from a process in between, and `quiet EVENT` stops one from being fired. What each run of a
command said, and how it ended, goes to FOLDER/ran.jsonl.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import termios
import tty
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.scripted_composer import Console

SESSION = "5e551011-0000-4000-8000-000000000001"


class HookedConsole(Console):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.was_busy = False
        self.asked: str | None = None
        self.fail = ""
        self.turns = 0
        self.quiet: set[str] = set()
        self.told = 0
        self.fire("SessionStart", source="startup")

    def fire(self, event: str, *, nested: bool = False, **fields: Any) -> None:
        if event in self.quiet:
            return
        path = Path(os.environ.get("SCRIPTED_HOOKS") or self.folder / "hooks.json")
        hooks: dict[str, Any] = json.loads(path.read_text())["hooks"] if path.exists() else {}
        said = {"session_id": SESSION, "cwd": os.getcwd(), "turn_id": f"turn-{self.turns}"}
        payload = json.dumps({**said, "hook_event_name": event, **fields})
        for group in hooks.get(event, []):
            for one in group["hooks"]:
                argv = ["/bin/sh", "-c", one["command"]]
                if nested:
                    argv = ["/bin/sh", "-c", '/bin/sh -c "$0"; :', one["command"]]
                done = subprocess.run(argv, input=payload, capture_output=True, text=True, timeout=20)
                self.log("ran.jsonl", event=event, status=done.returncode, said=done.stdout + done.stderr)

    def log(self, name: str, **values: Any) -> None:
        super().log(name, **values)
        if name == "prompts.jsonl":
            self.turns += 1
            self.fire("UserPromptSubmit", prompt=values["text"])

    def draw(self) -> None:
        if self.is_busy:
            self.fail = str(self.then.get("fail") or "")
        if self.dialog is not None and self.dialog != self.asked:
            self.fire("PermissionRequest", tool=self.dialog)
        self.asked = self.dialog
        super().draw()
        if self.was_busy and not self.is_busy:
            if self.fail:
                self.fire("StopFailure", error=self.fail, message=f"the model said {self.fail}")
            else:
                self.fire("Stop")
        self.was_busy = self.is_busy

    def obey(self) -> None:
        path = self.folder / "orders"
        orders = path.read_text().splitlines(keepends=True) if path.exists() else []
        for order in orders[self.told :]:
            if not order.endswith("\n"):
                break
            self.told += 1
            word, _, rest = order.strip().partition(" ")
            event, _, fields = rest.partition(" ")
            if word in ("hook", "nest"):
                self.fire(event, nested=word == "nest", **json.loads(fields or "{}"))
            elif word == "quiet":
                self.quiet.add(event)
        super().obey()


def main() -> None:
    folder = Path(sys.argv[1])
    tty.setraw(0)
    (folder / "pid").write_text(str(os.getpid()))
    signal.signal(signal.SIGWINCH, signal.SIG_IGN)
    with contextlib.suppress(OSError, termios.error):
        HookedConsole(folder).run()


if __name__ == "__main__":
    main()
