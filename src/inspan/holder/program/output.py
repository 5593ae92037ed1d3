"""What the harness writes: standard output into the journal, standard error into two files, and our log."""

from __future__ import annotations

import contextlib
import errno
import os
import time

from .folder import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .journal import Journal

__all__ = ["READ_BYTES", "STDERR_FILE_BYTES", "ErrorOutput", "Log", "Output", "read_some"]

READ_BYTES = 64 * 1024  # a larger buffer is mapped and unmapped anew for each read
STDERR_FILE_BYTES = 256 * 1024
LOG_BYTES = 256 * 1024
RETRY_S = 1.0


class Log:
    """The holder's own log; begins anew when it is full."""

    def __init__(self, path: str) -> None:
        self.handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, text: str) -> None:
        """Append a line; a full disk drops it."""
        with contextlib.suppress(OSError):
            if os.fstat(self.handle).st_size > LOG_BYTES:
                os.ftruncate(self.handle, 0)
            os.write(self.handle, f"{now()} {text}\n".encode("utf-8", "replace"))


class ErrorOutput:
    """Standard error, kept in two files that take turns; a full disk drops it, it never stops the harness."""

    def __init__(self, directory: str, handle: int) -> None:
        self.handle = handle
        self.total_bytes = 0
        self._newer = os.path.join(directory, "stderr.0")
        self._older = os.path.join(directory, "stderr.1")
        self._size = 0
        self._file = -1

    def take(self) -> None:
        """Read once what is there."""
        data = read_some(self.handle)
        if data == b"":
            self.close()
        elif data is not None:
            self.total_bytes += len(data)
            with contextlib.suppress(OSError):
                self._store(data)

    def close(self) -> None:
        """Close our end; calling twice is safe."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def _store(self, data: bytes) -> None:
        if self._file >= 0 and self._size >= STDERR_FILE_BYTES:
            os.close(self._file)
            self._file = -1
            os.rename(self._newer, self._older)
        if self._file < 0:
            self._file = os.open(self._newer, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            self._size = 0
        view = memoryview(data)[: STDERR_FILE_BYTES - self._size]
        self._size += os.write(self._file, view)
        if len(view) < len(data):
            self._store(data[len(view) :])


class Output:
    """Standard output on its way into the journal.

    Reading stops while the journal cannot be written, and while more than `max_unacknowledged_bytes`
    wait for the owner; the pipe then fills and the harness waits.

    Attributes:
        stalled: The errno that stopped the journal, or 0.
        retry_at: When the journal is tried again (monotonic), or None.
    """

    def __init__(
        self,
        handle: int,
        journal: Journal,
        *,
        max_unacknowledged_bytes: int,
        log: Log,
        tell: Callable[[dict[str, Any]], None],
    ) -> None:
        self.handle = handle
        self.journal = journal
        self.stalled = 0
        self.retry_at: float | None = None
        self.is_last = False  # the harness has ended: at most one pipe is left, and the end must be reached
        self._max_unacknowledged_bytes = max_unacknowledged_bytes
        self._log = log
        self._tell = tell

    def may_read(self) -> bool:
        """Whether standard output is open and may be read now."""
        if self.handle < 0 or self.stalled:
            return False
        return self.is_last or self.journal.end - self.journal.acknowledged < self._max_unacknowledged_bytes

    def take(self) -> None:
        """Read once what is there, and append it."""
        if not self.may_read():
            return
        data = read_some(self.handle)
        if data == b"":
            self.close()
        elif data is not None:
            self.journal.pending = data
            self.flush()

    def flush(self) -> None:
        """Write what waits for the journal; on failure keep it, tell the owner and try again later."""
        self.retry_at = None
        try:
            self.journal.flush()
        except OSError as error:
            number = error.errno or errno.EIO
            if number != self.stalled:
                self._log.write(f"journal stalled: {os.strerror(number)}")
                self._tell({"type": "stalled", "errno": number})
            self.stalled = number
            self.retry_at = time.monotonic() + RETRY_S
            return
        if self.stalled:
            self.stalled = 0
            self._log.write("journal resumed")
            self._tell({"type": "resumed"})

    def close(self) -> None:
        """Close our end; calling twice is safe."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


def read_some(handle: int) -> bytes | None:
    """What can be read at once; None if there is nothing yet, empty at the end."""
    try:
        return os.read(handle, READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""
