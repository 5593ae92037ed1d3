"""What a scaffold left behind that was killed half way, and nothing else, is taken away by the next one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from inspan.apps.files import read_json

__all__ = ["MARKER", "clear_unfinished"]

MARKER = "scaffold.json"
"""In `.a2app` while an app is being made: each file with the text that it is given."""

_OWN = (MARKER, "system-hashes.json")


def clear_unfinished(folder: Path) -> None:
    """Takes away what such a scaffold had made in a folder that is no app. Files that say anything else stay.

    Raises:
        OSError: Something of it cannot be removed.
    """
    state = folder / ".a2app"
    try:
        value: object = read_json(state / MARKER)
    except (OSError, ValueError):
        value = {}  # killed before it was written whole: nothing else was made then
    if not isinstance(value, dict):
        return
    for name, text in cast("dict[str, object]", value).items():
        path = folder / name
        if isinstance(text, str) and ".." not in path.parts and path.is_relative_to(folder):
            _take_away(path, text)
    for path in folder.glob("manifest.json.*.tmp"):
        path.unlink(missing_ok=True)
    if state.is_dir() and not state.is_symlink():
        for path in state.iterdir():
            if path.name.startswith(_OWN):
                path.unlink(missing_ok=True)
        _remove_if_empty(state)
    for name in {Path(name).parts[0] for name in cast("dict[str, object]", value) if "/" in name}:
        _remove_if_empty(folder / name)


def _take_away(path: Path, text: str) -> None:
    """Removes the file if it says the text, or as much of it as could be written."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            found = file.read(len(text.encode()) + 1)
    except OSError:
        return
    if text.encode().startswith(found):
        path.unlink()


def _remove_if_empty(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:
        return  # something else is in it
