"""The daemon's own log: one line a record, bounded in size, and without what must not stand in a log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import logging.handlers
import os
import sys
import time
import traceback
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Any, TextIO, cast

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
    handlers: list[logging.Handler] = [
        _PrivateFile(home.log_file, maxBytes=_FILE_BYTES, backupCount=_OLD_FILES, encoding="utf-8")
    ]
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
    # A disk without room must not turn every line of the log into a line on standard error.
    raising, logging.raiseExceptions = logging.raiseExceptions, False
    try:
        yield
    finally:
        logging.raiseExceptions = raising
        root.setLevel(before)
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def report_loop_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The event loop's exception handler: its own would print the exception's text."""
    error = context.get("exception")
    _LOG.error("the event loop reports: %s", context.get("message", "a fault"), exc_info=error)


class _PrivateFile(logging.handlers.RotatingFileHandler):
    """Makes every file 0600, the ones after a rotation too, whatever the umask says."""

    def _open(self) -> TextIO:  # pyright: ignore[reportIncompatibleMethodOverride]
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return open(handle, "a", encoding=self.encoding)


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
