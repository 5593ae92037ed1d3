"""The bridge's log, `.a2app/bridge.log`: one safe line an entry, kept short."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from inspan.apps.programs.screen import printable

__all__ = ["LARGEST_LOG_BYTES", "Journal", "last_lines", "trim"]

LARGEST_LOG_BYTES = 512 * 1024
"""Over this, the older half of the log goes."""

_TAIL_BYTES = 64 * 1024
_LONGEST_LINE = 2_400


class Journal:
    """Writes lines; each with its time, each reduced to one line that can be printed.

    Args:
        write: Where a line goes; standard error, which is the log in the background, if nothing is given.
        log: The log that is kept short, if this process writes it.
    """

    def __init__(self, *, write: Callable[[str], None] | None = None, log: Path | None = None) -> None:
        self._write = write or _to_stderr
        self._log = log

    def say(self, line: str) -> None:
        """Writes `line`. A log that cannot be written, as on a full disk, stops no delivery."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with contextlib.suppress(OSError):
            self._write(f"{at} {printable(line, longest=_LONGEST_LINE)}")
        if self._log is not None:
            trim(self._log)


def trim(log: Path) -> None:
    """Keeps the newer half of a log that has grown too large.

    In place, since whoever writes to it has it open for appending: what is written meanwhile may be lost, and no
    more.
    """
    try:
        if log.stat().st_size <= LARGEST_LOG_BYTES:
            return
        with log.open("r+b") as file:
            file.seek(-LARGEST_LOG_BYTES // 2, os.SEEK_END)
            kept = file.read()
            kept = kept[kept.find(b"\n") + 1 :]
            file.seek(0)
            file.truncate()
            file.write(kept)
    except OSError:
        return  # a log that cannot be shortened is still a log


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of a log, of which no more than 64 KiB are read."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            text = file.read(_TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [printable(line, longest=_LONGEST_LINE) for line in text.splitlines() if line.strip()][-count:]


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
