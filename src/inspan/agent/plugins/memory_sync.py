"""Keeps the notes of memory the same as those in a folder that something else carries between machines.

A note that one side lacks is copied to it, unless it was there at the last look: then it was deleted, and is deleted on the
other side too, if it was not changed since. Where both sides have another text, the one that was changed later wins.

The other folder bears a mark of its own. Where it lacks the mark of the last look, as a disk that is not mounted and a folder
that was chosen anew do, what it lacks was not deleted, and is copied. So is nothing deleted that cannot be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inspan.agent.private_folders import make_private

__all__ = ["MemorySync"]

_SEEN = ".inspan-sync.json"
_MARK = ".inspan-notes"
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
        make_private(self._own)
        self._other.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = self._mark()
        seen = self._read_seen(mark)
        own, other = _look(self._own), _look(self._other)
        now: dict[str, str] = {}
        for name in sorted(own.notes.keys() | other.notes.keys() | seen.keys()):
            if own.leaves(name) or other.leaves(name):
                now |= {name: seen[name]} if name in seen else {}
                continue
            kept = self._settle(name, own.notes.get(name), other.notes.get(name), seen.get(name))
            if kept is not None:
                now[name] = kept
        if now != seen or not (self._own / _SEEN).exists():
            _replace(self._own / _SEEN, json.dumps({"mark": mark, "notes": now}).encode())

    def _mark(self) -> str:
        """What tells the other folder from any other one; it is made where there is none."""
        try:
            return (self._other / _MARK).read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            mark = secrets.token_hex(16)
            _replace(self._other / _MARK, f"{mark}\n".encode())
            return mark

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

    def _read_seen(self, mark: str) -> Mapping[str, str]:
        try:
            seen = json.loads((self._own / _SEEN).read_bytes())
        except (FileNotFoundError, ValueError):
            return {}  # nothing is deleted then
        whole = cast(dict[str, Any], seen) if isinstance(seen, dict) else {}
        notes = whole.get("notes")
        is_of_this = whole.get("mark") == mark and isinstance(notes, dict)
        return cast(dict[str, str], notes) if is_of_this else {}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What stands below a folder.

    Attributes:
        notes: The digest of each note, by its path in the folder.
        left: What is left as it is, by its path too: links to notes and to folders, and what is too large.
    """

    notes: Mapping[str, str]
    left: frozenset[str]

    def leaves(self, name: str) -> bool:
        """Whether a note, or a folder that it is in, is left as it is."""
        parts = name.split("/")
        return any("/".join(parts[: count + 1]) in self.left for count in range(len(parts)))


def _look(folder: Path) -> _Found:
    """Looks at each note below a folder. Links are not followed.

    Raises:
        OSError: Something in it cannot be read. It must not look as if it were not there.
    """
    notes: dict[str, str] = {}
    left: set[str] = set()
    for place, folders, names in os.walk(folder, onerror=_raise, followlinks=False):
        links = {one for one in folders if (Path(place) / one).is_symlink()}
        left |= {(Path(place) / one).relative_to(folder).as_posix() for one in links}
        folders[:] = [one for one in folders if one not in links]
        for name in names:
            path = Path(place) / name
            if path.suffix != ".md":
                continue
            shown = path.relative_to(folder).as_posix()
            if path.is_symlink() or path.stat().st_size > _LARGEST_BYTES:
                left.add(shown)
            else:
                notes[shown] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _Found(notes=notes, left=frozenset(left))


def _raise(error: OSError) -> None:
    raise error


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
