"""Install a pinned harness from npm or PyPI, once per machine.

The cache is `$INSPAN_CACHE`, else `inspan-live` in `$XDG_CACHE_HOME` or `~/.cache`; in it, `NAME-VERSION/`. An
installation appears there complete or not at all, and any number of processes may ask for it at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["InstallError", "Installed", "Pin", "install", "read_pins"]

PINS = Path(__file__).with_name("pins.toml")

_INSTALL_TIMEOUT_S = 600
_VERSION_TIMEOUT_S = 60


class InstallError(Exception):
    """A pinned harness could not be installed, or is not what was pinned."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """One entry of `pins.toml`, whose comment says what the fields mean."""

    package: str
    version: str
    program: str
    says: str
    runs_scripts: bool = False
    node: str = ""
    python: str = ""
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """A harness ready to run: `folder` goes on the `PATH`, after `needs`; `program` is the file itself.

    Of a library, `folder` is the `node_modules` it is in, and `program` its own folder there.
    """

    folder: Path
    program: Path
    version: str
    needs: tuple[Path, ...] = ()


def read_pins() -> dict[str, Pin]:
    """Read the pins by name."""
    return {name: Pin(**fields) for name, fields in tomllib.loads(PINS.read_text()).items()}


def install(name: str) -> Installed:
    """Make sure that the pinned `name` is in the cache, and that it is the version that was pinned.

    Raises:
        InstallError: npm, uv or the Python is missing or failed, or the program says another version.
    """
    pin = read_pins()[name]
    needs = (install(pin.node).folder,) if pin.node else ()
    place = _cache() / f"{name}-{pin.version}"
    with _locked(place.with_name(f".{place.name}.lock")):
        if not place.exists():
            _install_into(place, pin, needs, _fill_from_pypi if pin.python else _fill_from_npm)
    return _installed(place, pin, needs)


def _install_into(place: Path, pin: Pin, needs: tuple[Path, ...], fill: Callable[[Path, Pin], None]) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        fill(unfinished, pin)
        _installed(unfinished, pin, needs)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _fill_from_npm(folder: Path, pin: Pin) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"npm is not installed, so {pin.package} cannot be; install Node.js with npm")
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    exact = f"{pin.package}@{pin.version}"
    _run([npm, "install", "--prefix", str(folder), "--ignore-scripts", *quiet, exact])
    if pin.runs_scripts:
        _run([npm, "rebuild", "--prefix", str(folder), *quiet, pin.package])


def _fill_from_pypi(folder: Path, pin: Pin) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}")
    if uv is None:
        raise InstallError(f"uv is not installed, so {pin.package} cannot be; `make` puts it into .venv")
    # The folder moves when it is complete, so nothing in it may know where it is.
    _run([uv, "venv", "--quiet", "--allow-existing", "--relocatable", "--python", _python(pin), str(folder)])
    exact = [f"{pin.package}=={pin.version}", *pin.beside]
    _run(
        [uv, "pip", "install", "--quiet", "--link-mode=copy", "--python", str(folder / "bin/python"), *exact]
    )


def _python(pin: Pin) -> str:
    """A Python of the pinned minor version: from the `PATH`, or one that pyenv keeps but has not put there."""
    # Not below $HOME, which a test points elsewhere.
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path(pwd.getpwuid(os.getuid()).pw_dir) / ".pyenv")
    kept = sorted((pyenv / "versions").glob(f"{pin.python}.*/bin/python"))
    for found in (shutil.which(f"python{pin.python}"), *map(str, kept)):
        with contextlib.suppress(InstallError):
            if found and _run([found, "-c", ""], timeout_s=_VERSION_TIMEOUT_S) == "":
                return found
    raise InstallError(f"{pin.package} needs Python {pin.python}, which is not installed here")


def _installed(place: Path, pin: Pin, needs: tuple[Path, ...]) -> Installed:
    folder = place / "bin" if pin.python else place / "node_modules" / ".bin"
    if not pin.program:
        return _installed_library(place, pin, needs)
    program = folder / pin.program
    with tempfile.TemporaryDirectory(prefix="isp-") as home:
        path = os.pathsep.join([*map(str, needs), os.environ.get("PATH", os.defpath)])
        environment = {"PATH": path, "HOME": home}
        said = _run(
            [str(program), "--version"], timeout_s=_VERSION_TIMEOUT_S, environment=environment
        ).strip()
    if said != pin.says and not said.startswith(f"{pin.says}\n"):
        raise InstallError(
            f"{program} says version {said!r}, but {pin.says!r} is pinned; remove {place} and try again"
        )
    return Installed(folder=folder, program=program, version=pin.version, needs=needs)


def _installed_library(place: Path, pin: Pin, needs: tuple[Path, ...]) -> Installed:
    package = place / "node_modules" / pin.package
    said = str(json.loads((package / "package.json").read_text(encoding="utf-8"))["version"])
    if said != pin.says:
        raise InstallError(f"{package} is version {said!r}, but {pin.says!r} is pinned; remove {place}")
    return Installed(folder=place / "node_modules", program=package, version=pin.version, needs=needs)


def _run(
    argv: list[str], *, timeout_s: float = _INSTALL_TIMEOUT_S, environment: dict[str, str] | None = None
) -> str:
    try:
        done = subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallError(f"{' '.join(argv)}: {error}") from error
    if done.returncode:
        raise InstallError(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def _cache() -> Path:
    user_caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    cache = Path(os.environ.get("INSPAN_CACHE") or user_caches / "inspan-live").expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    return cache


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
