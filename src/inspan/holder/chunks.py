"""Output as an async iterator that holds only so much for a reader that is slow."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from inspan.model.errors import HolderError

from .wire import HarnessExit, TerminalPiece, TerminalSize

__all__ = ["Chunks", "TerminalPieces"]


class _Source(Protocol):
    """What sends, up to the offset that it was granted."""

    exit: HarnessExit | None

    def grant(self, offset: int) -> None: ...
    def lost(self) -> HolderError: ...


class Chunks:
    """An async iterator of (offset, bytes) for one reader.

    Attributes:
        waiting: What has come and was not taken yet.
    """

    def __init__(self, source: _Source, from_offset: int, window_bytes: int) -> None:
        self._source = source
        self._window_bytes = window_bytes
        self._granted = from_offset + window_bytes
        self.waiting: deque[tuple[int, bytes]] = deque()
        self._wake = asyncio.Event()
        self._is_finished = False

    def __aiter__(self) -> Chunks:
        return self

    async def __anext__(self) -> tuple[int, bytes]:
        while not self.waiting:
            if self._is_finished:
                if self._source.exit is None:
                    raise self._source.lost()
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        offset, data = self.waiting.popleft()
        consumed = offset + len(data)
        # Half a window at a time: neither a message for each piece nor a reader that runs dry.
        if self._granted - consumed <= self._window_bytes // 2:
            self._granted = consumed + self._window_bytes
            self._source.grant(self._granted)
        return offset, data

    def put(self, offset: int, data: bytes) -> None:
        """Take a piece."""
        self.waiting.append((offset, data))
        self._wake.set()

    def finish(self) -> None:
        """No more will come."""
        self._is_finished = True
        self._wake.set()


class TerminalPieces:
    """An async iterator of `TerminalPiece` for one reader; it ends and raises as `Chunks` does."""

    def __init__(self, chunks: Chunks, size: TerminalSize) -> None:
        self._chunks = chunks
        self._sizes: deque[TerminalSize] = deque()  # one for each empty chunk that waits
        self._size = size

    def __aiter__(self) -> TerminalPieces:
        return self

    async def __anext__(self) -> TerminalPiece:
        offset, data = await anext(self._chunks)
        if not data:
            self._size = self._sizes.popleft()
        return TerminalPiece(offset=offset, data=data, size=self._size)

    def put_size(self, offset: int, size: TerminalSize) -> None:
        """Take a size; of several that nobody took at one offset the last one counts."""
        waiting = self._chunks.waiting
        if waiting and waiting[-1] == (offset, b""):
            self._sizes[-1] = size
            return
        self._sizes.append(size)
        self._chunks.put(offset, b"")
