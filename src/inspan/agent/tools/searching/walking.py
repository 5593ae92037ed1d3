"""Goes through folders by their descriptors, without following links, and leaves out what `.gitignore` files say.

It is part of the search program too, which runs on its own: it uses the standard library alone.

Which files count: those from the top of the git repository that the start lies in, else from the root, down to each folder. A
repository inside another one starts anew; in a folder that is in none, files count as if it were one. A start that is itself ignored was asked for, so no file above it counts.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from .ignoring import IgnoreFile

__all__ = ["OPEN_FOLDER", "Entry", "IgnoreRules", "read_folder", "rules_for", "visible"]

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened for reading its entries."""

_REPOSITORY = ".git"
_IGNORE_FILE = ".gitignore"
_LARGEST_BYTES = 1024 * 1024
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Entry:
    """What a folder holds.

    Attributes:
        name: Its name.
        kind: `folder`, `file`, `link` or `other`.
    """

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder.

    Attributes:
        files: From the outermost file to the innermost: the parts of the absolute path of its folder, and what it says.
        is_in_repository: Whether they began in a git repository, so that another one inside it starts anew.
    """

    files: tuple[tuple[tuple[str, ...], IgnoreFile], ...] = ()
    is_in_repository: bool = False

    def ignores(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Whether the entry with this absolute path is left out. Its folder must not be ignored."""
        for base, file in reversed(self.files):
            said = file.says("/".join(parts[len(base) :]), is_folder=is_folder)
            if said is not None:
                return said
        return False

    def entered(self, folder: int, parts: tuple[str, ...], entries: list[Entry]) -> IgnoreRules:
        """The rules inside a folder of this path, which is open and has these entries."""
        names = {entry.name for entry in entries}
        is_anew = self.is_in_repository and _REPOSITORY in names
        rules = IgnoreRules(is_in_repository=True) if is_anew else self
        return rules._with_file(folder, parts) if _IGNORE_FILE in names else rules

    def _with_file(self, folder: int, parts: tuple[str, ...]) -> IgnoreRules:
        text = _read(folder)
        return IgnoreRules((*self.files, (parts, IgnoreFile(text))), self.is_in_repository) if text else self


def read_folder(folder: int) -> list[Entry]:
    """The entries of an open folder, sorted by the bytes of their names."""
    with os.scandir(folder) as found:
        entries = [Entry(entry.name, _kind_of(entry)) for entry in found]
    return sorted(entries, key=lambda entry: os.fsencode(entry.name))


def visible(entries: list[Entry], parts: tuple[str, ...], rules: IgnoreRules | None) -> Iterator[Entry]:
    """The entries of the folder of this path that are not left out; all but `.git` where there are no rules."""
    for entry in entries:
        if entry.name == _REPOSITORY:
            continue
        if rules is None or not rules.ignores((*parts, entry.name), is_folder=entry.kind == "folder"):
            yield entry


def rules_for(root: str, start: str) -> tuple[IgnoreRules, bool]:
    """The rules that hold just outside of `start`, and whether they leave `start` itself out, in which case there are none.

    Args:
        root: What nothing above counts of, unless it is in a repository.
        start: `root`, or below it; both absolute and resolved.
    """
    parts = _parts_of(start)
    repository = _repository_of(start)
    none = IgnoreRules(is_in_repository=repository is not None)
    rules = none
    for length in range(len(_parts_of(repository or root)), len(parts)):
        rules = _entered_by_path(rules, parts[:length])
        if rules.ignores(parts[: length + 1], is_folder=True):
            return none, True
    return rules, False


def _repository_of(start: str) -> str | None:
    folder = start
    while True:
        if os.path.lexists(os.path.join(folder, _REPOSITORY)):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _entered_by_path(rules: IgnoreRules, parts: tuple[str, ...]) -> IgnoreRules:
    try:
        folder = os.open("/" + "/".join(parts), OPEN_FOLDER)
    except OSError:
        return rules
    try:
        return rules.entered(folder, parts, read_folder(folder))
    finally:
        os.close(folder)


def _parts_of(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _kind_of(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"


def _read(folder: int) -> str:
    try:
        handle = os.open(_IGNORE_FILE, _OPEN_FILE, dir_fd=folder)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return os.read(handle, _LARGEST_BYTES).decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    except OSError:
        return ""
    finally:
        os.close(handle)
