"""The feed: every new event encoded once, kept for a while, and shared by all who watch.

A client owns no queue: it owns a place in the log. The feed keeps the newest frames within two bounds, and
whoever is behind them reads from the store instead. So nobody who watches costs memory, and an append costs
the same however many watch.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple

import msgspec

from inspan.model.events import Envelope

from .beside import running_beside
from .event_log import EventLog
from .redaction import without_secrets

__all__ = ["Feed", "FeedLimits", "Frame", "Watcher", "encode_frame", "open_feed"]


class FeedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The feed's bounds.

    Attributes:
        kept_frames: How many of the newest events are kept in memory.
        kept_bytes: How many bytes of them.
        lag_frames: How many events a client that takes nothing may be behind.
        lag_bytes: How many bytes.
        patience_s: For how many seconds it may take nothing while it is that far behind.
        stall_s: For how many seconds it may take nothing, however near it is.
        farewell_s: How many seconds a client that was cut has to take the reason before it is disconnected.
        heartbeat_s: Seconds between the signs of life on a quiet stream.
        tick_s: Seconds between two looks at the clients.
        chunk_bytes: How much is written at once.
        replay_events: How many events are read from the store at once.
    """

    kept_frames: int = 8192
    kept_bytes: int = 16 * 1024 * 1024
    lag_frames: int = 4096
    lag_bytes: int = 8 * 1024 * 1024
    patience_s: float = 2.0
    stall_s: float = 30.0
    farewell_s: float = 10.0
    heartbeat_s: float = 15.0
    tick_s: float = 0.5
    chunk_bytes: int = 64 * 1024
    replay_events: int = 500


class Frame(NamedTuple):
    """An event as it goes over the wire.

    Attributes:
        position: Its place in the log.
        seat: Its seat, for those who watch only one.
        kind: The event's type, for those who watch only some.
        data: The bytes, the same object for every client.
        end: How many bytes the feed has encoded up to and with this frame.
    """

    position: int
    seat: str
    kind: str
    data: bytes
    end: int


class Watcher:
    """One client's place, and what the feed wants of it.

    Attributes:
        position: Up to here everything was handed to the connection.
        wake: Set when there is something to do.
        blocked_since: Since when the connection takes nothing, on the monotonic clock.
        is_cut: It read too slowly and gets nothing more.
        is_gone: It hung up.
        beat_due: It should get a sign of life.
    """

    __slots__ = ("abort", "beat_due", "blocked_since", "cut_at", "is_gone", "position", "wake")

    def __init__(self, position: int) -> None:
        self.position = position
        self.wake = asyncio.Event()
        self.blocked_since: float | None = None
        self.cut_at: float | None = None
        self.is_gone = False
        self.beat_due = False
        self.abort: asyncio.Transport | None = None

    @property
    def is_cut(self) -> bool:
        """Whether it read too slowly and gets nothing more."""
        return self.cut_at is not None


