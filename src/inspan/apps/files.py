"""Files that several processes share: written whole or not at all, and changed by one at a time.

The lock is the original's, so that its programs and these keep out of each other's way: a file that is made
exclusively and holds `{"pid", "at"}`. One that is left behind is broken by whoever comes next.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .faults import Rejected
from .processes import birth_of, is_alive, is_same_process

__all__ = ["Lock", "LockHeld", "locked", "read_json", "write_atomically", "write_json"]

LARGEST_JSON_BYTES = 16 * 1024 * 1024
"""More than this is not read as JSON: none of these files comes near."""

_MADE_ANEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RETRY_S = 0.025
_UNREADABLE_S = 30.0
_OLDEST_S = 300.0
_LARGEST_LOCK_BYTES = 4096


class LockHeld(Rejected):
    """Another living process kept the lock for as long as this one was willing to wait."""


class Lock:
    """A lock that is held. Keep it fresh with `renew` while something long runs: one of 300 seconds is broken."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle

    def renew(self) -> None:
        """Says that the holder is still at work. Never harms a lock that somebody else took in the meantime."""
        os.pwrite(self._handle, _said(), 0)

    def release(self) -> None:
        """Gives the lock back, if it is still this one. Calling it twice is safe."""
        if self._handle < 0:
            return
        handle, self._handle = self._handle, -1
        try:
            # Whoever is about to break the lock holds this too, so that nobody takes away a later lock.
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_at(handle, self._path):
                self._path.unlink(missing_ok=True)
        finally:
            os.close(handle)


@contextmanager
def locked(path: Path, *, timeout_s: float = 10.0) -> Generator[Lock]:
    """Holds the lock file `path` for the block; its folder is made where it is missing.

    A lock is stale, and is broken, when its process is gone (or its pid is another's by now), when nobody can
    read it for 30 seconds, or when it is older than 300. Not re-entrant.

    Args:
        path: The lock file itself, such as `HOME/.registry.lock`.
        timeout_s: How long to try, in seconds.

    Raises:
        LockHeld: Another process kept it all that time.
        OSError: The folder cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout_s
    while (lock := _take(path)) is None:
        if _break_stale(path):
            continue
        if time.monotonic() >= deadline:
            pid = _holder(_content(path)).get("pid")
            raise LockHeld(
                f"{path} is held by {f'process {pid}' if isinstance(pid, int) else 'another process'}.",
                hint="Wait until it is done, then run this again.",
            )
        time.sleep(_RETRY_S)
    try:
        yield lock
    finally:
        lock.release()


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600, keep_mode: bool = False) -> None:
    """Replaces a file's content so that a reader sees all of the old or all of the new, also after a power cut.

    A symbolic link is followed: its target is replaced and the link stays. Missing folders are made (0700).

    Args:
        path: The file.
        data: All that it will hold.
        mode: Its permissions.
        keep_mode: Whether a file that is there keeps its own permissions instead.

    Raises:
        OSError: It cannot be written; the file is as it was, and no temporary file is left.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if keep_mode:
        with suppress(FileNotFoundError):
            mode = target.stat().st_mode & 0o7777
    temporary = target.with_name(f"{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fchmod(handle, mode)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def write_json(path: Path, value: object, *, mode: int = 0o600, keep_mode: bool = False) -> None:
    """Writes a JSON value as these programs do: two blanks an indent, letters as they are, a newline at the end."""
    try:
        data = json.dumps(value, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair: it can stay as an escape
        data = json.dumps(value, indent=2).encode()
    write_atomically(path, data + b"\n", mode=mode, keep_mode=keep_mode)


def read_json(path: Path) -> Any:
    """The JSON value in a file.

    Raises:
        FileNotFoundError: There is none.
        OSError: It cannot be read.
        ValueError: It is no JSON (in UTF-8), or larger than any of these files.
    """
    with open(path, "rb") as file:
        data = file.read(LARGEST_JSON_BYTES + 1)
    if len(data) > LARGEST_JSON_BYTES:
        raise ValueError(f"it is larger than {LARGEST_JSON_BYTES} bytes")
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _take(path: Path) -> Lock | None:
    """Makes the lock file, content and all, in one step, so that nobody ever finds it half written."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    handle = os.open(temporary, _MADE_ANEW, 0o600)
    is_taken = False
    try:
        os.write(handle, _said())
        os.link(temporary, path)
        is_taken = True
        return Lock(path, handle)
    except FileExistsError:
        return None
    except OSError:
        return _take_without_links(path)
    finally:
        if not is_taken:
            os.close(handle)
        temporary.unlink(missing_ok=True)


def _take_without_links(path: Path) -> Lock | None:
    """The same on a file system that has no hard links, in two steps; a reader waits 30 seconds for the second."""
    try:
        handle = os.open(path, _MADE_ANEW, 0o600)
    except FileExistsError:
        return None
    lock = Lock(path, handle)
    try:
        lock.renew()
    except BaseException:
        lock.release()
        raise
    return lock


def _said() -> bytes:
    pid = os.getpid()
    return json.dumps({"pid": pid, "at": time.time_ns() // 1_000_000, "birth": birth_of(pid)}).encode()


def _break_stale(path: Path) -> bool:
    """Takes a lock away that nobody holds any more; whether there is now reason to try again at once."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        content = os.pread(handle, _LARGEST_LOCK_BYTES, 0)
        if not _is_at(handle, path):
            return True
        if not _is_stale(content, os.fstat(handle).st_mtime):
            return False
        aside = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}.stale")
        try:
            os.rename(path, aside)
        except FileNotFoundError:
            return True
        if not _is_at(handle, aside):
            # A program that knows nothing of the flock was quicker: what was taken is a fresh lock.
            with suppress(FileExistsError):
                os.link(aside, path)
        aside.unlink(missing_ok=True)
        return True
    finally:
        os.close(handle)


def _is_stale(content: bytes, changed_at_s: float) -> bool:
    holder = _holder(content)
    age_s = time.time() - changed_at_s
    pid = holder.get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool):
        return age_s > _UNREADABLE_S
    birth = holder.get("birth")
    if not is_same_process(pid, birth if isinstance(birth, str) else "") or not is_alive(pid):
        return True
    return min(age_s, _age_s(holder.get("at"), age_s)) > _OLDEST_S


def _age_s(at: object, otherwise_s: float) -> float:
    """How long ago the holder says that it took the lock: milliseconds since 1970, or ISO 8601."""
    if isinstance(at, (int, float)) and not isinstance(at, bool):
        return time.time() - at / 1000
    if isinstance(at, str):
        from datetime import datetime

        try:
            return time.time() - datetime.fromisoformat(at).timestamp()
        except (ValueError, OverflowError):
            return otherwise_s
    return otherwise_s


def _holder(content: bytes) -> dict[str, Any]:
    try:
        value: Any = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST_LOCK_BYTES)
    except OSError:
        return b""


def _is_at(handle: int, path: Path) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    here = os.fstat(handle)
    return (here.st_ino, here.st_dev) == (there.st_ino, there.st_dev)


def _sync_folder(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # some file systems cannot; the rename itself has happened
    finally:
        os.close(handle)
