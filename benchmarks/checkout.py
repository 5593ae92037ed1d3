"""The checkout that the benchmarks are part of, for programs of theirs that run as processes of their own."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["ROOT", "TESTS", "child_environment"]

ROOT = Path(__file__).resolve().parents[1]
"""Its folder."""

TESTS = ROOT / "tests"
"""Where the drafts of events and the namespace without a network are, which the tests share."""


def child_environment() -> dict[str, str]:
    """The environment of a program that imports what is here, from wherever it is started."""
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(ROOT), str(TESTS), *([before] if before else [])])
    return {**os.environ, "PYTHONPATH": path}
