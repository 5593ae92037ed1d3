"""`python -m inspan.apps.bridge FOLDER start …`: the process of a bridge in the background."""

from __future__ import annotations

import sys

from inspan.apps.programs.screen import run_program

from .command import run

if __name__ == "__main__":
    sys.exit(run_program("agent-app", lambda words: run(words[0], words[1:]), None))
