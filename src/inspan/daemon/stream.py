"""One client's event stream: server-sent events, from its place in the log to the newest and on."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncGenerator

import msgspec
from litestar.types import HTTPScope, Receive, Scope, Send

from inspan.model.errors import InspanError, error_to_wire

from .beside import running_beside
from .connection import transport_of
from .feed import Feed, Watcher

__all__ = ["EventStream"]

_LOG = logging.getLogger(__name__)

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_RETRY_MS = 1000


class EventStream:
    """An ASGI application that serves one request for events.

    The first frame carries no event, only the place at which the stream begins, so that a client that is cut
    off before its first event resumes there. Between replay and live there is no seam: both are asked for what
    stands behind the same place.
    """

    def __init__(
        self, feed: Feed, *, after: int, seat: str | None, types: frozenset[str] | None = None
    ) -> None:
        self._feed = feed
        self._seat = seat
        self._types = types
        self._watcher = Watcher(after)
        # Whoever wants only some events has to be told once where the past ends: it may be behind others' events.
        self._owes_place_above = None if seat is None and types is None else after

    async def __call__(self, scope: Scope | HTTPScope, receive: Receive, send: Send) -> None:
        """Serves until the client hangs up, is cut, or the daemon stops."""
        watcher = self._watcher
        watcher.abort = transport_of(scope)
        self._feed.watchers.add(watcher)
        try:
            async with _noticing_the_end(watcher, receive):
                await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
                await self._write(send, b"retry: %d\n%s" % (_RETRY_MS, _place(watcher.position)))
                last_words = await self._follow(send)
                if last_words is not None:
                    await self._write(send, last_words, is_last=True)
        finally:
            self._feed.watchers.discard(watcher)

    async def _follow(self, send: Send) -> bytes | None:
        """Writes what comes; gives the last frame, or `None` where nobody is there to read it."""
        watcher, feed = self._watcher, self._feed
        while True:
            watcher.wake.clear()
            if watcher.is_gone:
                return None
            if watcher.is_cut:
                _LOG.warning("cut an event stream that was read too slowly, at position %d", watcher.position)
                return _control("cut", code="slow_client", last_position=watcher.position)
            try:
                chunk, reached = await self._next()
            except InspanError as error:
                return _control("error", error=error_to_wire(error), last_position=watcher.position)
            if chunk:
                watcher.beat_due = False
                await self._write(send, chunk)
            if reached > watcher.position:
                watcher.position = reached
            elif feed.is_closing:
                return _control("bye", code="daemon_stopping", last_position=watcher.position)
            elif watcher.beat_due:
                watcher.beat_due = False
                await self._write(send, b":\n" + _place(watcher.position))
            elif self._owes_place_above is not None and watcher.position > self._owes_place_above:
                self._owes_place_above = None
                await self._write(send, _place(watcher.position))
            else:
                await watcher.wake.wait()

    async def _next(self) -> tuple[bytes, int]:
        position, seat, types = self._watcher.position, self._seat, self._types
        frames = self._feed.frames_after(position)
        if frames is None:
            replayed, reached = await self._feed.replay_after(position, seat, types)
            return b"".join(replayed), reached
        if not frames:
            return b"", position
        wanted = [
            frame.data
            for frame in frames
            if (seat is None or frame.seat == seat) and (types is None or frame.kind in types)
        ]
        return wanted[0] if len(wanted) == 1 else b"".join(wanted), frames[-1].position

    async def _write(self, send: Send, data: bytes, *, is_last: bool = False) -> None:
        self._watcher.blocked_since = time.monotonic()
        try:
            await send({"type": "http.response.body", "body": data, "more_body": not is_last})
        finally:
            self._watcher.blocked_since = None


@contextlib.asynccontextmanager
async def _noticing_the_end(watcher: Watcher, receive: Receive) -> AsyncGenerator[None]:
    async def listen() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        watcher.is_gone = True
        watcher.wake.set()

    async with running_beside(listen(), name="an event stream"):
        yield


def _place(position: int) -> bytes:
    return b"id: %d\n\n" % position


def _control(event: str, **data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), msgspec.json.encode(data))
