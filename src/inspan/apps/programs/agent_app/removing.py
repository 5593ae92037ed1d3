"""`agent-app APP remove` and `forget`: the app itself, or only its row in the index."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from inspan.apps.agent_work import bridge_record
from inspan.apps.faults import Misused, Rejected
from inspan.apps.folder import Folder
from inspan.apps.programs.screen import print_json, printable
from inspan.apps.programs.words import Words, command_line
from inspan.apps.registry import Registry
from inspan.apps.serving import stop, stop_dev

__all__ = ["FORGET_USAGE", "REMOVE_USAGE", "run_forget", "run_remove"]

REMOVE_USAGE = "agent-app APP remove --yes"
FORGET_USAGE = "agent-app APP forget"


def run_remove(folder: Folder, ref: str, words: Words, registry: Registry) -> int:
    """Stops the app and deletes its folder with all its records; gives the exit status.

    Raises:
        Misused: `--yes` is missing.
        Rejected: The app cannot be stopped, its bridge runs, or the folder is one that must not be deleted.
    """
    is_sure = words.switch("yes")
    words.done(places=0, usage=REMOVE_USAGE)
    path = folder.path
    if not is_sure:
        raise Misused(
            f"This deletes {printable(path)} with every record and backup in it.",
            hint=command_line("agent-app", ref, "remove", "--yes"),
        )
    _check_may_go(path)
    bridge = bridge_record(folder)
    if bridge and bridge["isLive"]:
        raise Rejected("The app's bridge runs.", hint=command_line("agent-app", ref, "bridge", "stop"))
    stop_dev(folder)
    stop(folder, registry)
    # Out of the way in one step, so that nobody finds half an app; then taken apart.
    aside = path.with_name(f".{path.name}.removed-{os.getpid()}")
    try:
        os.rename(path, aside)
        registry.forget([path])
        shutil.rmtree(aside)
    except OSError as error:
        raise Rejected(f"{path} cannot be deleted: {error.strerror or error}.") from error
    print_json({"ok": True, "id": folder.id, "name": folder.name, "removed": str(path)})
    return 0


def run_forget(path: Path, words: Words, registry: Registry) -> int:
    """Takes the app out of the index and leaves it where it is; gives the exit status.

    Raises:
        Rejected: The index cannot be written.
    """
    words.done(places=0, usage=FORGET_USAGE)
    gone = registry.forget([path])
    print_json({"ok": True, "path": str(path), "forgotten": bool(gone)})
    return 0


def _check_may_go(path: Path) -> None:
    here = Path(os.path.realpath(path))
    if path.is_symlink():
        raise Rejected(f"{path} is a link.", hint=f"Remove the app where it really is: {here}")
    home, cwd = Path(os.path.realpath(Path.home())), Path(os.path.realpath(os.getcwd()))
    if here in (home, *home.parents) or here in cwd.parents:
        raise Rejected(f"{path} holds your home or the folder that you are in.", hint="Delete it yourself.")
