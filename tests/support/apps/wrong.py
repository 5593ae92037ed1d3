"""An app that is wrong in exactly one way: a right one, of whose answers some are changed on their way out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from inspan.apps.server.asgi import Asgi, Receive, Scope, Send

__all__ = [
    "Change",
    "Fault",
    "Wrong",
    "answering",
    "appending",
    "cutting",
    "dropping",
    "padded",
    "putting",
    "said",
]

Change = Callable[[int, Any], tuple[int, Any]]


class Fault(NamedTuple):
    """Which answers are changed, and how.

    `token`, `query` and `body` (a piece of it) are what the request must have, `status` and `answer` (a piece of it)
    what the right answer must have, where they are given.
    """

    method: str
    path: str
    change: Change
    token: str | None = None
    query: str | None = None
    body: str = ""
    status: int | None = None
    answer: str = ""


class Wrong:
    """An ASGI app around another; `fault` may be put in and taken out while it runs."""

    def __init__(self, asgi: Asgi, fault: Fault | None = None) -> None:
        self._asgi = asgi
        self.fault = fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = self.fault
        if scope["type"] != "http" or fault is None or not _is_about(fault, scope):
            await self._asgi(scope, receive, send)
            return
        heard: list[Any] = []

        async def listen() -> Any:
            message = await receive()
            heard.append(message.get("body", b"").decode(errors="replace"))
            return message

        started: list[Any] = []

        async def change(message: Any) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
                return
            head = started[0]
            status, value = head["status"], json.loads(message["body"])
            is_so = fault.status in (None, status) and fault.answer in message["body"].decode()
            if is_so and fault.body in "".join(heard):
                status, value = fault.change(status, value)
            data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
            headers = [one for one in head["headers"] if one[0] != b"content-length"]
            headers.append((b"content-length", str(len(data)).encode()))
            await send({**head, "status": status, "headers": headers})
            await send({**message, "body": data})

        await self._asgi(scope, listen, change)


def _is_about(fault: Fault, scope: Scope) -> bool:
    headers = dict(scope["headers"])
    token = headers.get(b"x-a2app-token", b"").decode()
    path = scope["path"]
    is_path = path.startswith(fault.path[:-1]) if fault.path.endswith("*") else path == fault.path
    is_query = fault.query is None or fault.query == scope["query_string"].decode()
    return scope["method"] == fault.method and is_path and is_query and fault.token in (None, token)


def putting(path: str, value: Any) -> Change:
    """Puts a value at a dotted path."""

    def change(status: int, body: Any) -> tuple[int, Any]:
        *parents, last = path.split(".")
        place = body
        for part in parents:
            place = place[int(part) if part.isdigit() else part]
        place[int(last) if last.isdigit() else last] = value
        return status, body

    return change


def dropping(key: str) -> Change:
    """Leaves out a key of the answer."""

    def change(status: int, body: Any) -> tuple[int, Any]:
        body.pop(key, None)
        return status, body

    return change


def cutting(path: str, count: int) -> Change:
    """Leaves no more than `count` of a list."""

    def change(status: int, body: Any) -> tuple[int, Any]:
        return status, {**body, path: body[path][:count]}

    return change


def appending(path: str, value: Any) -> Change:
    """Puts one more into a list."""

    def change(status: int, body: Any) -> tuple[int, Any]:
        return status, {**body, path: [*body[path], value]}

    return change


def said(wrong: int) -> Change:
    """Answers with another status."""

    def change(status: int, body: Any) -> tuple[int, Any]:
        return wrong, body

    return change


def answering(status: int, body: Any) -> Change:
    """Answers with something else altogether."""

    def change(_status: int, _body: Any) -> tuple[int, Any]:
        return status, body

    return change


def padded(status: int, body: Any) -> tuple[int, Any]:
    """Makes the answer longer than any budget."""
    return status, {**body, "padding": "x" * 2000}