class Feed:
    """The newest frames, and those who wait for more."""

    def __init__(self, log: EventLog, limits: FeedLimits) -> None:
        self.log = log
        self.limits = limits
        self.watchers: set[Watcher] = set()
        self.last_position = log.last_position()
        self.is_closing = False
        self.encoded = 0
        self._encoder = msgspec.json.Encoder()
        self._frames: list[Frame] = []
        self._encoded_bytes = 0

    def publish(self, envelopes: Sequence[Envelope]) -> None:
        """Takes a batch that became durable: encodes it once and wakes everybody."""
        for envelope in envelopes:
            if envelope.position <= self.last_position:
                continue
            if self._frames and envelope.position != self.last_position + 1:
                self._frames.clear()  # a gap: whoever is before it reads from the store
            data = encode_frame(envelope, self._encoder)
            self.encoded += 1
            self._encoded_bytes += len(data)
            self._frames.append(
                Frame(envelope.position, envelope.seat, envelope.type, data, self._encoded_bytes)
            )
            self.last_position = envelope.position
        self._trim()
        self._wake_all()

    def frames_after(self, position: int) -> Sequence[Frame] | None:
        """The kept frames behind `position`, about one chunk of them, or `None` where some are not kept."""
        if position >= self.last_position:
            return ()
        if not self._frames or self._frames[0].position > position + 1:
            return None
        start = position + 1 - self._frames[0].position
        stop = start
        size = 0
        while stop < len(self._frames) and size < self.limits.chunk_bytes:
            size += len(self._frames[stop].data)
            stop += 1
        return self._frames[start:stop]

    def kept(self) -> Sequence[Frame]:
        """The frames in memory, the oldest first."""
        return tuple(self._frames)

    async def replay_after(
        self, position: int, seat: str | None, types: frozenset[str] | None = None
    ) -> tuple[list[bytes], int]:
        """Frames behind `position` from the store, and the place that they lead to."""
        # The store answers at once or not at all; between two answers everybody else gets a turn.
        await asyncio.sleep(0)
        known = self.log.last_position()
        limit = self.limits.replay_events
        found = self.log.events(after=position, seat=seat, types=types, limit=limit)
        frames = [encode_frame(envelope, self._encoder) for envelope in found]
        reached = found[-1].position if found else position
        # A short answer says that nothing else of what is wanted stood in the log when it was asked.
        return frames, max(reached, known) if len(found) < limit else reached

    def close(self) -> None:
        """Lets every stream say goodbye and end."""
        self.is_closing = True
        self._wake_all()

    async def tend(self) -> None:
        """Looks after the clients for ever: cuts the slow ones, and has the others given signs of life."""
        beat_at = time.monotonic() + self.limits.heartbeat_s
        while True:
            await asyncio.sleep(self.limits.tick_s)
            now = time.monotonic()
            for watcher in self.watchers:
                self._judge(watcher, now)
            if now >= beat_at:
                beat_at = now + self.limits.heartbeat_s
                for watcher in self.watchers:
                    watcher.beat_due = True
                self._wake_all()

    def _judge(self, watcher: Watcher, now: float) -> None:
        if watcher.blocked_since is None:
            return
        blocked_s = now - watcher.blocked_since
        if watcher.cut_at is not None:
            if now - watcher.cut_at >= self.limits.farewell_s and watcher.abort is not None:
                watcher.abort.abort()
        elif blocked_s >= self.limits.stall_s or (
            blocked_s >= self.limits.patience_s and self._is_far_behind(watcher.position)
        ):
            watcher.cut_at = now

    def _is_far_behind(self, position: int) -> bool:
        if self.last_position - position > self.limits.lag_frames:
            return True
        if not self._frames or self._frames[0].position > position + 1:
            return position < self.last_position
        index = position + 1 - self._frames[0].position
        if index >= len(self._frames):
            return False
        first = self._frames[index]
        return self._encoded_bytes - (first.end - len(first.data)) > self.limits.lag_bytes

    def _trim(self) -> None:
        surplus = max(0, len(self._frames) - self.limits.kept_frames)
        floor = self._encoded_bytes - self.limits.kept_bytes
        while (
            surplus < len(self._frames)
            and self._frames[surplus].end - len(self._frames[surplus].data) < floor
        ):
            surplus += 1
        if surplus:
            del self._frames[:surplus]

    def _wake_all(self) -> None:
        for watcher in self.watchers:
            watcher.wake.set()


def encode_frame(envelope: Envelope, encoder: msgspec.json.Encoder) -> bytes:
    """An event as a frame of the stream: `id` is its position, `event` its type, `data` one line of JSON."""
    shown = without_secrets(envelope)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (shown.position, shown.type.encode(), encoder.encode(shown))


@contextlib.asynccontextmanager
async def open_feed(log: EventLog, limits: FeedLimits | None = None) -> AsyncGenerator[Feed]:
    """A feed of `log` that tends its clients inside the block."""
    feed = Feed(log, limits or FeedLimits())
    async with running_beside(feed.tend(), name="the feed"):
        unsubscribe = log.subscribe(feed.publish)
        feed.last_position = log.last_position()
        try:
            yield feed
        finally:
            unsubscribe()
            feed.close()
