"""Live tests that wait for a variable do not run without it, and nobody can take that for a pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


VARIABLES = ("INSPAN_LIVE_ALL", "INSPAN_LIVE_PROPRIETARY")


def collect(*files: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What pytest would run of these files, with these variables and no other of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("INSPAN_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *(f"tests/live/{one}" for one in files)],
        cwd=ROOT,
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_nobody_asked_for_is_named_as_not_run() -> None:
    done = collect("test_proprietary.py", "test_headless_more.py")
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "skipped" not in done.stdout
    for variable in VARIABLES:
        assert f"run them with {variable}=1" in done.stdout


def test_what_somebody_asked_for_runs() -> None:
    done = collect("test_proprietary.py", "test_headless_more.py", **dict.fromkeys(VARIABLES, "1"))
    assert done.returncode == pytest.ExitCode.OK
    assert "NOT RUN" not in done.stdout
