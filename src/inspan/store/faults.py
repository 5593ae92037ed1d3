"""What SQLite and the file system say, as the errors that an operator can act on."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Generator
from pathlib import Path

from inspan.model.errors import StoreError

__all__ = ["fault_of", "is_fault_of_request", "store_faults"]

_NO_ROOM_BYTES = 64 * 1024
"""Below this much free space an input/output error is taken for a full disk."""

_PRIMARY_CODES: dict[int, str] = {
    sqlite3.SQLITE_BUSY: "store_locked",
    sqlite3.SQLITE_LOCKED: "store_locked",
    sqlite3.SQLITE_FULL: "store_full",
    sqlite3.SQLITE_READONLY: "store_read_only",
    sqlite3.SQLITE_PERM: "store_read_only",
    sqlite3.SQLITE_CORRUPT: "store_corrupt",
    sqlite3.SQLITE_NOTADB: "store_corrupt",
}

_WORDS: dict[str, tuple[str, str]] = {
    "store_locked": ("is locked by another process", "End the process that holds it, then try again."),
    "store_full": (
        "could not grow: there is no room on its disk",
        "Free some space; writing resumes by itself.",
    ),
    "store_read_only": ("cannot be written", "Make its folder writable."),
    "store_corrupt": ("is damaged", "Run `inspan store check`; restore a copy if it says so."),
    "store_failed": ("could not be used", "Run `inspan store check`."),
}


def fault_of(error: BaseException, path: Path) -> StoreError:
    """`error` as a `StoreError` about the log at `path`; its text is left out where it may quote a value."""
    if isinstance(error, StoreError):
        return error
    code = _code_of(error, path)
    fact, hint = _WORDS[code]
    detail = {"file": str(path), "cause": type(error).__name__}
    if isinstance(error, sqlite3.Error):
        detail["sqlite"] = str(getattr(error, "sqlite_errorname", None) or type(error).__name__)
    elif isinstance(error, OSError):
        detail["errno"] = errno.errorcode.get(error.errno or 0, str(error.errno))
    return StoreError(f"The log {path} {fact}.", code=code, hint=hint, detail=detail)


def is_fault_of_request(error: BaseException) -> bool:
    """Whether `error` comes from what was asked for, and says nothing about the log's health."""
    request_errors = (
        sqlite3.IntegrityError,
        sqlite3.DataError,
        sqlite3.InterfaceError,
        sqlite3.ProgrammingError,
    )
    return isinstance(error, request_errors) or not isinstance(error, sqlite3.Error | OSError | StoreError)


@contextlib.contextmanager
def store_faults(path: Path) -> Generator[None]:
    """Turns errors of SQLite and of the file system into `StoreError`s about the log at `path`."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise fault_of(error, path) from error


def _code_of(error: BaseException, path: Path) -> str:
    if isinstance(error, OSError):
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                return "store_full"
            case errno.EROFS | errno.EACCES | errno.EPERM:
                return "store_read_only"
            case _:
                return "store_failed"
    number = getattr(error, "sqlite_errorcode", None)
    if not isinstance(number, int):
        return "store_failed"
    primary = number & 0xFF
    if primary == sqlite3.SQLITE_IOERR and _has_no_room(path):
        return "store_full"
    if primary == sqlite3.SQLITE_CANTOPEN and not _is_writable(path):
        return "store_read_only"
    return _PRIMARY_CODES.get(primary, "store_failed")


def _has_no_room(path: Path) -> bool:
    try:
        room = os.statvfs(path.parent)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < _NO_ROOM_BYTES


def _is_writable(path: Path) -> bool:
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
