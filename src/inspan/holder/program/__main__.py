"""The file that is run. It makes the folder it lies in importable as `program`, and nothing else."""

from __future__ import annotations

import importlib
import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.exit(importlib.import_module("program.start").main(sys.argv[1:]))
