"""A file of JSON lines that audit events are appended to, and the sink that fills it."""

from __future__ import annotations

import asyncio
import os
import stat
from functools import partial
from pathlib import Path

import msgspec

from inspan.agent.audit.events import AuditEvent
from inspan.agent.threads import run_in_thread

__all__ = ["JsonlFile", "JsonlSink"]

_MOST_LINES_WAITING = 500


class JsonlFile:
    """A file that lines are appended to. Its methods block.

    Args:
        path: The file, absolute. It is made with mode 0600 whatever the umask, and its missing folders with 0700; the
            mode of a file that is there is left as it is.

    Raises:
        OSError: It cannot be opened, or is no regular file.
    """

    def __init__(self, path: Path) -> None:
        _make_folders(path.parent)
        self._file = _open_to_append(path)
        self._is_torn = _ends_in_mid_line(path)

    def append(self, lines: bytes) -> None:
        """Writes whole lines.

        Raises:
            OSError: Not all was written. The next call begins on a new line.
        """
        text = b"\n" + lines if self._is_torn else lines
        self._is_torn = True
        while text:
            text = text[os.write(self._file, text) :]
        self._is_torn = False

    def close(self) -> None:
        """Closes it."""
        os.close(self._file)


class JsonlSink:
    """Keeps lines for a moment and has them written in a thread, all that wait at once. Fulfils `AuditSink`.

    Args:
        file: Where to; `close` closes it.
    """

    def __init__(self, file: JsonlFile) -> None:
        self._file = file
        self._waiting: list[bytes] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, event: AuditEvent) -> None:
        """Takes an event. It is in the file soon after, at the latest when the plugin stops."""
        failure = self._take_failure()
        self._waiting.append(msgspec.json.encode(event) + b"\n")
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_out())
        if len(self._waiting) >= _MOST_LINES_WAITING:
            await asyncio.wait({self._writing})
        if failure is not None:
            raise failure

    async def close(self) -> None:
        """Writes what still waits, and closes the file."""
        try:
            if self._writing is not None:
                await asyncio.wait({self._writing})
            failure = self._take_failure()
            await self._write_out()
            if failure is not None:
                raise failure
        finally:
            await run_in_thread(self._file.close, name="audit")

    async def _write_out(self) -> None:
        while self._waiting:
            lines, self._waiting = self._waiting, []
            await run_in_thread(partial(self._file.append, b"".join(lines)), name="audit")

    def _take_failure(self) -> BaseException | None:
        """What the last writing raised, once; lines that it did not write are lost."""
        if self._writing is None or not self._writing.done():
            return None
        writing, self._writing = self._writing, None
        return asyncio.CancelledError() if writing.cancelled() else writing.exception()


def _make_folders(folder: Path) -> None:
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        try:
            one.mkdir(mode=0o700)
        except FileExistsError:
            continue
        one.chmod(0o700)


def _open_to_append(path: Path) -> int:
    # Without waiting, so that a pipe that nobody reads is refused instead.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(file, 0o600)
    except FileExistsError:
        file = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError("not a regular file")
    return file


def _ends_in_mid_line(path: Path) -> bool:
    """Whether the last line has no end, as after a kill in the middle of a write."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it may be written and not read
        return False
    try:
        size = os.fstat(file).st_size
        return size > 0 and os.pread(file, 1, size - 1) != b"\n"
    finally:
        os.close(file)
