"""Which files the file tools may touch: those below the workspace and below roots that were configured.

A path is resolved first, links and `..` included, and must then lie below a root. It is opened from that root, one folder
after another, and never through a link: whoever puts a link into the way meanwhile makes the call fail, not escape.

Two things cannot be seen here. A hard link to a file outside looks like any other file: it can be read, but as files are
replaced and never overwritten, a change leaves what is outside as it was. And a folder that is mounted below a root
belongs to the root.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .names import show_name, show_path, unescape_name
from .problems import ToolProblem, describe_os_error

__all__ = ["Confinement", "Place", "kind_of_file"]

_PATH_LIMIT_BYTES = 4096
_WALK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PSEUDO = ("/proc", "/sys")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A path that was found to lie below a root. There need not be a file.

    Attributes:
        root: The root, absolute and resolved.
        parts: The names from the root to the file; empty for the root itself. No name is `..`, and none was a link
            when the path was resolved.
        shown: The path for the model.
    """

    root: Path
    parts: tuple[str, ...]
    shown: str

    @property
    def path(self) -> Path:
        """The whole path, absolute and resolved."""
        return self.root.joinpath(*self.parts)


class Confinement:
    """Finds and opens places below its roots, and nothing else.

    Args:
        workspace: The folder that relative paths start from; a root.
        roots: Further folders whose files may be read and changed.
        read_roots: Further folders whose files may be read alone.
    """

    def __init__(self, workspace: Path, roots: Sequence[Path] = (), read_roots: Sequence[Path] = ()) -> None:
        self.workspace = Path(os.path.realpath(workspace))
        self._writable = [self.workspace, *(Path(os.path.realpath(root)) for root in roots)]
        self._readable = [*self._writable, *(Path(os.path.realpath(root)) for root in read_roots)]

    def find(self, text: str, *, for_writing: bool = False) -> Place:
        r"""The place of a path as the model gave it: relative to the workspace, or absolute.

        A name that is not UTF-8 may be given with `\xhh` in it, as the tools show it.

        Raises:
            ToolProblem: The path has no meaning, or lies below no root.
        """
        given = _checked(text)
        place = self._find(given, for_writing=for_writing)
        if "\\x" in given and not os.path.lexists(place.path):
            other = self._find(_checked(unescape_name(given)), for_writing=for_writing)
            if os.path.lexists(other.path):
                return other
        return place

    def show(self, path: Path) -> str:
        """A path for the model."""
        return show_path(path, self.workspace)

    @contextmanager
    def open_folder(self, place: Place) -> Generator[int]:
        """Opens a folder for reading its entries and for opening what is in it.

        Raises:
            ToolProblem: It is no folder, or cannot be opened.
        """
        with self._opened(place.root, place.parts, place.shown) as handle:
            try:
                readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle)
            except OSError as error:
                raise ToolProblem(describe_os_error(error, place.shown)) from error
        try:
            _refuse_pseudo(os.fstat(readable), place.shown)
            yield readable
        finally:
            os.close(readable)

    @contextmanager
    def open_parent(self, place: Place, *, make: bool = False) -> Generator[tuple[int, str]]:
        """Opens the folder that a place is in, and gives its descriptor and the place's own name.

        Args:
            place: Not a root.
            make: Whether to make folders that are missing, with the usual mode.

        Raises:
            ToolProblem: There is no such folder, or it cannot be opened.
        """
        if not place.parts:
            raise ToolProblem(f"{place.shown} is a folder.")
        with self._opened(place.root, place.parts[:-1], place.shown, make=make) as handle:
            _refuse_pseudo(os.fstat(handle), place.shown)
            yield handle, place.parts[-1]

    @contextmanager
    def open_regular(self, place: Place) -> Generator[int]:
        """Opens a regular file for reading. Anything else is refused before it is opened.

        Raises:
            ToolProblem: It is no regular file, or cannot be opened.
        """
        with self.open_parent(place) as (folder, name):
            try:
                _refuse_special(os.stat(name, dir_fd=folder, follow_symlinks=False), place.shown)
                handle = os.open(name, _READ, dir_fd=folder)
            except OSError as error:
                raise ToolProblem(describe_os_error(error, place.shown)) from error
        try:
            found = os.fstat(handle)
            _refuse_special(found, place.shown)
            _refuse_pseudo(found, place.shown)
            yield handle
        finally:
            os.close(handle)

    def _find(self, given: str, *, for_writing: bool) -> Place:
        joined = os.path.join(self.workspace, os.path.expanduser(given) if given.startswith("~/") else given)
        try:
            resolved = Path(os.path.realpath(joined))
        except OSError as error:  # a link went away while it was followed
            raise ToolProblem(describe_os_error(error, show_name(given))) from error
        for root in self._writable if for_writing else self._readable:
            if resolved == root or root in resolved.parents:
                return Place(root=root, parts=resolved.relative_to(root).parts, shown=self.show(resolved))
        shown = show_name(given)
        if not for_writing or not any(root in (resolved, *resolved.parents) for root in self._readable):
            lexical = Path(os.path.normpath(joined))
            through = " through a link" if self.workspace in (lexical, *lexical.parents) else ""
            raise ToolProblem(
                f"{shown} leads out of the workspace{through}. File tools may only touch what is below"
                f" {show_name(str(self.workspace))}."
            )
        raise ToolProblem(f"{shown} may only be read.")

    @contextmanager
    def _opened(self, root: Path, parts: Sequence[str], shown: str, *, make: bool = False) -> Generator[int]:
        handle = -1
        try:
            handle = os.open(root, _WALK)
            for part in parts:
                deeper = _step(handle, part, make=make)
                os.close(handle)
                handle = deeper
        except OSError as error:
            if handle >= 0:
                os.close(handle)
            raise ToolProblem(describe_os_error(error, shown)) from error
        try:
            yield handle
        finally:
            os.close(handle)


def kind_of_file(mode: int) -> str:
    """What a file is, from its mode, in a word or two: `file`, `folder`, `link`, `pipe`, `socket`, `device`."""
    for test, word in (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, "link"),
        (stat.S_ISFIFO, "pipe"),
        (stat.S_ISSOCK, "socket"),
    ):
        if test(mode):
            return word
    return "device"


def _checked(text: str) -> str:
    if not text.strip():
        raise ToolProblem("The path is empty.")
    if "\0" in text:
        raise ToolProblem("The path has a zero byte in it.")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise ToolProblem("The path has a character that no file name can have.") from error
    if len(encoded) > _PATH_LIMIT_BYTES:
        raise ToolProblem(f"The path is longer than {_PATH_LIMIT_BYTES} bytes.")
    return text


def _step(handle: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, _WALK, dir_fd=handle)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # somebody else made it meanwhile
        os.mkdir(part, dir_fd=handle)
    return os.open(part, _WALK, dir_fd=handle)


def _refuse_special(found: os.stat_result, shown: str) -> None:
    kind = kind_of_file(found.st_mode)
    if kind == "link":
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if kind != "file":
        raise ToolProblem(f"{shown} is a {kind}, not a file.")


def _refuse_pseudo(found: os.stat_result, shown: str) -> None:
    if found.st_dev in _pseudo_devices():
        raise ToolProblem(
            f"{shown} belongs to the system's own view of its processes and devices; it is refused."
        )


@functools.cache
def _pseudo_devices() -> frozenset[int]:
    ground = os.stat("/").st_dev
    found: set[int] = set()
    for folder in _PSEUDO:
        try:
            device = os.stat(folder).st_dev
        except OSError:
            continue
        if device != ground:
            found.add(device)
    return frozenset(found)
