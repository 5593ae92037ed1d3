"""A model's server that answers badly, in the wire format of whoever asks: it says what it was told to, then hangs up."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

__all__ = ["BEHAVIOURS", "hostile_server"]

BEHAVIOURS = (
    "reset",
    "dropped",
    "garbage",
    "page",
    "empty",
    "refused",
    "server_fault",
    "too_long",
    "gone",
    "broken_call",
)
"""What it can do."""


def _frames(path: str) -> list[dict[str, Any]]:
    """The beginning of an answer."""
    if path.endswith("/chat/completions"):
        delta = {"role": "assistant", "content": "half"}
        return [
            {
                "id": "x",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "delta": delta}],
            }
        ]
    if path.endswith("/messages"):
        message: dict[str, Any] = {
            "id": "x",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
        }
        usage = {"input_tokens": 1, "output_tokens": 1}
        return [
            {
                "type": "message_start",
                "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}},
        ]
    content = {"role": "model", "parts": [{"text": "half"}]}
    return [{"candidates": [{"index": 0, "content": content}], "modelVersion": "m", "responseId": "r"}]


def _broken_call(path: str) -> list[dict[str, Any]]:
    """A whole answer whose call has arguments that are no JSON."""
    if path.endswith("/chat/completions"):
        call = {
            "index": 0,
            "id": "c",
            "type": "function",
            "function": {"name": "note", "arguments": '{"text": '},
        }
        head: dict[str, Any] = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return [
            {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        ]
    frames = _frames(path)[:1]
    if path.endswith("/messages"):
        block: dict[str, Any] = {"type": "tool_use", "id": "c", "name": "note", "input": {}}
        return [
            *frames,
            {"type": "content_block_start", "index": 0, "content_block": block},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": '{"text": '},
            },
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                "usage": {"output_tokens": 1},
            },
            {"type": "message_stop"},
        ]
    call = {"functionCall": {"name": "note", "args": {"text": 5}}}
    candidate = {"index": 0, "content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}
    return [{"candidates": [candidate], "modelVersion": "m", "responseId": "r"}]


def _signed_call() -> list[dict[str, Any]]:
    """A whole answer in Anthropic's format: signed thinking, then a call."""
    thinking: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
    call: dict[str, Any] = {"type": "tool_use", "id": "c", "name": "note", "input": {}}
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 1},
    }
    return [
        _frames("/messages")[0],
        {"type": "content_block_start", "index": 0, "content_block": thinking},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": "signed"},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": call},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"text": "a"}'},
        },
        {"type": "content_block_stop", "index": 1},
        end,
        {"type": "message_stop"},
    ]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behaviour: ClassVar[str] = ""
    asked: ClassVar[list[str]] = []
    bodies: ClassVar[list[dict[str, Any]]] = []

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers.get("content-length") or 0))))
        self.close_connection = True
        self.asked.append(self.path)
        path = self.path.partition("?")[0]
        # A careless server says back what it was sent, the key included.
        echo = str(dict(self.headers.items()))
        match self.behaviour:
            case "reset":
                pass
            case "dropped":
                self._stream(_frames(path), is_whole=False)
            case "garbage":
                self._send(200, "text/event-stream", b"data: {this is no json\n\n" + echo.encode())
            case "page":
                self._send(200, "text/html", f"<html>{echo}</html>".encode())
            case "empty":
                self._send(200, "text/event-stream", b"")
            case "refused":
                self._send(
                    400, "application/json", json.dumps({"error": {"message": echo, "code": 400}}).encode()
                )
            case "server_fault":
                self._send(500, "text/plain", echo.encode())
            case "too_long":
                body = _TOO_LONG_GOOGLE if "GenerateContent" in path else _TOO_LONG
                self._send(400, "application/json", json.dumps(body).encode())
            case "gone":
                self._send(
                    404, "application/json", json.dumps({"error": {"message": echo, "code": 404}}).encode()
                )
            case "broken_call" if len(self.asked) == 1:
                self._stream(_broken_call(path), is_whole=True)
            case "signed_call" if len(self.asked) == 1:
                self._stream(_signed_call(), is_whole=True)
            case _:
                self._send(400, "application/json", b'{"error": {"message": "enough"}}')

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, frames: list[dict[str, Any]], *, is_whole: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for frame in frames:
            event = f"event: {frame['type']}\n" if "type" in frame else ""
            data = f"{event}data: {json.dumps(frame)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if is_whole:
            self.wfile.write(b"0\r\n\r\n")


_TOO_LONG = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
        "message": "prompt is too long: 250000 tokens > 200000 maximum",
        "status": "INVALID_ARGUMENT",
    },
}


_TOO_LONG_GOOGLE = {
    "error": {
        "code": 400,
        "message": "The input token count (250000) exceeds the maximum number of tokens allowed (200000).",
        "status": "INVALID_ARGUMENT",
    }
}


@contextmanager
def hostile_server(
    behaviour: str, bodies: list[dict[str, Any]] | None = None
) -> Generator[tuple[int, list[str]]]:
    """Serves on a free loopback port. Gives the port, and the paths that were asked for; `bodies` takes what came."""
    asked: list[str] = []
    told = [] if bodies is None else bodies
    handler = type("Handler", (_Handler,), {"behaviour": behaviour, "asked": asked, "bodies": told})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], asked
        finally:
            server.shutdown()
            thread.join()
