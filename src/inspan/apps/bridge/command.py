"""`agent-app APP bridge [status|start|stop]`: one app's work taken to one harness. Nothing but its user starts it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from inspan.apps.faults import Misused
from inspan.apps.folder import Folder, open_folder

__all__ = ["run"]


def run(app: Folder | str | os.PathLike[str], args: Sequence[str]) -> int:
    """Runs the command, and prints its result as one JSON value on standard output.

    Args:
        app: The app, or its folder.
        args: The words after `bridge`; `status` where there are none.

    Returns:
        The exit status: 0, 1 for a fault of the surroundings, 2 for one of the call.

    Raises:
        Fault: The same, with a message; the program prints it and ends with its `exit_status`.
    """
    words = list(args)
    what = words.pop(0) if words and not words[0].startswith("-") else "status"
    match what:
        case "start":
            from .options import read_options
            from .starting import start

            options = read_options(words)
            return start(_folder(app), options)
        case "stop":
            from .stopping import stop

            _no_more(what, words)
            return stop(_folder(app))
        case "status":
            from .reporting import status

            harness = words[1] if len(words) == 2 and words[0] == "--harness" else None
            _no_more(what, words if harness is None else [])
            return status(_folder(app), harness=harness)
        case _:
            raise Misused(f"`bridge` knows no {what[:60]!r}.", hint="It is one of: status, start, stop.")


def _folder(app: Folder | str | os.PathLike[str]) -> Folder:
    found = app if isinstance(app, Folder) else open_folder(app)
    # The bridge outlives the place from which it was named.
    return Folder(Path(os.path.realpath(found.path)), found.manifest)


def _no_more(what: str, words: Sequence[str]) -> None:
    if words:
        raise Misused(f"`bridge {what}` takes no {words[0][:60]!r}.")
