"""An app that is served over a real socket, for one test, and the words to call it with."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Generator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import uvicorn

from inspan.apps.author import App
from inspan.apps.server.asgi import Asgi
from inspan.apps.server.running import server_config

__all__ = ["Answer", "HandClock", "Served", "asgi_call", "serving", "serving_asgi"]

_DEADLINE_S = 20.0


class HandClock:
    """A clock that stands until somebody moves it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 7, 31, 9, 15, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Answer(NamedTuple):
    """What was answered: the status, the JSON value (or the text, where it is none), and the headers."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def code(self) -> str:
        return str(self.body.get("code", ""))


class Served:
    """A running server."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path: str, **options: Any) -> Answer:
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.call("POST", path, body, **options)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Calls the app; with the app's token unless another one, or `None`, is given. Bytes are sent as they are."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        used = self.token if token == "" else token
        if used is not None:
            sent["X-A2App-Token"] = used
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_DEADLINE_S)
        try:
            connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if data is not None:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            raw = answer.read()
            heard = {name.lower(): value for name, value in answer.getheaders()}
            is_json = heard.get("content-type", "").startswith("application/json")
            return Answer(answer.status, json.loads(raw) if is_json else raw.decode(errors="replace"), heard)
        finally:
            connection.close()


@contextlib.contextmanager
def serving(app: App, *, token: str = "", port: int = 0) -> Generator[Served]:
    """Serves an app on a free port of the loopback for the block; `token` is what calls use by themselves."""
    chosen = token or (app.grants[0].token if app.grants else "")
    try:
        with serving_asgi(app.asgi(), token=chosen, port=port) as served:
            yield served
    finally:
        app.close()


@contextlib.contextmanager
def serving_asgi(asgi: Asgi, *, token: str = "", port: int = 0) -> Generator[Served]:
    """The same for any ASGI app."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    port = listener.getsockname()[1]
    server = uvicorn.Server(server_config(asgi, port=port))
    is_ready = threading.Event()
    starting = server.startup

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await starting(sockets=sockets)
        is_ready.set()

    server.startup = startup
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert is_ready.wait(_DEADLINE_S), "the server did not start"
        yield Served(port, token)
    finally:
        server.should_exit = True
        thread.join(_DEADLINE_S)
        listener.close()


async def asgi_call(
    asgi: Asgi, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    """Calls an ASGI app without a socket; for many calls in a row."""
    raw, _, query = path.partition("?")
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in (headers or {}).items()],
        "server": ("127.0.0.1", 1),
    }
    await asgi(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])
