"""The daemon's own log: one line a record, bounded in size, and without what must not stand in a log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time
import traceback
from collections.abc import Generator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from inspan.home import Home

__all__ = ["LineFormatter", "open_logs", "report_loop_fault"]

_FILE_BYTES = 5 * 1024 * 1024
_OLD_FILES = 3
_LOG = logging.getLogger(__name__)


class LineFormatter(logging.Formatter):
    """A record as one line: time in UTC, level, logger, text; of an exception only its kind and its places.

    An exception's own text is left out: it may quote a prompt, a session id or a variable. Control characters
    are written as escapes, so that no text can forge a line or drive a terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        text = f"{moment}.{int(record.msecs):03d}Z {record.levelname} {record.name}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text.rstrip()} [{_outline(record.exc_info[1])}]"
        return "".join(
            char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
        )


@contextlib.contextmanager
def open_logs(home: Home, *, is_shown: bool = False) -> Generator[None]:
    """Writes the process's log to the home's log file, 0600, and to standard error too if it `is_shown`."""
    handlers: list[logging.Handler] = [_LogFile(home.log_file)]
    if is_shown:
        handlers.append(logging.StreamHandler(sys.stderr))
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.INFO)
    # What they say at INFO is of no use to an operator; an HTTP client's would name every request.
    for name in ("uvicorn", "httpx", "httpcore", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for handler in handlers:
        handler.setFormatter(LineFormatter())
        root.addHandler(handler)
    try:
        yield
    finally:
        root.setLevel(before)
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def report_loop_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The event loop's exception handler: its own would print the exception's text."""
    error = context.get("exception")
    _LOG.error("the event loop reports: %s", context.get("message", "a fault"), exc_info=error)


class _LogFile(logging.Handler):
    """Appends each record with one write, in files that are 0600 whatever the umask says.

    The standard library's rotating handler does not survive a full disk: what it could not write stays in its
    buffer, and to close or to rotate raises. Here such a line is lost, and nothing else.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._handle: int | None = None
        self._size = 0
        self._is_torn = False

    def emit(self, record: logging.LogRecord) -> None:
        line = f"{self.format(record)}\n".encode("utf-8", "backslashreplace")
        with contextlib.suppress(OSError):
            if self._handle is not None and self._size + len(line) > _FILE_BYTES:
                self._rotate()
            if self._handle is None:
                self._handle = os.open(
                    self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
                )
                self._size = os.fstat(self._handle).st_size
            if self._is_torn:
                line = b"\n" + line
            written = os.write(self._handle, line)
            self._size += written
            self._is_torn = written < len(line)

    def close(self) -> None:
        self._let_go()
        super().close()

    def _rotate(self) -> None:
        self._let_go()
        for number in range(_OLD_FILES, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path.with_name(f"{self._path.name}.{number - 1}") if number > 1 else self._path
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)

    def _let_go(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _outline(error: BaseException) -> str:
    places = " < ".join(_places(error.__traceback__))
    parts = [f"{type(error).__name__} at {places or 'an unknown place'}"]
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        parts.extend(_outline(one) for one in group.exceptions)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        parts.append(f"after {_outline(cause)}")
    return "; ".join(parts)


def _places(trace: TracebackType | None) -> Iterator[str]:
    for frame in reversed(traceback.extract_tb(trace)):
        yield f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno} {frame.name}"
