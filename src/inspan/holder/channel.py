"""Frames over one connection to a holder: which answer belongs to which request."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol, TypeVar, cast

import msgspec

from inspan.model.errors import HolderError

from .program.frames import FrameDecoder, encode_data, encode_json, split_data
from .wire import WriteResult, holder_error

__all__ = ["Channel", "Listener", "Notice"]

_T = TypeVar("_T")


class Notice(msgspec.Struct, frozen=True):
    """The fields by which a message finds its receiver; the rest depends on `type`."""

    type: str
    id: int | None = None
    op: int | None = None
    code: str = ""
    message: str = ""
    detail: dict[str, Any] = {}
    errno: int = 0


class Listener(Protocol):
    """Who takes what nobody has asked for; called from the event loop, in the order of arrival."""

    def take_output(self, offset: int, data: bytes) -> None:
        """Output of the harness."""
        ...

    def take_reply(self, request: int, *, is_refused: bool) -> None:
        """A request was answered; its waiter learns it later."""
        ...

    def take_notice(self, notice: Notice, body: bytes) -> None:
        """Something that the holder said by itself."""
        ...

    def take_end(self) -> None:
        """The connection has ended; the last call."""
        ...


class Channel(asyncio.Protocol):
    """One connection, from its first byte to its end; then `cause` says why it ended."""

    def __init__(self, listener: Listener, *, timeout_s: float) -> None:
        self.cause: HolderError | None = None
        self.is_closed = False
        self._listener = listener
        self._timeout_s = timeout_s
        self._decoder = FrameDecoder()
        self._transport: asyncio.Transport | None = None
        self._welcome: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._replies: dict[int, asyncio.Future[bytes]] = {}
        self._writes: dict[int, list[asyncio.Future[WriteResult]]] = {}
        self._last_request = 0

    async def greet(self, hello: dict[str, Any]) -> bytes:
        """Say hello; the body of the welcome."""
        self._send(encode_json({**hello, "type": "hello"}))
        return await self._welcome

    def next_request(self) -> int:
        """The id that the next `ask` will use."""
        return self._last_request + 1

    async def ask(self, kind: str, values: dict[str, Any], answer: type[_T]) -> _T:
        """Make a request and wait for its answer."""
        self._last_request += 1
        request = self._last_request
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._replies[request] = future
        try:
            self._send(encode_json({**values, "type": kind, "id": request}))
            body = await self._within(future, self._timeout_s, f"the holder did not answer {kind}")
        finally:
            del self._replies[request]
        try:
            return msgspec.json.decode(body, type=answer)
        except msgspec.MsgspecError:
            text = f"the holder's answer to {kind} cannot be understood"
            raise holder_error("holder_refused", "protocol_fault", text) from None

    def post(self, kind: str, values: dict[str, Any]) -> None:
        """Make a request and let its answer pass; nothing if the connection has ended."""
        if not self.is_closed:
            self._send(encode_json({**values, "type": kind, "id": 0}))

    async def write(
        self, op: int, data: bytes, timeout_s: float | None, *, is_guarded: bool = False
    ) -> WriteResult:
        """Write to the harness and wait for the outcome."""
        future: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
        waiting = self._writes.setdefault(op, [])
        waiting.append(future)
        try:
            self._send(encode_data(op, data, is_guarded=is_guarded))
            limit_s = self._timeout_s if timeout_s is None else timeout_s
            return await self._within(future, limit_s, f"operation {op} was not written")
        finally:
            waiting.remove(future)
            if not waiting:
                self._writes.pop(op, None)

    def close(self) -> None:
        """End the connection at once, also one that is only being made."""
        self.is_closed = True
        if self._transport is not None:
            self._transport.abort()  # a plain close would wait for a holder that does not read

    def lost(self) -> HolderError:
        """The error for who still waits for this connection."""
        return self.cause or holder_error("holder_lost", "connection_closed", "the holder's connection ended")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport (called by the event loop)."""
        self._transport = cast("asyncio.Transport", transport)
        if self.is_closed:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes (called by the event loop)."""
        for kind, body in self._decoder.feed(data):
            if self.is_closed:
                return
            if kind == "J":
                self._take_message(body)
            elif split := split_data(body):
                self._listener.take_output(*split)
        fault = self._decoder.fault
        if fault is not None:
            self._fail(holder_error("holder_lost", fault.code, f"the holder sent a {fault.message}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everybody who waits (called by the event loop)."""
        self.is_closed = True
        error = self.lost()
        waiting: list[asyncio.Future[Any]] = [self._welcome, *self._replies.values()]
        waiting += [future for futures in self._writes.values() for future in futures]
        for future in waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # who has stopped waiting needs no warning about it
        self._listener.take_end()

    def _take_message(self, body: bytes) -> None:
        try:
            notice = msgspec.json.decode(body, type=Notice)
            match notice.type:
                case "reply" if notice.id is not None:
                    self._listener.take_reply(notice.id, is_refused=False)
                    _resolve(self._replies.get(notice.id), body)
                case "written":
                    result = msgspec.json.decode(body, type=WriteResult)
                    for future in self._writes.get(result.op, []):
                        _resolve(future, result)
                case "error" if notice.op is not None:
                    for future in self._writes.get(notice.op, []):
                        _reject(future, notice)
                case "error" if notice.id is not None:
                    self._listener.take_reply(notice.id, is_refused=True)
                    _reject(self._replies.get(notice.id), notice)
                case "error":
                    self._fail(holder_error("holder_lost", notice.code, notice.message, **notice.detail))
                case "refused":
                    self._fail(holder_error("holder_refused", notice.code, notice.message, **notice.detail))
                case "welcome":
                    _resolve(self._welcome, body)
                case _:
                    self._listener.take_notice(notice, body)
        except msgspec.MsgspecError:
            text = "the holder sent a message that cannot be understood"
            self._fail(holder_error("holder_lost", "protocol_fault", text))

    def _fail(self, error: HolderError) -> None:
        self.cause = self.cause or error
        self.close()

    def _send(self, frame: bytes) -> None:
        if self.is_closed or self._transport is None:
            raise self.lost()
        self._transport.write(frame)

    async def _within(self, future: asyncio.Future[_T], limit_s: float, what: str) -> _T:
        try:
            async with asyncio.timeout(limit_s):
                return await future
        except TimeoutError:
            raise holder_error("holder_timeout", "no_answer", f"{what} within {limit_s:g} s") from None


def _resolve(future: asyncio.Future[_T] | None, value: _T) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _reject(future: asyncio.Future[Any] | None, notice: Notice) -> None:
    if future is not None and not future.done():
        future.set_exception(holder_error("holder_refused", notice.code, notice.message, **notice.detail))
