"""Keeps notes as files: `global/NAME.md` and `workspaces/FOLDER-HASH/NAME.md`, 0600 in folders of 0700.

A file is replaced at once, so whoever reads it, in this process or another, sees a whole note. The index is made of the
files' first lines each time and cannot go stale. Links in these folders are never followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from inspan.agent.private_folders import make_private
from inspan.agent.tools.replacing import replace_file
from inspan.model.errors import StoreError, UsageError

from .notes import MOST_NOTES, NOTE_NAME, Note, check_name, decode_note, encode_note

__all__ = ["MemoryStore"]

_LARGEST_BYTES = 128 * 1024
_SUFFIX = ".md"
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_INDEX_CHARS = 8_000


class MemoryStore:
    """The notes below one folder, as a rule `<INSPAN_HOME>/agent/memory`. Nothing is made before the first note.

    Everywhere `workspace` is the folder that a session works in, absolute and resolved, or None for the notes of all
    workspaces. All of it blocks on the disk, and may be used from any thread.

    Args:
        folder: Absolute.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list(self, workspace: Path | None) -> tuple[Note, ...]:
        """The notes of a scope, by name, without their texts. Files that are no notes are passed over."""
        with self._opened(workspace) as folder:
            if folder is None:
                return ()
            names = sorted(name.removesuffix(_SUFFIX) for name in os.listdir(folder) if _is_note(name))
            found = (_read(folder, name, is_global=workspace is None) for name in names[: MOST_NOTES * 2])
            return tuple(_without_text(note) for note in found if note is not None)

    def read(self, name: str, workspace: Path | None) -> Note:
        """One note.

        Raises:
            UsageError: `invalid_argument`: there is none of this name.
        """
        check_name(name)
        with self._opened(workspace) as folder:
            note = None if folder is None else _read(folder, name, is_global=workspace is None)
        if note is None:
            raise _missing(name)
        return note

    def save(self, name: str, summary: str, text: str, workspace: Path | None) -> bool:
        """Makes a note, or replaces the one of this name. It is durable on return.

        Returns:
            Whether it is new.

        Raises:
            UsageError: `invalid_argument`: a bad name, summary or text, or too many notes.
            StoreError: `store_full`, `store_read_only` or `store_failed`; the old note is as it was.
        """
        check_name(name)
        data = encode_note(summary, text)
        with _telling_disk(), self._opened(workspace, make=True) as folder:
            assert folder is not None  # noqa: S101  it was made
            names = {entry for entry in os.listdir(folder) if _is_note(entry)}
            is_new = f"{name}{_SUFFIX}" not in names
            if is_new and len(names) >= MOST_NOTES:
                raise UsageError(
                    f"There are {MOST_NOTES} notes already; delete or join some first.",
                    code="invalid_argument",
                )
            replace_file(folder, f"{name}{_SUFFIX}", data, old=None, mode=0o600)
        return is_new

    def delete(self, name: str, workspace: Path | None) -> None:
        """Takes a note away.

        Raises:
            UsageError: `invalid_argument`: there is none of this name.
            StoreError: As `save`.
        """
        check_name(name)
        with _telling_disk(), self._opened(workspace) as folder:
            if folder is None:
                raise _missing(name)
            try:
                os.unlink(f"{name}{_SUFFIX}", dir_fd=folder)
            except FileNotFoundError as error:
                raise _missing(name) from error

    def search(self, words: str, workspaces: Sequence[Path | None]) -> tuple[Note, ...]:
        """The notes, texts included, that have each of these words somewhere, whatever its case; those of the first
        scope first."""
        wanted = words.casefold().split()
        found: list[Note] = []
        for workspace in workspaces:
            for listed in self.list(workspace):
                try:
                    note = self.read(listed.name, workspace)
                except UsageError:
                    continue  # deleted meanwhile
                whole = f"{note.name}\n{note.summary}\n{note.text}".casefold()
                if all(word in whole for word in wanted):
                    found.append(note)
        return tuple(found)

    def index(self, workspace: Path) -> str:
        """One line a note, for the prompt: those of the workspace, then those of all; empty if there is none."""
        parts: list[str] = []
        for title, scope in (("Of this workspace:", workspace), ("Of all workspaces:", None)):
            notes = self.list(scope)
            if notes:
                parts += [title, *_bounded_lines(notes, _INDEX_CHARS // 2)]
        return "\n".join(parts)

    @contextmanager
    def _opened(self, workspace: Path | None, *, make: bool = False) -> Generator[int | None]:
        parts = ("global",) if workspace is None else ("workspaces", _folder_name(workspace))
        if make:
            make_private(self.folder)
        handle: int | None = None
        try:
            handle = os.open(self.folder, _OPEN_FOLDER)
            for part in parts:
                handle = _step(handle, part, make=make)
        except FileNotFoundError:
            handle = None
        try:
            yield handle
        finally:
            if handle is not None:
                os.close(handle)


def _step(handle: int, part: str, *, make: bool) -> int:
    try:
        try:
            return os.open(part, _OPEN_FOLDER, dir_fd=handle)
        except FileNotFoundError:
            if not make:
                raise
        with suppress(FileExistsError):  # another session made it meanwhile
            os.mkdir(part, 0o700, dir_fd=handle)
        return os.open(part, _OPEN_FOLDER, dir_fd=handle)
    finally:
        os.close(handle)


def _folder_name(workspace: Path) -> str:
    path = os.fsencode(workspace)
    readable = re.sub(r"[^a-z0-9]+", "-", workspace.name.lower())[:32].strip("-") or "root"
    return f"{readable}-{hashlib.sha256(path).hexdigest()[:16]}"


def _is_note(name: str) -> bool:
    return name.endswith(_SUFFIX) and NOTE_NAME.fullmatch(name.removesuffix(_SUFFIX)) is not None


def _read(folder: int, name: str, *, is_global: bool) -> Note | None:
    try:
        handle = os.open(f"{name}{_SUFFIX}", _OPEN_FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            return None
        data = os.read(handle, _LARGEST_BYTES)
    finally:
        os.close(handle)
    summary, text = decode_note(data)
    changed_at = datetime.fromtimestamp(state.st_mtime, UTC)
    return Note(name=name, is_global=is_global, summary=summary, text=text, changed_at=changed_at)


def _without_text(note: Note) -> Note:
    return Note(
        name=note.name, is_global=note.is_global, summary=note.summary, text="", changed_at=note.changed_at
    )


def _bounded_lines(notes: Sequence[Note], room: int) -> list[str]:
    lines: list[str] = []
    for index, note in enumerate(notes):
        line = f"- {note.name}: {note.summary}"
        room -= len(line) + 1
        if room < 0:
            return [*lines, f"- … and {len(notes) - index} more"]
        lines.append(line)
    return lines


def _missing(name: str) -> UsageError:
    return UsageError(f"There is no note {name!r}.", code="invalid_argument")


@contextmanager
def _telling_disk() -> Generator[None]:
    try:
        yield
    except OSError as error:
        code = {
            errno.ENOSPC: "store_full",
            errno.EDQUOT: "store_full",
            errno.EROFS: "store_read_only",
            errno.EACCES: "store_read_only",
        }.get(error.errno or 0, "store_failed")
        raise StoreError(
            f"The note could not be kept: {os.strerror(error.errno or 0)}.",
            code=code,
            hint="The old one is unchanged.",
        ) from error
