"""Scaffolding: the folder of a new harness in the operator's home, ready for recordings and rules."""

from __future__ import annotations

import os
from pathlib import Path

from inspan.conformance.scaffold import scaffold_files
from inspan.home import prepare_home
from inspan.host.registry import HarnessRegistry
from inspan.host.sources import user_root
from inspan.model.errors import HostError, UsageError
from inspan.model.ids import HARNESS_ID

from .context import Context
from .output import bold, dim

__all__ = ["scaffold"]


def scaffold(context: Context, harness: str, *, program: str | None, is_from_console: bool) -> int:
    """Makes the folder of a new harness and says what to do next. Nothing that is there is changed.

    Args:
        context: Where to write, and the home that the folder lies in.
        harness: The id of the new harness.
        program: The name of its program; its id where nobody says.
        is_from_console: Whether its console is all there is.

    Raises:
        UsageError: The id is none, or it is taken.
        HostError: The home cannot be written.
    """
    if not HARNESS_ID.fullmatch(harness):
        raise UsageError(
            f"{harness!r} cannot be a harness's id.",
            hint="Use small letters, digits and dashes, beginning with a letter or a digit.",
        )
    prepare_home(context.home)
    folder = user_root(context.home.path) / harness
    known = {entry.id: entry for entry in HarnessRegistry(context.home.path).list()}
    if harness in known or folder.exists():
        where = known[harness].folder if harness in known else folder
        raise UsageError(
            f"The harness {harness!r} is there already: {where}.",
            hint=f"Choose another id. To change that one, write only what differs into {folder}/manifest.toml.",
        )
    files = scaffold_files(harness, program=program or harness, is_from_console=is_from_console)
    try:
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HostError(
            f"{folder} cannot be written: {error.strerror or error}.",
            code="home_read_only",
            hint="Make the home writable, or name another with --home.",
        ) from error
    _tell(context, harness, folder, list(files))
    return 0


def _tell(context: Context, harness: str, folder: Path, files: list[str]) -> None:
    output = context.output
    if output.is_json:
        output.value({"harness": harness, "folder": str(folder), "files": files})
        return
    output.line("made ", bold(harness), dim(f"  {folder}"))
    for path in files:
        output.line("  ", path)
    own = os.path.relpath(folder) if folder.is_relative_to(Path.cwd()) else str(folder)
    for step in (
        f"correct {own}/manifest.toml: the program, its arguments, its postures",
        f"inspan harness probe {harness}",
        "record its console in each state; README.md in that folder says how",
        f"inspan harness lint {harness}",
    ):
        output.remark(dim(f"  next: {step}"))
