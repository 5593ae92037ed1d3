"""One side of a JSON-RPC conversation on lines: takes requests and notices, and asks the other side.

Requests run side by side, each in a task of its own; what is written is written whole and in order.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias, cast

import msgspec

__all__ = ["CANCELLED", "LONGEST_LINE_BYTES", "Peer", "PeerGone", "RpcError"]

LONGEST_LINE_BYTES = 64 * 1024 * 1024
"""A longer message is refused, and the next line is read."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
)
CANCELLED = -32800
"""The code of a request that was cancelled."""

Params: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[Params], Awaitable[Any]]
Notice: TypeAlias = Callable[[Params], None]


class RpcError(Exception):
    """An answer that is an error: to be sent, or received.

    Attributes:
        code: JSON-RPC's.
        message: For a person.
        data: More of it, JSON.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class PeerGone(Exception):
    """The other side is gone, so that no answer comes."""


class Peer:
    """One conversation.

    Args:
        reader: Its lines, made with a limit of `LONGEST_LINE_BYTES`.
        write: Writes one whole line.
        requests: What answers a request, by method. It raises `RpcError` for an error; anything else it raises becomes an
            internal error that names the class alone.
        notices: What takes a notice, by method; others are passed over.
        explain: Turns what a handler raised into the error to send; None leaves it to the rule above.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        write: Callable[[bytes], Awaitable[None]],
        *,
        requests: dict[str, Handler],
        notices: dict[str, Notice],
        explain: Callable[[Exception], RpcError | None] = lambda _: None,
    ) -> None:
        self._reader = reader
        self._write = write
        self._requests = requests
        self._notices = {**notices, "$/cancel_request": self._cancel_request}
        self._explain = explain
        self._encoder = msgspec.json.Encoder()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._writing = asyncio.Lock()
        self._is_gone = False

    async def serve(self) -> None:
        """Reads until the input ends; then cancels the requests that still run, and waits for their ends."""
        try:
            while (line := await self._next_line()) is not None:
                if line.strip():
                    await self._take(line)
        finally:
            self._lose()
            tasks = list(self._running.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, method: str, params: Params) -> Any:
        """Asks the other side, and waits for its answer. If the wait is cancelled, the other side is told so.

        Raises:
            RpcError: It answered with an error.
            PeerGone: It is gone.
        """
        if self._is_gone:
            raise PeerGone
        id = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id] = future
        try:
            await self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            return await future
        except asyncio.CancelledError:
            if not self._is_gone:
                await self.tell("$/cancel_request", {"requestId": id})
            raise
        finally:
            self._waiting.pop(id, None)

    async def tell(self, method: str, params: Params) -> None:
        """Sends a notice. Nothing happens when the other side is gone."""
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def _next_line(self) -> bytes | None:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial or None
        except asyncio.LimitOverrunError as error:
            await self._skip_line(error.consumed)
            await self._fail(None, INVALID_REQUEST, f"A message may have {LONGEST_LINE_BYTES} bytes at most.")
            return b"\n"

    async def _skip_line(self, consumed: int) -> None:
        with suppress(asyncio.IncompleteReadError):
            while True:
                await self._reader.readexactly(consumed)
                try:
                    await self._reader.readuntil(b"\n")
                except asyncio.LimitOverrunError as error:
                    consumed = error.consumed
                    continue
                return

    async def _take(self, line: bytes) -> None:
        try:
            decoded: object = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            await self._fail(None, PARSE_ERROR, "The message is no JSON.")
            return
        if not isinstance(decoded, dict):
            await self._fail(None, INVALID_REQUEST, "The message is no object.")
            return
        message = cast("Params", decoded)
        method, params = message.get("method"), message.get("params")
        given = cast("Params", params) if isinstance(params, dict) else {}
        if not isinstance(method, str):
            self._answered(message)
        elif "id" not in message:
            notice = self._notices.get(method)
            if notice is not None:
                notice(given)
        else:
            await self._begin(message["id"], method, given)

    async def _begin(self, id: Any, method: str, params: Params) -> None:
        if isinstance(id, bool) or not isinstance(id, int | float | str):
            await self._fail(None, INVALID_REQUEST, "The id of a request is a text or a number.")
            return
        handler = self._requests.get(method)
        if handler is None:
            await self._fail(
                id, METHOD_NOT_FOUND, f"Method not found: {method[:100]}", {"method": method[:100]}
            )
            return
        if _key(id) in self._running:
            await self._fail(id, INVALID_REQUEST, "A request of this id is still running.")
            return
        task = asyncio.create_task(self._run(id, handler, params))
        self._running[_key(id)] = task
        task.add_done_callback(lambda _: self._running.pop(_key(id), None))

    async def _run(self, id: Any, handler: Handler, params: Params) -> None:
        try:
            result = await handler(params)
        except asyncio.CancelledError:
            if self._is_gone:
                raise
            await self._fail(id, CANCELLED, "The request was cancelled.")
        except Exception as error:  # noqa: BLE001 - an error of one request must not end the others
            told = self._explain(error)
            if isinstance(error, RpcError):
                told = error
            if told is None:
                told = RpcError(INTERNAL, f"The agent failed ({type(error).__name__}).")
            await self._fail(id, told.code, told.message, told.data)
        else:
            await self._send({"jsonrpc": "2.0", "id": id, "result": result})

    def _answered(self, message: Params) -> None:
        id = message.get("id")
        future = self._waiting.get(id) if isinstance(id, int) and not isinstance(id, bool) else None
        if future is None or future.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            told = cast("Params", error)
            code = told.get("code")
            future.set_exception(
                RpcError(
                    code if isinstance(code, int) else INTERNAL,
                    str(told.get("message", "")),
                    told.get("data"),
                )
            )
        else:
            future.set_result(message.get("result"))

    def _cancel_request(self, params: Params) -> None:
        task = self._running.get(_key(params.get("requestId")))
        if task is not None:
            task.cancel()

    async def _fail(self, id: Any, code: int, message: str, data: Any = None) -> None:
        error: Params = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        await self._send({"jsonrpc": "2.0", "id": id, "error": error})

    async def _send(self, message: Params) -> None:
        if self._is_gone:
            return
        line = self._encoder.encode(message) + b"\n"
        async with self._writing:
            try:
                await self._write(line)
            except (ConnectionError, BrokenPipeError):
                self._lose()

    def _lose(self) -> None:
        """The other side takes nothing any more, so that no answer of it is waited for."""
        self._is_gone = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(PeerGone())


def _key(id: object) -> str:
    return f"{type(id).__name__}:{id}"
