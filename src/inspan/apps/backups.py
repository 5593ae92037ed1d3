"""Backups of an app: its code and its records as they were, checked byte for byte before anything is put back.

Left out are what can be fetched or built again, the programs' own state, and the app's credentials: putting an old
state back must not bring a withdrawn credential back with it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from .faults import Misused, Rejected
from .files import read_json, write_json
from .folder import Folder
from .ownership import digest_of
from .ports import who_answers
from .registry import now_iso

__all__ = ["Backup", "app_files", "backups_of", "keep_served_code", "restore_backup", "take_backup"]

_LEFT_OUT = frozenset(
    [".a2app", ".git", ".venv", "venv", "node_modules", "__pycache__", ".agent-token", ".principal"]
)
_SERVED = "served"
_SQLITE = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-journal")


class Backup(NamedTuple):
    """A backup.

    Attributes:
        id: Its name among those of the app; later ones sort later.
        path: Its folder.
        created_at: When, in ISO 8601.
        reason: Why it was taken.
        files: Each file's digest, by its name in the app.
    """

    id: str
    path: Path
    created_at: str
    reason: str
    files: dict[str, str]


def app_files(folder: Path, *, data: bool = True) -> Iterator[str]:
    """The names of the app's files, as a backup holds them, in order.

    Args:
        folder: The app's folder.
        data: Whether its records are wanted too.
    """
    left_out = _LEFT_OUT if data else _LEFT_OUT | {"data"}
    for place, folders, names in os.walk(folder):
        inner = os.path.relpath(place, folder)
        folders[:] = sorted(one for one in folders if one not in (left_out if inner == "." else _LEFT_OUT))
        # A link is a file of its own, wherever it leads.
        links = [one for one in folders if os.path.islink(os.path.join(place, one))]
        for name in sorted([*names, *links]):
            path = Path(place) / name
            if (name in left_out and inner == ".") or name.endswith(".pyc"):
                continue
            if not path.is_symlink() and not path.is_file():
                continue
            if any(
                name.endswith(ending) and _is_database(path.with_name(name.removesuffix(ending)))
                for ending in _BESIDE
            ):
                continue  # part of the database beside it
            yield path.relative_to(folder).as_posix()


def keep_served_code(folder: Folder) -> None:
    """Keeps a copy of the code that now serves the app, in place of the last: it is about to be edited where it lies.

    Raises:
        OSError: It cannot be read or written; the last copy is left then, if it could be.
    """
    kept, aside = folder.state / _SERVED, folder.state / f"{_SERVED}.{os.getpid()}.tmp"
    for one in folder.state.glob(f"{_SERVED}.*.tmp"):
        shutil.rmtree(one, ignore_errors=True)
    try:
        aside.mkdir(mode=0o700)
        for name in app_files(folder.path, data=False):
            target = aside / name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(folder.path / name, target, follow_symlinks=False)
        shutil.rmtree(kept, ignore_errors=True)
        os.rename(aside, kept)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def take_backup(folder: Folder, reason: str, *, as_served: bool = False) -> Backup:
    """Takes a backup; a database that is in use is copied as of one moment.

    Args:
        folder: The app.
        reason: Why, as its list shows it.
        as_served: Take the code that was last served, where there is a copy of it, instead of what lies in the folder.

    Raises:
        Rejected: Something cannot be read or written; no half backup is left.
    """
    id_ = f"{time.time_ns() // 1_000_000:012x}-{os.urandom(2).hex()}"
    path = folder.state / "backups" / id_
    digests: dict[str, str] = {}
    try:
        path.mkdir(mode=0o700, parents=True)
        for name, source in _sources(folder, as_served=as_served):
            target = path / "files" / name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _copy(source / name, target)
            digests[name] = _state_of(target)
        created_at = now_iso()
        # Written last: without it, what lies there is no backup.
        write_json(
            path / "backup.json",
            {"id": id_, "appId": folder.id, "createdAt": created_at, "reason": reason, "files": digests},
        )
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(path, ignore_errors=True)
        raise Rejected(f"The backup could not be taken: {error}.", hint="Nothing was changed.") from error
    return Backup(id_, path, created_at, reason, digests)


def backups_of(folder: Folder) -> list[Backup]:
    """The app's backups, oldest first; what is no whole backup is passed over."""
    found: list[Backup] = []
    for path in sorted((folder.state / "backups").glob("*/backup.json")):
        try:
            value = cast("dict[str, Any]", read_json(path))
            files = {str(name): str(digest) for name, digest in value["files"].items()}
            found.append(
                Backup(path.parent.name, path.parent, str(value["createdAt"]), str(value["reason"]), files)
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def restore_backup(folder: Folder, id_: str) -> tuple[Backup, Backup]:
    """Puts a backup back, after it was checked and the present state was itself backed up.

    The caller holds the app's lock. If it breaks off in the middle, the backup of the present state is whole.

    Returns:
        The backup that is back, and the one of the state before.

    Raises:
        Misused: There is no such backup.
        Rejected: The app runs, the backup is damaged, or a file cannot be written.
    """
    backup = next((one for one in backups_of(folder) if one.id == id_), None)
    if backup is None:
        raise Misused("The app has no such backup.", hint="agent-app APP backup list")
    record = folder.serve_record()
    if (record is not None and record.is_alive) or who_answers(folder.port).app_id == folder.id:
        raise Rejected("The app runs.", hint="Stop it first: agent-app APP stop")
    _check(backup)
    before = take_backup(folder, f"before restore of {id_}")
    try:
        for name in before.files.keys() - backup.files.keys():
            (folder.path / name).unlink(missing_ok=True)
            _remove_empty((folder.path / name).parent, folder.path)
        for name in backup.files:
            target = folder.path / name
            for ending in _BESIDE:
                target.with_name(target.name + ending).unlink(missing_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            aside = target.with_name(f"{target.name}.{os.getpid()}.tmp")
            shutil.copy2(backup.path / "files" / name, aside, follow_symlinks=False)
            os.replace(aside, target)
    except OSError as error:
        raise Rejected(
            f"The backup could not be put back: {error}.",
            hint=f"The state before is in the backup {before.id}.",
        ) from error
    return backup, before


def _sources(folder: Folder, *, as_served: bool) -> Iterator[tuple[str, Path]]:
    """Each name that a backup holds, and the folder to take it from."""
    served = folder.state / _SERVED
    if not as_served or not (served / "manifest.json").is_file():
        yield from ((name, folder.path) for name in app_files(folder.path))
        return
    yield from ((name, served) for name in app_files(served))
    yield from ((name, folder.path) for name in app_files(folder.path) if name.startswith("data/"))


def _remove_empty(place: Path, top: Path) -> None:
    while place != top:
        try:
            place.rmdir()
        except OSError:
            return  # something else is in it
        place = place.parent


def _check(backup: Backup) -> None:
    for name, digest in backup.files.items():
        inner = PurePosixPath(name)
        if inner.is_absolute() or ".." in inner.parts or inner.parts[0] in _LEFT_OUT:
            raise Rejected(f"The backup names a file that is none of the app's: {name!r}.")
        try:
            found = _state_of(backup.path / "files" / name)
        except (OSError, ValueError):
            found = ""
        if found != digest:
            raise Rejected(f"The backup is damaged: {name} is not what it was.", hint="Nothing was changed.")


def _copy(source: Path, target: Path) -> None:
    if (
        not source.is_symlink()
        and _is_database(source)
        and any(source.with_name(source.name + ending).exists() for ending in _BESIDE)
    ):
        with closing(sqlite3.connect(source, timeout=10)) as one, closing(sqlite3.connect(target)) as other:
            one.backup(other)
        return
    shutil.copy2(source, target, follow_symlinks=False)


def _state_of(path: Path) -> str:
    return f"link:{os.readlink(path)}" if path.is_symlink() else digest_of(path)


def _is_database(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False
