"""The journal: segment files of raw bytes, addressed by absolute offsets."""

from __future__ import annotations

import contextlib
import os

__all__ = ["SEGMENT_BYTES", "Journal", "segment_starts"]

SEGMENT_BYTES = 4 * 1024 * 1024


class Journal:
    """Segment files of raw bytes, addressed by absolute offsets.

    Attributes:
        first: The lowest offset that is still kept.
        end: The offset after the last byte on disk.
        acknowledged: Up to here the owner has made the bytes durable elsewhere.
        pending: Bytes that were read from the harness and could not be written yet.
    """

    def __init__(self, directory: str, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.directory = directory
        self.segment_bytes = segment_bytes
        self.first = 0
        self.end = 0
        self.acknowledged = 0
        self.pending = b""
        self._starts: list[int] = []
        self._writer = -1
        self._reader = (-1, -1)
        self._newest = (0, b"")  # what was written last, and where: who follows needs no file for it
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def append(self, data: bytes) -> None:
        """Append and write through to the system; raises OSError with the rest kept in `pending`."""
        self.pending = self.pending + data if self.pending else data
        self.flush()

    def flush(self) -> None:
        """Write what is pending; raises OSError with the rest kept."""
        newest = (self.end, self.pending)
        while self.pending:
            if not self._starts or self.end - self._starts[-1] >= self.segment_bytes:
                self._roll()
            room = self.segment_bytes - (self.end - self._starts[-1])
            count = os.write(self._writer, memoryview(self.pending)[:room])
            self.end += count
            self.pending = self.pending[count:]
        self._newest = newest

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`, which must be kept; less at the end of a segment."""
        begin, newest = self._newest
        if begin <= offset < begin + len(newest):
            return newest[offset - begin : offset - begin + size]
        start = next(start for start in reversed(self._starts) if start <= offset)
        if start == self._starts[-1]:
            return os.pread(self._writer, size, offset - start)
        if self._reader[0] != start:
            self._close_reader()
            self._reader = (start, os.open(self._path(start), os.O_RDONLY))
        return os.pread(self._reader[1], size, offset - start)

    def acknowledge(self, offset: int) -> None:
        """Remove the segments that lie wholly below `offset`; the last one always stays, it tells the end."""
        self.acknowledged = max(self.acknowledged, offset)
        while len(self._starts) > 1 and self._starts[1] <= self.acknowledged:
            gone = self._starts.pop(0)
            if self._reader[0] == gone:
                self._close_reader()
            with contextlib.suppress(OSError):
                os.unlink(self._path(gone))
            self.first = self._starts[0]

    def close(self) -> None:
        """Close the files; calling twice is safe."""
        self._close_reader()
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1

    def _roll(self) -> None:
        handle = os.open(self._path(self.end), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        if self._writer >= 0:
            os.close(self._writer)
        self._writer = handle
        self._starts.append(self.end)

    def _path(self, start: int) -> str:
        return os.path.join(self.directory, f"{start:020d}.seg")

    def _close_reader(self) -> None:
        if self._reader[1] >= 0:
            os.close(self._reader[1])
        self._reader = (-1, -1)


def segment_starts(directory: str) -> list[int]:
    """The offsets at which the segments in `directory` begin, ascending."""
    names = os.listdir(directory)
    return sorted(int(name[:-4]) for name in names if name.endswith(".seg") and name[:-4].isdecimal())
