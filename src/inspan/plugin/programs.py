"""Programs: how the program of a harness, or of one of its modes, is found."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from inspan.model.errors import HarnessError
from inspan.model.manifest import Manifest, Program

__all__ = [
    "FoundProgram",
    "expand_home",
    "find_program",
    "override_variable",
    "program_of",
    "strip_environment",
]


_OWN_SURROUNDINGS = " A daemon that runs already knows neither a new PATH nor a new variable: `inspan daemon stop`, then try again."
"""Without it who follows the hint is told the same again."""


class FoundProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program, and the arguments that come before all others."""

    path: str
    prefix: tuple[str, ...] = ()


def override_variable(harness: str, *, mode: str | None = None) -> str:
    """The variable by which an operator names a harness's program: `INSPAN_PROGRAM_` and the id in capitals.

    A mode with a program of its own has a variable of its own, with the mode's name at the end.
    """
    return "_".join(["INSPAN_PROGRAM", harness, *([mode] if mode else [])]).upper().replace("-", "_")


def program_of(manifest: Manifest, mode: str | None) -> Program:
    """The program that a mode starts: its own where it has one, the harness's otherwise."""
    own = manifest.modes[mode].program if mode in manifest.modes else None
    return own or manifest.program


def find_program(manifest: Manifest, environ: Mapping[str, str], *, mode: str | None = None) -> FoundProgram:
    """The program of a harness: named by the operator, on PATH, at a known path, or a module of our own.

    Args:
        manifest: The harness.
        environ: Variables; PATH and HOME matter, and the one that names the program.
        mode: The mode that is to be started; `None` asks for the harness's own program.

    Raises:
        HarnessError: `not_installed`, with the way to install it.
    """
    program = program_of(manifest, mode)
    search = environ.get("PATH", os.defpath)
    variable = override_variable(manifest.id, mode=mode if program is not manifest.program else None)
    if named := environ.get(variable):
        found = shutil.which(os.path.expanduser(named), path=search)
        if found is None:
            raise HarnessError(
                f"{variable} names {named!r}, which is no program that can be run.",
                code="not_installed",
                hint=f"Correct {variable}, or unset it.",
            )
        return FoundProgram(path=os.path.abspath(found))
    for name in program.names:
        if found := shutil.which(name, path=search):
            return FoundProgram(path=os.path.abspath(found))
    for path in program.paths:
        expanded = expand_home(path, environ)
        if os.access(expanded, os.X_OK) and Path(expanded).is_file():
            return FoundProgram(path=expanded)
    if program.module:
        # -P keeps the working directory, which is the operator's workspace, off the module search path.
        return FoundProgram(path=sys.executable, prefix=("-P", "-m", program.module))
    looked = ", ".join((*program.names, *program.paths))
    raise HarnessError(
        f"{manifest.name} is not installed: found no {looked}.",
        code="not_installed",
        hint=(
            f"Install it: {program.install}. Or name its program in {variable}."
            if program.install
            else f"Install it, or name its program in {variable}."
        )
        + _OWN_SURROUNDINGS,
    )


def strip_environment(environ: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """`environ` without the variables in `names`, where a trailing `*` matches a prefix."""
    return {
        name: value for name, value in environ.items() if not any(fnmatchcase(name, one) for one in names)
    }


def expand_home(path: str, environ: Mapping[str, str]) -> str:
    """`path` with a leading `~` replaced by the home that the environment names."""
    home = environ.get("HOME")
    return f"{home}{path[1:]}" if path.startswith("~/") and home else os.path.expanduser(path)
