"""The lock that makes a process the one writer of a log: held by the kernel, so that it ends with the process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from inspan.model.errors import StoreError

__all__ = ["LogLock"]

_PID_SIZE_BYTES = 32


class LogLock:
    """An exclusive `flock` on the file beside the log, which names its owner's process id.

    The file stays when the lock ends: removing it would let two processes lock two files of one name.
    """

    def __init__(self, path: Path) -> None:
        """Takes the lock of the log at `path`.

        Raises:
            StoreError: `store_locked`, with the owner's `pid` in `detail` where it could be read.
            OSError: The lock's file cannot be made.
        """
        self.path = path.with_suffix(".lock")
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError as error:
            pid = _read_pid(self._file)
            self.close()
            owner = "another process" if pid is None else f"process {pid}"
            raise StoreError(
                f"The log {path} is being written by {owner}.",
                code="store_locked",
                hint="One daemon serves a home; use that one, or stop it.",
                detail={"file": str(path), "pid": pid},
            ) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Gives the lock up; calling it again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _read_pid(file: int) -> int | None:
    words = os.pread(file, _PID_SIZE_BYTES, 0).split()
    return int(words[0]) if words and words[0].isdigit() else None
