"""Files of the operator's: read whole, and replaced at once or not at all, as long as nobody else changed them."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from inspan.model.errors import UsageError

__all__ = ["FileText", "change_file", "is_tracked", "read_file"]

SIZE_BYTES = 8 * 1024 * 1024
TRIES = 5
"""How often a change is made anew where the file was changed meanwhile."""


class FileText(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read.

    Attributes:
        path: Where it really is, whatever link led to it.
        text: What is in it; empty where it is not there.
        data: The same, as bytes.
        mode: Its permissions.
        is_there: Whether it is there.
    """

    path: Path
    text: str = ""
    data: bytes = b""
    mode: int = 0o600
    is_there: bool = False


def read_file(path: Path) -> FileText:
    """What is in a file. Symlinks are followed.

    Raises:
        UsageError: `hooks_file_invalid`: it is no file, is too large, or no UTF-8; or it cannot be read.
    """
    try:
        real = Path(os.path.realpath(path, strict=path.is_symlink()))
        handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        if path.is_symlink():
            raise _invalid(path, "it is a link that leads nowhere") from error
        return FileText(path=Path(os.path.realpath(path)))
    except OSError as error:
        raise _invalid(path, f"it cannot be read ({error.strerror})") from error
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise _invalid(path, "it is no file")
    with open(handle, "rb") as file:
        if status.st_size > SIZE_BYTES:
            raise _invalid(path, f"it has more than {SIZE_BYTES} bytes")
        data = file.read(SIZE_BYTES + 1)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _invalid(path, "it is no UTF-8") from error
    return FileText(path=real, text=text, data=data, mode=stat.S_IMODE(status.st_mode), is_there=True)


def change_file(path: Path, change: Callable[[str], str]) -> bool:
    """Replaces what is in a file, and says whether anything changed.

    The new text comes with the file's own permissions, at once. Where somebody else changes the file meanwhile, the
    change is made again of what is there then. A file is never deleted.

    Args:
        path: The file; one that is not there is made, with its folders.
        change: Makes the new text of the old; called again for another old one.

    Raises:
        UsageError: `hooks_file_read_only`, `hooks_file_changed`, and as `read_file`; the file is as it was.
    """
    for _ in range(TRIES):
        before = read_file(path)
        text = change(before.text)
        if text == before.text and (before.is_there or not text):
            return False
        if before.is_there and not before.mode & 0o222:
            raise _read_only(path, "it is read-only")
        if _replace(path, before, text.encode()):
            return True
    raise UsageError(
        f"{path} was changed by somebody else again and again, so it was left as it is.",
        code="hooks_file_changed",
        hint="Try again once nobody writes it.",
        retry_safe=True,
    )


def is_tracked(path: Path) -> bool:
    """Whether git keeps the file, so that a change of it would be seen in a repository."""
    import subprocess

    real = Path(os.path.realpath(path))
    command = ["git", "-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--", real.name]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            command,
            cwd=real.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": os.environ.get("HOME", "/"),
                "GIT_OPTIONAL_LOCKS": "0",
            },
        )
        return done.returncode == 0
    return False


def _replace(path: Path, before: FileText, data: bytes) -> bool:
    """Whether the file was replaced; not where it is another by now."""
    folder = before.path.parent
    new = ""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, new = tempfile.mkstemp(prefix=f".{before.path.name}.", dir=folder)
        with open(handle, "wb") as file:
            os.fchmod(handle, before.mode)
            if before.is_there:
                _keep_owner(handle, before.path)
            file.write(data)
            file.flush()
            os.fsync(handle)
        now = read_file(path)
        if (now.path, now.data, now.is_there) != (before.path, before.data, before.is_there):
            return False
        os.replace(new, before.path)
        new = ""
    except OSError as error:
        raise _read_only(path, f"it cannot be written ({error.strerror})") from error
    finally:
        if new:
            with contextlib.suppress(OSError):
                os.unlink(new)
    return True


def _keep_owner(handle: int, path: Path) -> None:
    status = path.stat()
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):
            os.fchown(handle, status.st_uid, status.st_gid)


def _invalid(path: Path, fact: str) -> UsageError:
    return UsageError(
        f"{path} was left as it is: {fact}.",
        code="hooks_file_invalid",
        hint="Mend the file, then try again.",
        detail={"path": str(path)},
    )


def _read_only(path: Path, fact: str) -> UsageError:
    return UsageError(
        f"{path} was left as it is: {fact}.",
        code="hooks_file_read_only",
        hint="Make it writable, or use a seat without these hooks.",
        detail={"path": str(path)},
    )
