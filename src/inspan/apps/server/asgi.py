"""The app as ASGI: reads a request, passes it through the chain to its route, and answers in JSON.

What is not the protocol's goes to the page, which is another ASGI app.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from .calls import LARGEST_BODY, Call, Refused, Reply, refuse
from .database import BusyError
from .describe_routes import answer_describe
from .operation_routes import answer_operation
from .plain_routes import answer_context, answer_events, answer_identity, answer_viewers, answer_whoami
from .record_routes import answer_records
from .served import Served
from .task_routes import answer_tasks

__all__ = ["Application", "Asgi", "Receive", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger("inspan.apps")

# Two of one of these would let two readers of a request see different ones.
_ONCE = frozenset(["host", "origin", "x-a2app-token", "authorization", "idempotency-key", "x-a2app-approval"])
_HEADERS = (
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_LONGEST_PAUSE_S = 30.0
_SHORTEST_PAUSE_S = 0.02


class Application:
    """An ASGI app. Its lifespan sweeps the queue; where a server has none, each call about tasks sweeps too."""

    def __init__(self, served: Served, page: Asgi | None = None) -> None:
        """Serves `served`, and `page` under every path that is not the protocol's."""
        self._served = served
        self._page = page
        self._tasks_changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        served.on_task_change = self._note_task_change

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or lives through the server's life."""
        match scope["type"]:
            case "lifespan":
                await self._live(receive, send)
            case "http":
                await self._answer(scope, receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1003})

    async def sweep_forever(self) -> None:
        """Takes back tasks of which nothing is heard, each as soon as its lease is over. Ends when it is cancelled."""
        while True:
            try:
                await self._served.tasks.sweep()
                wait_s = self._served.tasks.next_sweep_s()
            except BusyError:
                wait_s = 0.0
            except Exception:  # noqa: BLE001 - a disk that is full now is not for ever
                _log.exception("The queue could not be swept")
                wait_s = None
            wait_s = (
                _LONGEST_PAUSE_S if wait_s is None else min(max(wait_s, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)
            )
            self._tasks_changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._tasks_changed.wait(), wait_s)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._loop = asyncio.get_running_loop()
        sweeping = asyncio.create_task(self.sweep_forever())
        await send({"type": "lifespan.startup.complete"})
        try:
            while (await receive())["type"] != "lifespan.shutdown":
                pass
        finally:
            self._loop = None
            sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sweeping
        await send({"type": "lifespan.shutdown.complete"})

    def _note_task_change(self) -> None:
        # Tasks are also changed by operations, which run in threads.
        if self._loop is not None:
            # A loop that is closed just now has nobody left to tell.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._tasks_changed.set)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            call = _call_of(scope)
            self._served.gate.check_host(call)
        except Refused as refused:
            await _send(send, refused.reply)
            return
        if self._page is not None and not _is_protocol(call.segments):
            await self._page(scope, receive, send)
            return
        try:
            reply = await self._route_audited(call, receive)
        except BusyError:
            reply = refuse(503, "adapter_error", "Another operation is writing: try again.").reply
        except _Gone:
            return
        except Exception:  # noqa: BLE001 - a fault of ours ends this call, and the server goes on
            _log.exception("A call failed in the server")
            reply = refuse(500, "adapter_error", "The server failed; its log has the reason.").reply
        await _send(send, reply)

    async def _route_audited(self, call: Call, receive: Receive) -> Reply:
        try:
            self._served.gate.check_origin(call)
            return await self._route(msgspec.structs.replace(call, body=await _body(receive)))
        except Refused as refused:
            if refused.target:
                await self._served.note_refusal(refused, call)
            return refused.reply

    async def _route(self, call: Call) -> Reply:
        served = self._served
        match call.segments:
            case (".well-known", "a2app.json") | ("api", "_a2app"):
                return _reading(call) or answer_identity(served, call)
            case ("api", "_a2app", "describe", *rest):
                return answer_describe(served, call, tuple(rest))
            case ("api", "_a2app", "viewers"):
                return _reading(call) or answer_viewers(served, call)
            case ("api", "_a2app", "whoami"):
                return _reading(call) or answer_whoami(served, call)
            case ("api", "_a2app", "context"):
                return answer_context(served, call)
            case ("api", "_a2app", "events"):
                return _reading(call) or answer_events(served, call)
            case ("api", "_a2app", "tasks", *rest):
                return await answer_tasks(served, call, tuple(rest))
            case ("api", "collections", entity, "records"):
                return await answer_records(served, call, entity, None)
            case ("api", "collections", entity, "records", record_id):
                return await answer_records(served, call, entity, record_id)
            case ("api", "ops", name):
                return await answer_operation(served, call, name)
            case _:
                raise refuse(404, "not_found", "Nothing is served under this path.")


class _Gone(Exception):
    """The client went away before its request was whole."""


def _is_protocol(segments: tuple[str, ...]) -> bool:
    match segments:
        case (".well-known", "a2app.json") | ("api", "_a2app" | "collections" | "ops", *_):
            return True
        case _:
            return False


def _reading(call: Call) -> None:
    # A closing page says goodbye with a beacon, which is a POST.
    if call.method in ("GET", "HEAD") or (call.method == "POST" and "leaving" in call.query):
        return
    raise refuse(405, "usage", f"{call.method} does not go with this path.")


def _call_of(scope: Scope) -> Call:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").lower()
        if name in _ONCE and name in headers:
            status, code = (403, "forbidden_host") if name == "host" else (400, "usage")
            raise refuse(status, code, f"The header {name} is there twice.")
        headers[name] = raw_value.decode("latin-1")
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    try:
        parts = path.split(b"?", 1)[0].rstrip(b"/").removeprefix(b"/").split(b"/")
        segments = tuple(unquote_to_bytes(part).decode() for part in parts)
        query = dict(
            parse_qsl(
                scope["query_string"].decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=50,
            )
        )
    except (UnicodeDecodeError, ValueError) as error:
        raise refuse(400, "usage", "The address cannot be read.") from error
    server = scope.get("server")
    return Call(
        method=scope["method"],
        segments=segments,
        query=query,
        headers=headers,
        port=int(server[1] or 0) if server else 0,
    )


async def _body(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > LARGEST_BODY:
            raise refuse(413, "usage", f"The body is over {LARGEST_BODY} bytes.")
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _send(send: Send, reply: Reply) -> None:
    body = msgspec.json.encode(reply.body)
    headers = [*_HEADERS, (b"content-length", str(len(body)).encode())]
    if reply.status == 429:
        headers.append((b"retry-after", str(reply.body.get("retryAfterSeconds", 1)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
