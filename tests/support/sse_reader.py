"""A client of an event stream on a bare socket: it reads exactly when the test says so."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from inspan.client.sse import ServerSentEvent, SseDecoder

__all__ = ["RawStream", "open_stream"]


class RawStream:
    """The answer to one request, read by hand.

    Attributes:
        status: The HTTP status.
        headers: The headers, in lower case.
        frames: The frames that were read so far.
        raw: The body that was read so far.
        is_ended: Whether the stream has ended, whole or cut.
        is_whole: Whether it ended as HTTP says that it should.
    """

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._decoder = SseDecoder()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.frames: list[ServerSentEvent] = []
        self.raw = b""
        self.is_ended = False
        self.is_whole = False

    @property
    def positions(self) -> list[int]:
        """The places of the events that were read, in order."""
        return [int(frame.id or 0) for frame in self.frames if frame.event not in ("", "cut", "bye", "error")]

    @property
    def kinds(self) -> list[str]:
        """The types of the frames that were read, in order."""
        return [frame.event for frame in self.frames]

    async def read_head(self) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
        }

    async def read_piece(self) -> None:
        """Reads one chunk of HTTP."""
        try:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            piece = (await self._reader.readexactly(size + 2))[:-2]
        except (asyncio.IncompleteReadError, ConnectionError):
            self.is_ended = True
            return
        if size == 0:
            self.is_ended = self.is_whole = True
            return
        self.raw += piece
        self.frames.extend(self._decoder.feed(piece))

    async def read_until(self, position: int) -> None:
        """Reads up to the event at `position`, or the end."""
        while not self.is_ended and (not self.positions or self.positions[-1] < position):
            await self.read_piece()

    async def read_to_end(self) -> None:
        while not self.is_ended:
            await self.read_piece()

    async def read_body(self) -> bytes:
        """The body of an answer that is no stream."""
        return await self._reader.readexactly(int(self.headers["content-length"]))


@contextlib.asynccontextmanager
async def open_stream(
    socket: Path, query: str = "", *, headers: dict[str, str] | None = None
) -> AsyncGenerator[RawStream]:
    """Asks for events and reads the head of the answer, and nothing further."""
    reader, writer = await asyncio.open_unix_connection(str(socket), limit=16 * 1024)
    try:
        lines = [f"GET /v1/events/stream{query} HTTP/1.1", "Host: inspan"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        stream = RawStream(reader)
        await stream.read_head()
        yield stream
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
