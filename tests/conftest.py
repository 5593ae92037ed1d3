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


# How large and how long tests are, read while they run.
_KNOBS = {"INSPAN_SCHEDULES", "INSPAN_FLOOD_MB"}


# Where live tests keep what they install.
_LIVE = Path(__file__).with_name("live")
_LIVE_CACHE = "INSPAN_CACHE"


def _is_for_tests(variable: str, *, is_live: bool) -> bool:
    return variable in _KNOBS or variable.startswith("INSPAN_LIVE_") or (is_live and variable == _LIVE_CACHE)


@pytest.fixture(autouse=True)
def throwaway_home(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Point HOME, INSPAN_HOME and the XDG folders below a short new folder, and remove it afterwards.

    No test can read or change what the operator keeps. INSPAN_HOME is named but not made: making it is the
    program's work. The path is short because a Unix socket's path may have 107 bytes at most. Whatever else is
    set for Inspan where the tests were started (by a person, by CI, by a seat they run in) is out of sight too,
    save what is a setting of the tests themselves.
    """
    is_live = request.path.is_relative_to(_LIVE)
    for variable in [one for one in os.environ if one.startswith("INSPAN_")]:
        if not _is_for_tests(variable, is_live=is_live):
            monkeypatch.delenv(variable)
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


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A new folder with a short path, whoever runs the tests and with however many workers; removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="isp-")).resolve()
    yield path
    shutil.rmtree(path, ignore_errors=True)
