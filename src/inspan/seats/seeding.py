"""Seeding: a seat's own configuration folder is made, seen to be writable, and begun with what the manifest says."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from inspan.model.errors import HostError, UsageError
from inspan.model.installation import ConfigFolder, ConfigSeed
from inspan.model.manifest import Manifest
from inspan.model.state import SeatState
from inspan.plugin.programs import expand_home

from .isolation import Surroundings, config_variable, same_folder

__all__ = ["prepare_config"]

_SEEDED = ".inspan-seeded.json"
"""Remembers in the folder what was put there once: what its harness removes is not put back."""


def prepare_config(
    state: SeatState,
    manifest: Manifest,
    around: Surroundings,
    *,
    others: Iterable[SeatState],
    environ: Mapping[str, str],
) -> None:
    """Makes the seat's configuration ready for a launch. Calling it again changes nothing that is there.

    Args:
        state: The seat.
        manifest: Its harness.
        around: What its harness finds around it.
        others: All seats; one that must not share its folder is held against them.
        environ: The daemon's environment, which says where the operator's own configuration is.

    Raises:
        HostError: `config_not_writable`: the folder cannot be made or written.
        UsageError: `isolation_required`: the harness must not share its folder, and would.
    """
    config = manifest.config
    if around.folder is not None:
        _make(around.folder)
        _seed(around.folder, config, state.shares, _operators_folder(config, environ), environ)
    elif config.required:
        _check_own(state, manifest, around, others, environ)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.parent.chmod(0o700)
        folder.chmod(0o700)
    except OSError as error:
        raise _not_writable(folder, error) from error
    _check_writable(folder)


def _check_writable(folder: Path) -> None:
    """Writes a file and takes it away again: what a mode allows, a disk may still refuse."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _not_writable(folder, error) from error


def _not_writable(folder: Path, error: OSError) -> HostError:
    return HostError(
        f"The configuration folder {folder} cannot be written ({os.strerror(error.errno or 0)}).",
        code="config_not_writable",
        hint="The harness writes into it at its start: make it writable, then start the seat again.",
        detail={"folder": str(folder)},
    )


def _check_own(
    state: SeatState,
    manifest: Manifest,
    around: Surroundings,
    others: Iterable[SeatState],
    environ: Mapping[str, str],
) -> None:
    """A folder that the operator named for a seat whose harness must have its own: there, writable, nobody else's."""
    config = manifest.config
    variable = config_variable(config)
    named = around.given.get(variable, "")
    sharing = [
        other.name
        for other in others
        if other.name != state.name
        and other.harness == state.harness
        and not other.removed
        and named
        and same_folder(other.environment.get(variable, ""), named)
    ]
    if not named or sharing or same_folder(named, _operators_folder(config, environ)):
        whose = f"with the seat {sharing[0]}" if sharing else "with its operator"
        raise UsageError(
            f"{manifest.name} would share its configuration folder {whose}, and must have one for each seat.",
            code="isolation_required",
            hint=f"Make the seat anew without --env {variable}.",
            detail={"variable": variable},
        )
    folder = Path(named)
    if not folder.is_dir():
        missing = FileNotFoundError(2, "No such file or directory")
        raise _not_writable(folder, missing)
    _check_writable(folder)


def _operators_folder(config: ConfigFolder, environ: Mapping[str, str]) -> str:
    named = environ.get(config.variable) if config.variable else ""
    return named or expand_home(config.folder, environ)


def _seed(
    folder: Path,
    config: ConfigFolder,
    shares: Iterable[str],
    operators: str,
    environ: Mapping[str, str],
) -> None:
    if not config.seed:
        return
    try:
        done = _read_seeded(folder)
        wanted = {"onboarding", *shares}
        placed = [
            one.path
            for one in config.seed
            if one.kind in wanted and one.path not in done and _place(folder, one, operators, environ)
        ]
        if placed:
            file = folder / _SEEDED
            file.write_bytes(msgspec.json.encode([*done, *placed]))
            file.chmod(0o600)
    except OSError as error:
        raise _not_writable(folder, error) from error


def _place(folder: Path, seed: ConfigSeed, operators: str, environ: Mapping[str, str]) -> bool:
    """Puts a seed where nothing is yet; tells whether it need not be tried again."""
    path = folder / seed.path
    if os.path.lexists(path):
        return True
    if not seed.from_file:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(seed.text, encoding="utf-8")
        path.chmod(0o600)
        return True
    origin = Path(operators, expand_home(seed.from_file, environ))
    if not origin.is_file():
        return False  # The operator may sign in later.
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if seed.how == "link":
        path.symlink_to(origin.resolve())
    else:
        shutil.copyfile(origin, path)
        path.chmod(0o600)
    return True


def _read_seeded(folder: Path) -> list[str]:
    try:
        return msgspec.json.decode((folder / _SEEDED).read_bytes(), type=list[str])
    except (FileNotFoundError, msgspec.DecodeError):
        return []
