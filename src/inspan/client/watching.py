"""Watching: events without an end, each exactly once, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator

import msgspec

from inspan.model.errors import InspanError, error_from_wire
from inspan.model.events import Envelope

from .sse import ServerSentEvent, SseDecoder
from .wire import Wire, not_understood

__all__ = ["RECONNECT_FOR_S", "watch"]

RECONNECT_FOR_S = 30.0
"""For how long a daemon that went away is waited for."""

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0

_ENVELOPE = msgspec.json.Decoder(Envelope)


async def watch(
    wire: Wire, *, after: int | None, seat: str | None, reconnect_for_s: float = RECONNECT_FOR_S
) -> AsyncGenerator[Envelope]:
    """Events behind `after`, or from now on; ends when the wire is closed.

    A connection that ends, for whatever reason, is made anew behind the last event that was seen.

    Raises:
        InspanError: What the daemon answered; `daemon_unreachable` once it was away for `reconnect_for_s`.
    """
    place = after
    away_since: float | None = None
    pause_s = _FIRST_PAUSE_S
    while not wire.is_closed:
        try:
            async with (
                wire.stream(
                    "/v1/events/stream", params={"seat": seat, "after": after}, last_id=place
                ) as pieces,
                contextlib.aclosing(_frames(pieces)) as frames,
            ):
                async for frame in frames:
                    away_since, pause_s = None, _FIRST_PAUSE_S
                    envelope = _read(frame)
                    reached = int(frame.id) if frame.id else place
                    if envelope is not None and (place is None or envelope.position > place):
                        place = envelope.position
                        yield envelope
                    elif reached is not None:
                        place = max(reached, place or 0)
        except InspanError as error:
            if wire.is_closed:
                return
            if error.code not in ("daemon_unreachable", "daemon_stopping"):
                raise
            away_since = away_since or time.monotonic()
            if time.monotonic() - away_since >= reconnect_for_s:
                raise
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


async def _frames(pieces: AsyncIterator[bytes]) -> AsyncGenerator[ServerSentEvent]:
    decoder = SseDecoder()
    try:
        async for piece in pieces:
            for frame in decoder.feed(piece):
                yield frame
    except ValueError as error:
        raise not_understood(str(error)) from error


def _read(frame: ServerSentEvent) -> Envelope | None:
    match frame.event:
        case "" | "cut" | "bye":
            return None
        case "error":
            raise error_from_wire(msgspec.json.decode(frame.data)["error"])
        case _:
            try:
                return _ENVELOPE.decode(frame.data)
            except msgspec.MsgspecError as error:
                raise not_understood(f"an event of type {frame.event}: {error}") from error
