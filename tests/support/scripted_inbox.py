"""A console with an inbox of its own: `scripted_inbox.py post FOLDER SESSION TEXT`, or `scripted_inbox.py FOLDER` for the console.

What is posted goes to FOLDER/inbox.jsonl, with the session and a variable of the surroundings, and the console takes it
from there as if it had been submitted. FOLDER/inbox_way may hold `refuse` (status 1) `hang` (takes it, and never
ends) or `keep` (the console leaves it there).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import termios
import time
import tty
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.scripted_composer import Console

__all__ = ["InboxConsole", "main"]


class InboxConsole(Console):
    """The scripted console, which also looks into its inbox."""

    taken = 0

    def tick(self) -> None:
        inbox = self.folder / "inbox.jsonl"
        lines = inbox.read_text().splitlines() if inbox.exists() else []
        way = self.folder / "inbox_way"
        is_kept = way.exists() and way.read_text().strip() == "keep"
        if len(lines) > self.taken and not is_kept and not self.is_busy and self.dialog is None:
            text = str(json.loads(lines[self.taken])["text"])
            self.taken += 1
            self.log("prompts.jsonl", text=text, met="inbox")
            self.notes.append("you: " + text.split("\n")[0][:60])
            self.busy_until = self.clock() + self.work_s
        super().tick()


def post(folder: Path, session: str, text: str) -> int:
    """Puts a text into the inbox."""
    way = folder / "inbox_way"
    how = way.read_text().strip() if way.exists() else ""
    if how == "refuse":
        return 1
    with (folder / "inbox.jsonl").open("a") as file:
        mark = os.environ.get("INBOX_MARK", "")
        file.write(json.dumps({"session": session, "text": text, "mark": mark}) + "\n")
    while how == "hang":
        time.sleep(1)
    return 0


def main() -> int:
    """Runs as the arguments say."""
    if sys.argv[1] == "post":
        return post(Path(sys.argv[2]), sys.argv[3], sys.argv[4])
    tty.setraw(0)
    signal.signal(signal.SIGWINCH, signal.SIG_IGN)
    with contextlib.suppress(OSError, termios.error):
        InboxConsole(Path(sys.argv[1])).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
