"""The HTTP side of the scripted model: loopback only, standard library only."""

from __future__ import annotations

import gzip
import json
import select
import socket
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from support.model_server import chat_completions, generate_content, messages, responses
from support.model_server.asked import Json
from support.model_server.request_log import RequestLog
from support.model_server.scripts import answer_to
from support.model_server.wire import Frame, Pause, Piece, Silence, WireFormat

__all__ = ["FORMATS", "ModelServer"]

FORMATS: tuple[WireFormat, ...] = (chat_completions, responses, messages, generate_content)
LOOPBACK = "127.0.0.1"
MODEL = "scripted-1"

_COUNTED_TOKENS = {"input_tokens": 1200, "totalTokens": 1200}
_NOT_SCRIPTED: Json = {"error": {"message": "not scripted", "type": "not_found"}}
_SILENCE_LIMIT_S = 3600.0
# Providers send both; without them some clients wait for minutes before they try again.
_RETRY_HEADERS = {"retry-after": "1", "x-should-retry": "false"}


class ModelServer(ThreadingHTTPServer):
    """Serves the scripts on a loopback port; port 0 takes a free one."""

    daemon_threads = True

    def __init__(self, port: int, log: RequestLog) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.log = log


class _ClientLeftError(Exception):
    pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "scripted-model/1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if not path.endswith("/models"):
            self._other(404, _NOT_SCRIPTED)
        elif "/v1beta" in path:
            model = {"name": f"models/{MODEL}", "inputTokenLimit": 200000, "outputTokenLimit": 8192}
            self._other(200, {"models": [model | {"supportedGenerationMethods": ["generateContent"]}]})
        else:
            model = {"id": MODEL, "object": "model", "type": "model", "display_name": "Scripted 1"}
            self._other(
                200, {"object": "list", "data": [model | {"owned_by": "scripted"}], "has_more": False}
            )

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        try:
            body = json.loads(self._read_body() or b"{}")
        except ValueError:
            self._other(400, {"error": {"message": "the body is not JSON", "type": "invalid_request"}})
            return
        if path.endswith(("/count_tokens", ":countTokens")):
            self._other(200, _COUNTED_TOKENS)
            return
        wire_format = next((one for one in FORMATS if one.is_for(path)), None)
        if wire_format is None or not isinstance(body, dict):
            self._other(404, _NOT_SCRIPTED)
            return
        self._answer(wire_format, path, cast(Json, body))

    def _answer(self, wire_format: WireFormat, path: str, body: Json) -> None:
        asked = wire_format.read(path, body)
        answer = answer_to(asked)
        number = self._log.request(wire_format.NAME, path, asked, answer)
        how = "answered"
        try:
            if answer.failure:
                how = "refused"
                self._send_json(*wire_format.failure(answer.failure), headers=_RETRY_HEADERS)
            elif asked.is_stream:
                self._send_stream(wire_format.stream(asked, answer))
            else:
                words = answer.text.count(" ") + 1
                self._wait(_SILENCE_LIMIT_S if answer.is_endless else answer.interval_s * words)
                self._send_json(200, wire_format.whole(asked, answer))
        except (ConnectionError, _ClientLeftError):
            how = "client_left"
            self.close_connection = True
        self._log.ended(number, how)

    @property
    def _log(self) -> RequestLog:
        return cast(ModelServer, self.server).log

    def _other(self, status: int, body: Json) -> None:
        self._log.other(self.command, self.path, status)
        self._send_json(status, body)

    def _send_json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(encoded)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(encoded)

    def _send_stream(self, pieces: Iterable[Piece]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            match piece:
                case Frame():
                    self._send_frame(piece)
                case Pause(seconds=seconds):
                    self._wait(seconds)
                case Silence():
                    self._wait(_SILENCE_LIMIT_S)
        self.wfile.write(b"0\r\n\r\n")

    def _send_frame(self, frame: Frame) -> None:
        event = f"event: {frame.event}\n" if frame.event else ""
        data = frame.data if isinstance(frame.data, str) else json.dumps(frame.data)
        encoded = f"{event}data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(encoded), encoded))

    def _wait(self, seconds: float) -> None:
        """Wait, but notice at once when the client hangs up."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], left)
            if not readable:
                return
            if not self.connection.recv(1, socket.MSG_PEEK):
                raise _ClientLeftError
            # The next request is already waiting in the socket: a hang-up can no longer be seen.
            threading.Event().wait(deadline - time.monotonic())

    def _read_body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            body = b"".join(iter(self._read_chunk, b""))
        else:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body

    def _read_chunk(self) -> bytes:
        size_bytes = int(self.rfile.readline().partition(b";")[0], 16)
        chunk = self.rfile.read(size_bytes)
        self.rfile.readline()
        return chunk
