"""A daemon of a few lines: HTTP over a Unix socket with scripted answers and a scripted event stream.

It knows the shapes of the interface and nothing else: every answer is what the test put there.
"""

import contextlib
import json
import socketserver
import sys
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

__all__ = ["Answer", "Request", "ScriptedHttp", "envelope", "failure", "scripted_http"]


class Request(NamedTuple):
    """What came in."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]


class Answer(NamedTuple):
    """A status and a JSON value; bytes are sent as they are, and `...` ends the connection without an answer."""

    status: int
    value: Any


def envelope(
    position: int, kind: str, *, seat: str = "review", turn: str | None = None, **event: Any
) -> dict[str, Any]:
    """An event as the daemon streams it."""
    shown: dict[str, Any] = {
        "position": position,
        "at": "2026-11-30T12:00:00Z",
        "seat": seat,
        "source": "protocol",
        "rule": "test",
        "type": kind,
        "version": 1,
        "event": {"type": kind, **event},
    }
    return shown if turn is None else {**shown, "turn": turn}


class ScriptedHttp:
    """What the server knows.

    Attributes:
        answers: Method and path to the value of the answer, an `Answer`, or a function of the request.
        requests: Everything that came in, in order.
        events: The log: what a stream hands out after its place, and what it waits to grow.
        streams: The `Last-Event-ID` of every stream that was opened.
        faults: What went wrong in the test's own functions; told when the block ends.
    """

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Any] = {}
        self.requests: list[Request] = []
        self.events: list[dict[str, Any]] = []
        self.streams: list[str] = []
        self.endings: list[tuple[int, str]] = []
        self.changed = threading.Condition()
        self.is_closed = False
        self.faults: list[BaseException] = []

    def on(self, method: str, path: str, value: Any) -> None:
        """Sets an answer."""
        self.answers[(method, path)] = value

    def fail(self, method: str, path: str, code: str, *, group: str = "usage", status: int = 409) -> None:
        """Sets an error as the answer."""
        self.on(method, path, failure(code, group=group, status=status))

    def emit(self, *envelopes: dict[str, Any]) -> None:
        """Appends events; streams hand them out at once."""
        with self.changed:
            self.events.extend(envelopes)
            self.changed.notify_all()

    def end_stream_after(self, position: int, how: str) -> None:
        """Ends the stream that reaches `position`, once: with a frame `how`, or without one for `break`."""
        self.endings.append((position, how))

    def bodies(self, method: str, path: str) -> list[Any]:
        """The bodies of all requests of that kind."""
        return [one.body for one in self.requests if (one.method, one.path) == (method, path)]


def failure(code: str, *, group: str = "usage", status: int = 409) -> Answer:
    """An error as an answer."""
    error: dict[str, Any] = {"code": code, "group": group, "message": f"It is {code}.", "hint": "Do this."}
    return Answer(status, {"error": {**error, "retry_safe": True, "detail": {}}})


@contextlib.contextmanager
def scripted_http(socket_path: Path) -> Generator[ScriptedHttp]:
    """Serves on `socket_path` inside the block."""
    daemon = ScriptedHttp()
    socket_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = {"version": "0.1.0", "api": 1, "pid": 1, "last_position": 0, "store": "ok"}
    daemon.on("GET", "/v1/status", status)
    with _Server(str(socket_path), _handler_of(daemon)) as server:
        server.faults = daemon.faults
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield daemon
        finally:
            with daemon.changed:
                daemon.is_closed = True
                daemon.changed.notify_all()
            server.shutdown()
            thread.join()
    with contextlib.suppress(FileNotFoundError):
        socket_path.unlink()
    if daemon.faults:
        raise daemon.faults[0]


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = False
    block_on_close = True

    faults: list[BaseException]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no fault."""
        fault = sys.exception()
        if fault is not None and not isinstance(fault, ConnectionError):
            self.faults.append(fault)


def _handler_of(daemon: ScriptedHttp) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def address_string(self) -> str:
            return "unix"

        def log_message(self, format: str, *args: Any) -> None:
            return

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(
                self.command,
                parts.path,
                dict(parse_qsl(parts.query)),
                json.loads(content) if content else None,
                dict(self.headers.items()),
            )
            daemon.requests.append(request)
            if request.path == "/v1/events/stream":
                self._stream(request)
                return
            answer = daemon.answers.get((request.method, request.path))
            if callable(answer):
                answer = answer(request)
            if answer is None:
                answer = failure("unknown_thing", status=404)
            self._answer(answer if isinstance(answer, Answer) else Answer(200, answer))

        def _answer(self, answer: Answer) -> None:
            if answer.value is ...:
                self.close_connection = True
                return
            content = answer.value if isinstance(answer.value, bytes) else json.dumps(answer.value).encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _stream(self, request: Request) -> None:
            place = int(request.headers.get("Last-Event-ID", "0"))
            daemon.streams.append(request.headers.get("Last-Event-ID", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self._chunk(f"retry: 1000\nid: {place}\n\n".encode())
            while (fresh := self._wait(place)) is not None:
                for one in fresh:
                    place = one["position"]
                    if request.query.get("seat") in (None, one["seat"]):
                        frame = f"id: {place}\nevent: {one['type']}\ndata: {json.dumps(one)}\n\n".encode()
                        # In two halves, so that a client must put frames together.
                        self._chunk(frame[: len(frame) // 2])
                        self._chunk(frame[len(frame) // 2 :])
                    else:
                        self._chunk(f"id: {place}\n\n".encode())
                    if daemon.endings and daemon.endings[0][0] <= place:
                        how = daemon.endings.pop(0)[1]
                        if how != "break":
                            self._chunk(f"event: {how}\ndata: {{}}\n\n".encode())
                            self._chunk(b"")
                        self.close_connection = True
                        return
            self.close_connection = True

        def _wait(self, place: int) -> list[dict[str, Any]] | None:
            with daemon.changed:
                while True:
                    if fresh := [one for one in daemon.events if one["position"] > place]:
                        return fresh
                    if daemon.is_closed:
                        return None
                    daemon.changed.wait()

        def _chunk(self, content: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
            self.wfile.flush()

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - the library's spelling

    return Handler
