"""Server-sent events, read as they come: bytes in, frames out."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

__all__ = ["FRAME_CAP_BYTES", "ServerSentEvent", "SseDecoder"]

FRAME_CAP_BYTES = 128 * 1024 * 1024
"""The largest frame that is read: more than an event can be, so that only a broken peer meets it."""


class ServerSentEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One frame.

    Attributes:
        event: Its type; empty where the frame only names a place.
        data: Its data, the lines joined.
        id: The last id that the stream named, in this frame or before.
    """

    event: str
    data: bytes
    id: str | None


class SseDecoder:
    """Cuts a stream into frames. Comments and fields that it does not know are skipped."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._last_id: str | None = None

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """The frames that `piece` completes.

        Raises:
            ValueError: A frame is larger than `FRAME_CAP_BYTES`.
        """
        self._buffer += piece
        while (end := self._buffer.find(b"\n\n", self._searched)) >= 0:
            frame = bytes(self._buffer[:end])
            del self._buffer[: end + 2]
            self._searched = 0
            yield self._parse(frame)
        self._searched = max(0, len(self._buffer) - 1)
        if len(self._buffer) > FRAME_CAP_BYTES:
            raise ValueError("a frame of the event stream is over the cap")

    def _parse(self, frame: bytes) -> ServerSentEvent:
        event = ""
        data: list[bytes] = []
        for line in frame.split(b"\n"):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            match name:
                case b"event":
                    event = value.decode()
                case b"data":
                    data.append(value)
                case b"id":
                    self._last_id = value.decode()
                case _:
                    pass
        return ServerSentEvent(event=event, data=b"\n".join(data), id=self._last_id)
