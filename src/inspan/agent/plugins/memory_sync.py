"""Keeps the notes of memory the same as those in a folder that something else carries between machines.

A note that one side lacks is copied to it, unless it was there at the last look: then it was deleted, and is deleted on the
other side too, if it was not changed since. Where both sides have another text, the one that was changed later wins.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

__all__ = ["MemorySync"]

_SEEN = ".inspan-sync.json"
_LARGEST_BYTES = 256 * 1024


class MemorySync:
    """Two folders of notes. What was seen at the last look is kept in the first one. It blocks on the disk.

    Args:
        own: The store's folder.
        other: The folder that is carried.
    """

    def __init__(self, own: Path, other: Path) -> None:
        self._own = own
        self._other = other

    def run(self) -> None:
        """Makes both sides the same, once. Notes that change meanwhile are taken at the next look.

        Raises:
            OSError: A side cannot be read or written. What was copied before stays.
        """
        for folder in (self._own, self._other):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        seen = self._read_seen()
        own, other = _look(self._own), _look(self._other)
        now: dict[str, str] = {}
        for name in sorted(own.keys() | other.keys()):
            if (kept := self._settle(name, own.get(name), other.get(name), seen.get(name))) is not None:
                now[name] = kept
        if now != seen:
            _replace(self._own / _SEEN, json.dumps(now).encode())

    def _settle(self, name: str, own: str | None, other: str | None, seen: str | None) -> str | None:
        """Makes one note the same on both sides, and gives what it is now."""
        if own == other:
            return own
        if own is None or other is None:
            there, missing, digest = (
                (self._other, self._own, other) if own is None else (self._own, self._other, own)
            )
            if digest == seen:
                (there / name).unlink(missing_ok=True)
                return None
            _copy(there / name, missing / name)
            return digest
        if own == seen or (other != seen and _changed_at(self._other / name) > _changed_at(self._own / name)):
            _copy(self._other / name, self._own / name)
            return other
        _copy(self._own / name, self._other / name)
        return own

    def _read_seen(self) -> Mapping[str, str]:
        try:
            seen = json.loads((self._own / _SEEN).read_bytes())
        except (FileNotFoundError, ValueError):
            return {}  # nothing is deleted then
        return cast(dict[str, Any], seen) if isinstance(seen, dict) else {}


def _look(folder: Path) -> dict[str, str]:
    """The digest of each note below a folder, by its path in it. Links are not followed."""
    found: dict[str, str] = {}
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = [one for one in folders if not (Path(place) / one).is_symlink()]
        for name in names:
            path = Path(place) / name
            if path.suffix != ".md" or path.is_symlink() or path.stat().st_size > _LARGEST_BYTES:
                continue
            found[path.relative_to(folder).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(target, source.read_bytes())
    shutil.copystat(source, target)
    target.chmod(0o600)


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)
    file = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as writer:
            writer.write(data)
        fresh.rename(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _changed_at(path: Path) -> float:
    return path.stat().st_mtime
