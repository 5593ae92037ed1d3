"""Puts a file's new content in place at once: whoever reads it sees all of the old or all of the new."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat

__all__ = ["replace_file"]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(
    folder: int, name: str, data: bytes, *, old: os.stat_result | None, mode: int = 0o666
) -> None:
    """Writes a file beside `name`, makes it durable and puts it in the place of `name`.

    Another hard link to the old file keeps the old content. On any failure the old file is as it was, and nothing is
    left beside it.

    Args:
        folder: Descriptor of the folder.
        name: The file's name in it.
        data: The whole content.
        old: The file that is there, whose mode and, where the system permits it, owner are kept; None for a new file.
        mode: Of a new file, less the process's mask.

    Raises:
        OSError: The system refused.
    """
    beside = f".isp-{secrets.token_hex(8)}.tmp"
    handle = os.open(beside, _NEW, 0o600 if old else mode, dir_fd=folder)
    try:
        try:
            _write_all(handle, data)
            if old is not None:
                with contextlib.suppress(PermissionError):
                    os.fchown(handle, old.st_uid, old.st_gid)
                os.fchmod(handle, stat.S_IMODE(old.st_mode))
            os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    _sync_folder(folder)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _sync_folder(folder: int) -> None:
    with contextlib.suppress(OSError):  # the content is safe; some file systems cannot sync a folder
        readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(readable)
        finally:
            os.close(readable)
