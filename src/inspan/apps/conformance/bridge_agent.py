"""The stand-in of an agent: does what its arguments say, and knows of any bridge's prompt only the id of the task in it.

`python bridge_agent.py NOTES A2APP STEP… PROMPT`. The steps:

- `progress`, `complete`, `refuse`, `ask`: calls the operate program with the app as `.`
- `environment`: notes the names of its variables
- `sleep`: waits until it is ended
- `exit N`: ends with this status

The standard library alone, since it is run by itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["main"]

_TASK = re.compile(r"\btsk_[0-9a-f]{16}\b")


def main(argv: list[str]) -> int:
    """Does the steps; the exit status."""
    notes, a2app, *steps, prompt = argv
    found = _TASK.search(prompt)
    task = found[0] if found else ""
    _note(Path(notes), {"task": task, "prompt": prompt, "folder": os.getcwd()})
    for step in steps:
        match step.split():
            case ["progress"]:
                _report(a2app, "progress", task, "--percent", "50")
            case ["complete"]:
                _report(a2app, "complete", task, "--result", '{"by":"the stand-in"}')
            case ["refuse"]:
                _report(a2app, "complete", task, "--reason", "cannot_do_it")
            case ["ask"]:
                _report(a2app, "progress", task, "--ask", "Which one?")
            case ["environment"]:
                _note(Path(notes), {"names": sorted(os.environ)})
            case ["sleep"]:
                time.sleep(600)
            case ["exit", status]:
                return int(status)
            case _:
                return 99
    return 0


def _report(a2app: str, *words: str) -> None:
    subprocess.run(
        [*json.loads(a2app), ".", "tasks", *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def _note(notes: Path, said: dict[str, object]) -> None:
    with notes.open("a", encoding="utf-8") as file:
        file.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
