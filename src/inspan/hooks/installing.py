"""Installing: a harness is told of the relay in the operator's own file, and told no more, by the manifest's rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from inspan.model.errors import UsageError
from inspan.model.hook_views import HookPlaceView
from inspan.model.hooks import HookInstall
from inspan.model.installation import ConfigFolder
from inspan.model.plan import Problem

from .files import change_file, is_tracked, read_file
from .merging import MergeError, find_events, merge, unmerge

__all__ = ["install_hooks", "locate", "remove_hooks", "show_place"]


def locate(install: HookInstall, config: ConfigFolder, environ: Mapping[str, str], workspace: str) -> Path:
    """Where the file of a shared place is.

    Args:
        install: The place.
        config: The harness's configuration folder.
        environ: The environment of its process.
        workspace: The seat's folder; empty where it is about no seat.

    Raises:
        UsageError: `invalid_argument`: it is in a workspace, and none was named.
    """
    home = environ.get("HOME") or os.path.expanduser("~")
    named = environ.get(config.variable, "") if config.variable else ""
    folder = named or config.folder
    if folder == "~" or folder.startswith("~/"):
        folder = home + folder[1:]
    if "{workspace}" in install.path and not workspace:
        raise UsageError("These hooks lie in a workspace.", hint="Name a seat instead of its harness.")
    path = install.path.replace("{config}", folder).replace("{home}", home).replace("{workspace}", workspace)
    return Path(os.path.abspath(path))


def install_hooks(install: HookInstall, path: Path, events: Sequence[str]) -> HookPlaceView:
    """Puts our entries into the file; those of an earlier version go. Doing it twice changes nothing more.

    Raises:
        UsageError: As `files.change_file`; the file is as it was.
    """
    changed = change_file(path, lambda text: _merged(path, lambda: merge(install, text, events)))
    return show_place(install, path, events, is_changed=changed)


def remove_hooks(install: HookInstall, path: Path, events: Sequence[str]) -> HookPlaceView:
    """Takes our entries out of the file, which is not deleted.

    Raises:
        UsageError: As `files.change_file`; the file is as it was.
    """
    if not read_file(path).is_there:
        return show_place(install, path, events)
    changed = change_file(path, lambda text: _merged(path, lambda: unmerge(install, text)))
    return show_place(install, path, events, is_changed=changed)


def show_place(
    install: HookInstall, path: Path, events: Sequence[str], *, is_changed: bool = False
) -> HookPlaceView:
    """How it stands with a shared place; reads only."""
    warnings = list[str]()
    if path.is_symlink():
        warnings.append(f"It is a link to {os.path.realpath(path)}.")
    if is_tracked(path):
        warnings.append("git keeps this file, so that a change of it shows in its repository.")
    try:
        text = read_file(path).text
        if text.strip():
            _merged(path, lambda: unmerge(install, text))
    except UsageError as error:
        return HookPlaceView(
            scope="shared",
            path=str(path),
            state="unreadable",
            warnings=tuple(warnings),
            problem=Problem.of(error),
        )
    told = find_events(text)
    state = "absent"
    if told:
        wanted = _merged(path, lambda: merge(install, text, events))
        state = "installed" if wanted == text else "outdated"
    return HookPlaceView(
        scope="shared",
        path=str(path),
        state=state,
        events=told,
        is_changed=is_changed,
        needs=install.needs if told else "",
        warnings=tuple(warnings),
    )


def _merged(path: Path, merged: Callable[[], str]) -> str:
    try:
        return merged()
    except MergeError as error:
        raise UsageError(
            f"{path} was left as it is: {error}.",
            code="hooks_file_invalid",
            hint="Mend the file, then try again.",
            detail={"path": str(path)},
        ) from error
