"""Resources in a workspace: where a harness's places are, and what lies there. Nothing outside is looked at."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from inspan.model.errors import UsageError
from inspan.model.plan import Problem
from inspan.model.resource import ResourceMode, ResourcePlace
from inspan.model.resource_views import ResourceView

__all__ = ["PROJECT_ROOT", "RESOURCE_ID", "check_resource_id", "look_at_place"]

PROJECT_ROOT = "{projectRoot}"
"""Stands in a target for the workspace."""

RESOURCE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""A resource's own name: one part of a path, which leads nowhere else."""

_ID = "{id}"
_ENTRIES = 1000
"""How many entries of a folder are looked at."""


def check_resource_id(resource: str) -> str:
    """`resource` itself if it can name one.

    Raises:
        UsageError: `invalid_argument`.
    """
    if not RESOURCE_ID.fullmatch(resource):
        raise UsageError(
            f"{resource!r} cannot name a resource.",
            hint="Use 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter or a digit.",
        )
    return resource


def look_at_place(place: ResourcePlace, workspace: str, resource: str | None = None) -> ResourceView:
    """Where a place is in a workspace, and whether something is there.

    What leads out of the workspace, by `..` or by a link, is refused and not looked at.

    Args:
        place: The manifest's place.
        workspace: Absolute path of the workspace.
        resource: The resource that is meant; all of them where none is named.
    """
    relative = place.target.removeprefix(PROJECT_ROOT).lstrip("/")
    if resource is not None:
        relative = relative.replace(_ID, check_resource_id(resource))
    path = Path(workspace, relative)
    problem = _problem(place, workspace, relative)
    found: tuple[str, ...] = ()
    exists = False
    if problem is None and _ID in relative:
        found = _find(place, Path(workspace), relative)
        exists = bool(found)
    elif problem is None:
        exists = _is_there(place.mode, path)
    return ResourceView(
        kind=place.kind,
        mode=place.mode,
        target=place.target,
        path=str(path),
        exists="unknown" if problem is not None else "yes" if exists else "no",
        found=found,
        problem=problem,
        source=place.source,
        verified=place.verified,
    )


def _find(place: ResourcePlace, workspace: Path, relative: str) -> tuple[str, ...]:
    """The names that fit, each of which lies inside the workspace itself."""
    before, _, after = relative.partition(_ID)
    folder, prefix = os.path.split(before)
    suffix, _, rest = after.partition("/")
    names: list[str] = []
    try:
        with os.scandir(workspace / folder) as entries:
            candidates = [entry.name for _, entry in zip(range(_ENTRIES), entries, strict=False)]
    except OSError:
        return ()
    for name in sorted(candidates):
        if not (name.startswith(prefix) and name.endswith(suffix)):
            continue
        ident = name[len(prefix) : len(name) - len(suffix)]
        whole = PurePosixPath(folder, name, rest) if rest else PurePosixPath(folder, name)
        if not RESOURCE_ID.fullmatch(ident) or not _is_inside(workspace, str(whole)):
            continue
        if _is_there(place.mode, workspace / whole):
            names.append(ident)
    return tuple(names)


def _problem(place: ResourcePlace, workspace: str, relative: str) -> Problem | None:
    # Of a place of many, the folder that holds them is what may lead elsewhere; each of them is looked at by itself.
    known = relative.partition(_ID)[0] if _ID in relative else relative
    if ".." not in PurePosixPath(relative).parts and _is_inside(Path(workspace), known):
        return None
    return Problem(
        code="resource_outside",
        message=f"{place.target} leads out of the workspace {workspace}.",
        hint="Remove the link that leads there, or correct the manifest; nothing outside is read or written.",
    )


def _is_inside(workspace: Path, relative: str) -> bool:
    root = os.path.realpath(workspace)
    return os.path.commonpath((root, os.path.realpath(os.path.join(root, relative)))) == root


def _is_there(mode: ResourceMode, path: Path) -> bool:
    return path.is_dir() if mode is ResourceMode.DIRECTORY else path.is_file()
