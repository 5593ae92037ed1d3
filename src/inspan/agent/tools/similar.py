"""Names like one that is not there, for whoever mistyped it."""

from __future__ import annotations

import difflib
import os
from itertools import islice

from .confinement import Confinement, Place
from .names import show_path
from .problems import ToolProblem

__all__ = ["similar_names"]

_LOOKED_AT = 2000


def similar_names(confinement: Confinement, place: Place) -> list[str]:
    """Up to three paths in the same folder whose names are close; none if the folder is not there either."""
    if not place.parts:
        return []
    folder = Place(root=place.root, parts=place.parts[:-1], shown=place.shown)
    try:
        with confinement.open_folder(folder) as handle, os.scandir(handle) as entries:
            names = {entry.name.lower(): entry.name for entry in islice(entries, _LOOKED_AT)}
    except (ToolProblem, OSError):
        return []
    close = difflib.get_close_matches(place.parts[-1].lower(), list(names), n=3, cutoff=0.6)
    return [show_path(folder.path / names[name], confinement.workspace) for name in close]
