"""Starting an example: `python -m inspan.apps.examples.NAME [FOLDER] [PORT]`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from inspan.apps.author import App

__all__ = ["start"]


def start(make_app: Callable[[Path], App]) -> None:
    """Serves the app in the folder that is named, or in the one where it is called, until it is stopped."""
    given = sys.argv[1:]
    make_app(Path(given[0] if given else ".")).serve(port=int(given[1]) if len(given) > 1 else None)
