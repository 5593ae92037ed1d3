"""Which size a terminal had from which offset of its output on."""

from __future__ import annotations

import os
import time

from .folder import write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .output import Log

__all__ = ["MAX_SIDE", "MAX_SIZES", "SIZES_FILE", "Sizes"]

SIZES_FILE = "sizes.json"
MAX_SIDE = 0xFFFF
"""The most columns, and the most rows: the kernel keeps 16 bits of each."""

MAX_SIZES = 512
"""How many sizes are kept; beyond it the oldest but the first are forgotten."""

RETRY_S = 1.0


class Sizes:
    """The sizes of one terminal, each with the offset from which on it counts.

    They are kept in `sizes.json`, written anew at each change. Of several at one offset the last one is
    kept; those that were over before the journal begins are forgotten.

    Attributes:
        retry_at: When to try again to write what could not be written (monotonic), or None.
    """

    def __init__(self, directory: str, columns: int, rows: int, log: Log) -> None:
        self.retry_at: float | None = None
        self._directory = directory
        self._log = log
        self._known = [(0, columns, rows)]
        write_record(directory, SIZES_FILE, {"sizes": self._known})

    @property
    def current(self) -> tuple[int, int]:
        """Columns and rows now."""
        return self._known[-1][1:]

    def at(self, offset: int) -> tuple[int, int]:
        """Columns and rows in which the byte at `offset` was written."""
        return next((known[1:] for known in reversed(self._known) if known[0] <= offset), self._known[0][1:])

    def next_change(self, offset: int) -> int | None:
        """The lowest offset above `offset` at which the size changed."""
        return next((known[0] for known in self._known if known[0] > offset), None)

    def note(self, offset: int, columns: int, rows: int) -> None:
        """Note that the size counts from `offset` on, which never goes back."""
        if self._known[-1][0] == offset:
            self._known.pop()
        if not self._known or self.current != (columns, rows):
            self._known.append((offset, columns, rows))
        if len(self._known) > MAX_SIZES:
            del self._known[1]
        self.save()

    def forget_below(self, offset: int) -> None:
        """Forget the sizes that were over at `offset`."""
        count = sum(known[0] <= offset for known in self._known) - 1
        if count > 0:
            del self._known[:count]
            self.save()

    def is_late(self, now_s: float) -> bool:
        """Whether it is time to try again."""
        return self.retry_at is not None and self.retry_at <= now_s

    def save(self) -> None:
        """Write the file; without room, keep all in memory and say when to try again."""
        try:
            write_record(self._directory, SIZES_FILE, {"sizes": self._known})
            self.retry_at = None
        except OSError as error:
            if self.retry_at is None:
                self._log.write(f"size not recorded: {os.strerror(error.errno or 0)}")
            self.retry_at = time.monotonic() + RETRY_S
