"""A command's output as it comes: its beginning and its end are kept for the result, and all of it in a file if it is long."""

from __future__ import annotations

import os
import re
from collections import deque
from pathlib import Path

from .spills import Spills

__all__ = ["CommandOutput", "clean_output"]

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


class CommandOutput:
    """Keeps at most `limit_bytes` in memory, and at most `spill_bytes` in a file of the session.

    Args:
        spills: Makes the file, at the first need.
        session_id: Whose file it is.
        limit_bytes: How much output is no long output.
        spill_bytes: How much of a long one is kept.
    """

    def __init__(self, spills: Spills, session_id: str, *, limit_bytes: int, spill_bytes: int) -> None:
        self._spills = spills
        self._session_id = session_id
        self._limit = limit_bytes
        self._head_limit = limit_bytes // 2
        self._spill_limit = spill_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._handle = -1
        self._path: Path | None = None
        self._spilled = 0
        self._has_failed = False
        self._is_long = False
        self.size = 0
        """How many bytes came."""

    def take(self, piece: bytes) -> None:
        """Takes the next bytes. Never raises for a full disk: what cannot be kept is counted."""
        self.size += len(piece)
        if self.size <= self._limit:
            self._head += piece
            return
        if not self._is_long:
            self._is_long = True
            self._open()
            piece = bytes(self._head) + piece
            self._head[:] = piece[: self._head_limit]
            self._spill(piece)
            self._push(piece[self._head_limit :])
            return
        self._spill(piece)
        self._push(piece)

    def close(self) -> str:
        """Closes the file and gives the text for the result. Call it once."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        if self.size <= self._limit:
            return clean_output(bytes(self._head))
        tail = b"".join(self._tail)[-(self._limit - self._head_limit) :]
        head = bytes(self._head)
        left_out = self.size - len(head) - len(tail)
        where = f"; the first {self._spilled:,} bytes of it all are in {self._path}" if self._path else ""
        if self._path and self._spilled == self.size:
            where = f"; all of it is in {self._path}"
        note = f"[… {left_out:,} of {self.size:,} bytes were left out here{where} …]"
        return "\n".join((clean_output(head).rstrip("\n"), note, clean_output(tail).lstrip("\n\ufffd")))

    def _open(self) -> None:
        try:
            self._handle, self._path = self._spills.open_file(self._session_id)
        except OSError:
            self._has_failed = True

    def _spill(self, piece: bytes) -> None:
        room = self._spill_limit - self._spilled
        if self._handle < 0 or self._has_failed or room <= 0:
            return
        left = memoryview(piece)[:room]
        try:
            while left:
                written = os.write(self._handle, left)
                self._spilled += written
                left = left[written:]
        except OSError:
            self._has_failed = True

    def _push(self, piece: bytes) -> None:
        self._tail.append(piece)
        self._tail_size += len(piece)
        while self._tail_size - len(self._tail[0]) >= self._limit - self._head_limit:
            self._tail_size -= len(self._tail.popleft())


def clean_output(data: bytes) -> str:
    """Output as text: without colours and other controls, and of a line that was drawn over only what it was last."""
    text = _ESCAPES.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n"))
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
