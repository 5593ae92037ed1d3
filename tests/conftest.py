"""What every test gets: a home of its own, and hypothesis settings that suit a shared machine."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SLOW_MACHINE = [HealthCheck.too_slow]

settings.register_profile("default", deadline=None, suppress_health_check=_SLOW_MACHINE)
settings.register_profile(
    "ci", deadline=None, derandomize=True, database=None, print_blob=True, suppress_health_check=_SLOW_MACHINE
)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(autouse=True)
def throwaway_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Point HOME, INSPAN_HOME and the XDG folders below a short new folder, and remove it afterwards.

    No test can read or change what the operator keeps. INSPAN_HOME is named but not made: making it is the
    program's work. The path is short because a Unix socket's path may have 107 bytes at most.
    """
    home = Path(tempfile.mkdtemp(prefix="isp-"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("INSPAN_HOME", str(home / "inspan"))
    for variable, folder in (
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "run"),
    ):
        monkeypatch.setenv(variable, str(home / folder))
    (home / "run").mkdir(mode=0o700)
    yield home
    shutil.rmtree(home, ignore_errors=True)
