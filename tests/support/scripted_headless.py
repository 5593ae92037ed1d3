"""A scripted harness of one-shot runs: counts every prompt, numbers everything that it says.

Run as a program: `scripted_headless.py STATE_FOLDER [SESSION]`. It reads its prompt to the end of its input and
appends it to `prompts.jsonl` before it does anything about it; an empty one it refuses. Words in the prompt choose what happens:

- `say N`: N numbered records; `every S` puts S seconds between them.
- `silent`: exits with status 0 and says nothing. `auth`: exits with status 41. `misleading`: a good result, then
  status 1. `hang`: says one thing and never ends. `retry`: says that it waits a minute, and then does.
- `take`: says that it took the prompt; with `die` behind it, it is killed, with `leave` it exits with status 0,
  without a word more.
- `deny`: reports a tool call that it denied.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["main"]


def say(kind: str, **values: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **values}) + "\n")
    sys.stdout.flush()


def note(folder: Path, text: str, session: str) -> None:
    with (folder / "prompts.jsonl").open("a") as file:
        file.write(json.dumps({"text": text, "session": session, "pid": os.getpid()}) + "\n")
        file.flush()
        os.fsync(file.fileno())


def open_session(folder: Path, wanted: str) -> str:
    if not wanted:
        wanted = f"s-{os.getpid()}"
        (folder / wanted).touch()
    elif not (folder / wanted).exists():
        sys.stderr.write("No conversation found\n")
        sys.exit(1)
    return wanted


def main() -> None:
    folder = Path(sys.argv[1])
    text = sys.stdin.read()
    if not text:
        sys.stderr.write("No prompt was given.\n")
        sys.exit(2)
    if "auth" in text:
        sys.stderr.write("You must set a key.\n")
        sys.exit(41)
    session = open_session(folder, sys.argv[2] if len(sys.argv) > 2 else "")
    note(folder, text, session)
    if "silent" in text:
        sys.exit(0)
    if "take" in text:
        say("took")
        if "die" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "leave" in text:
            sys.exit(0)
    say("init", session=session, model="scripted-1")
    if "deny" in text:
        command = {"type": "tool", "id": "c1", "name": "Shell", "input": {"command": "make"}}
        say("blocks", content=[command])
        say("denied", id="c1", why="nobody could be asked")
    wanted = re.search(r"say (\d+)", text)
    pause = re.search(r"every ([\d.]+)", text)
    for number in range(1, (int(wanted[1]) if wanted else 1) + 1):
        say("say", words=f"n{number}")
        if pause:
            time.sleep(float(pause[1]))
    if "retry" in text:
        say("retry", ms=60000, attempt=1, of=10, why="429")
    if "retry" in text or "hang" in text:
        time.sleep(600)
    say("end", how="good")
    sys.exit(1 if "misleading" in text else 0)


if __name__ == "__main__":
    main()
