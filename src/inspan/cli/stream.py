"""The daemon's event stream (SSE): parsed as it comes, and taken up again where it was cut.

A stream ends in many ways: the daemon was stopped or killed, this program read too slowly and was cut, the
machine slept. Every one of them is answered alike: connect again and go on after the last event that was
handed out. The log's positions make that exact. A daemon that says goodbye was stopped on purpose: it is
waited for, never started by a stream.
"""

from __future__ import annotations

import json
import select
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from inspan.model.errors import error_from_wire

from .fields import Json, record
from .wire import Connection, answer_of, target

__all__ = ["EventStream", "SseEvent", "SseReader"]

_HEAD_TIMEOUT_S = 30.0
_SILENCE_LIMIT_S = 60.0
"""The daemon gives a sign of life every 15 seconds."""
_RECONNECT_PAUSE_S = 0.25
_RECONNECT_PAUSE_MAX_S = 5.0


class SseEvent(NamedTuple):
    """One event of a stream as it came; one without a name and data only says how far the stream is."""

    id: str
    name: str
    data: str


class SseReader:
    """Turns bytes into events, wherever the pieces are cut."""

    def __init__(self) -> None:
        self._raw = b""
        self._name = ""
        self._id = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[SseEvent]:
        """The events that `piece` completes. Comments and unknown fields are passed over."""
        *lines, self._raw = (self._raw + piece).split(b"\n")
        return [
            event for line in lines if (event := self._line(line.rstrip(b"\r").decode("utf-8", "replace")))
        ]

    def _line(self, line: str) -> SseEvent | None:
        if not line:
            event = SseEvent(self._id, self._name, "\n".join(self._data))
            self._id, self._name, self._data = "", "", []
            return event if any(event) else None
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "event":
                self._name = value
            case "id":
                self._id = value
            case "data":
                self._data.append(value)
            case _:
                pass
        return None


class EventStream:
    """All events after a position, in order, each once, across restarts of the daemon.

    Attributes:
        place: Up to this position everything that was wanted has come.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        revive: Callable[[], None] | None = None,
        seat: str | None = None,
        types: str | None = None,
        after: int = 0,
        on_gap: Callable[[str], None] | None = None,
    ):
        """Connects at the first read.

        Args:
            connect: Gives a connection, or raises `OSError` where no daemon listens.
            revive: Starts a daemon that died; `None` waits for somebody else to do it.
            seat: Only this seat's events.
            types: Only events of these types, with commas between them.
            after: The position to go on from.
            on_gap: Is told, in words, why the stream was interrupted, and that it goes on.
        """
        self.place = after
        self._connect = connect
        self._revive = revive
        self._was_stopped = False
        self._seat = seat
        self._types = types
        self._on_gap = on_gap or _say_nothing
        self._connection: Connection | None = None
        self._reader = SseReader()
        self._ready: list[Json] = []
        self._heard_at = 0.0
        self._pause_s = _RECONNECT_PAUSE_S

    @property
    def has_more(self) -> bool:
        """Whether events have come that were not handed out yet."""
        return bool(self._ready)

    def close(self) -> None:
        """Ends the stream; twice is safe."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def next(self, *, timeout_s: float | None = None, beside: Sequence[int] = ()) -> Json | int | None:
        """The next envelope; or the descriptor of `beside` that became readable; or `None` after `timeout_s`.

        Raises:
            InspanError: The daemon cannot be had any more, or refuses the stream.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._ready:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            connection = self._connection or self._open()
            if self._ready:
                break
            if connection is None:
                if (other := self._rest(left, beside)) is not None:
                    return other
                continue
            wait_s = _SILENCE_LIMIT_S if left is None else min(left, _SILENCE_LIMIT_S)
            readable, _, _ = select.select([connection, *beside], [], [], wait_s)
            if other := [one for one in readable if isinstance(one, int)]:
                return other[0]
            if connection in readable:
                self._read(connection)
            elif time.monotonic() - self._heard_at >= _SILENCE_LIMIT_S:
                self._break("the daemon was silent")
        self._pause_s = _RECONNECT_PAUSE_S
        return self._ready.pop(0)

    def _open(self) -> Connection | None:
        try:
            connection = self._connect()
        except OSError:
            if self._revive is None or self._was_stopped:
                return None
            self._revive()
            return None
        where = target("/v1/events/stream", {"seat": self._seat, "types": self._types, "after": self.place})
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.place)}
        try:
            connection.send("GET", where, headers=headers)
            connection.read_head(_HEAD_TIMEOUT_S)
            if connection.status != 200:
                answer_of(connection.status, connection.read_all())
                return None
        except OSError:
            connection.close()
            return None
        except BaseException:
            connection.close()
            raise
        self._was_stopped = False
        self._reader = SseReader()
        self._heard_at = time.monotonic()
        self._connection = connection
        # `select` does not see what came along with the head.
        self._feed(connection.take_buffered())
        return self._connection

    def _rest(self, limit_s: float | None, beside: Sequence[int]) -> int | None:
        pause_s = self._pause_s if limit_s is None else min(self._pause_s, limit_s)
        self._pause_s = min(self._pause_s * 2, _RECONNECT_PAUSE_MAX_S)
        readable, _, _ = select.select(list(beside), [], [], pause_s)
        return readable[0] if readable else None

    def _read(self, connection: Connection) -> None:
        try:
            piece = connection.read_some()
        except (OSError, ValueError) as error:
            self._break(f"the connection to the daemon broke ({error})")
            return
        self._heard_at = time.monotonic()
        if piece is None:
            self._break("the daemon ended the stream")
            return
        self._feed(piece)

    def _feed(self, piece: bytes) -> None:
        for event in self._reader.feed(piece):
            match event.name:
                case "cut":
                    self._break("this program read too slowly")
                    return
                case "bye":
                    self._was_stopped = True
                    self._break("the daemon was stopped")
                    return
                case "error":
                    self.close()
                    raise error_from_wire(dict(record(_decoded(event.data), "error")))
                case _:
                    self._take(event)

    def _take(self, event: SseEvent) -> None:
        position = int(event.id) if event.id.isdecimal() else 0
        # A stream that was taken up again may begin with what has come already.
        if position > self.place:
            self.place = position
            if event.data:
                self._ready.append(record(_decoded(event.data)))

    def _break(self, why: str) -> None:
        self.close()
        self._on_gap(why)


def _decoded(data: str) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _say_nothing(_: str) -> None:
    return
