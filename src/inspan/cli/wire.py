"""The daemon's HTTP over its Unix socket, spoken with the standard library's sockets alone.

`http.client` costs more to import than everything else on the CLI's path together, so requests are written
here: one connection a request, closed by the daemon when it has answered. Event streams are in
`inspan.cli.stream`, over the same connection.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping

from inspan.model.errors import HostError, InspanError, error_from_wire

from .fields import Json, record

__all__ = ["CALL_TIMEOUT_S", "Connection", "call", "connect", "quote", "target"]

CALL_TIMEOUT_S = 60.0
"""How long the daemon may take over one answer; stopping a harness in its steps is the slowest."""

_CONNECT_TIMEOUT_S = 5.0
_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
_CHUNK_BYTES = 64 * 1024


class Connection:
    """One request's connection: the head was read, the body comes in pieces."""

    def __init__(self, peer: socket.socket):
        self._peer = peer
        self._raw = bytearray()
        self._is_chunked = False
        self._left: int | None = None
        self._is_done = False
        self.status = 0
        self.headers: dict[str, str] = {}

    @property
    def content_type(self) -> str:
        """The type of the body."""
        return self.headers.get("content-type", "")

    def fileno(self) -> int:
        """The socket's descriptor, for `select`."""
        return self._peer.fileno()

    def close(self) -> None:
        """Ends the connection; twice is safe."""
        self._peer.close()

    def send(self, method: str, where: str, *, body: object = None, headers: Mapping[str, str]) -> None:
        """Writes the request, whole: a body of bytes as it is, any other value as JSON."""
        is_raw = isinstance(body, bytes)
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {where} HTTP/1.1", "Host: localhost", "Connection: close"]
        if body is not None:
            lines.append(f"Content-Type: application/{'octet-stream' if is_raw else 'json'}")
        if body is not None or method not in ("GET", "DELETE"):
            lines.append(f"Content-Length: {len(content)}")
        lines.extend(f"{name}: {value}" for name, value in headers.items())
        self._peer.sendall("\r\n".join([*lines, "", ""]).encode() + content)

    def read_head(self, timeout_s: float) -> None:
        """Reads the status and the headers.

        Raises:
            OSError: The connection ended or was silent for `timeout_s`.
            ValueError: What came is not HTTP.
        """
        self._peer.settimeout(timeout_s)
        while b"\r\n\r\n" not in self._raw:
            if not (piece := self._peer.recv(_CHUNK_BYTES)):
                raise ConnectionResetError("the connection ended before an answer")
            self._raw += piece
        head, _, rest = bytes(self._raw).partition(b"\r\n\r\n")
        self._raw = bytearray(rest)
        first, *lines = head.decode("latin-1").split("\r\n")
        protocol, status, *_ = first.split(" ", 2)
        if not protocol.startswith("HTTP/1."):
            raise ValueError(f"not HTTP: {first!r}")
        self.status = int(status)
        for line in lines:
            name, _, value = line.partition(":")
            match name.strip().lower():
                case "transfer-encoding":
                    self._is_chunked = value.strip().lower() == "chunked"
                case "content-length":
                    self._left = int(value)
                case _:
                    pass
            self.headers[name.strip().lower()] = value.strip()

    def read_some(self) -> bytes | None:
        """The next piece of the body, after at most one read from the socket.

        Returns `b""` where more has to come first, and `None` at the body's end.

        Raises:
            OSError: The connection ended in mid-body, or was silent for the timeout of `read_head`.
        """
        if self._is_done or self._left == 0:
            return None
        if (piece := self._take()) or self._is_done:
            return piece or None
        fresh = self._peer.recv(_CHUNK_BYTES)
        if not fresh:
            if self._is_chunked or self._left:
                raise ConnectionResetError("the connection ended in the middle of an answer")
            self._is_done = True
            return None
        self._raw += fresh
        piece = self._take()
        return piece if piece or not self._is_done else None

    def take_buffered(self) -> bytes:
        """What of the body came along with the head; nothing is read from the socket."""
        return self._take()

    def read_all(self) -> bytes:
        """The whole body."""
        pieces: list[bytes] = []
        while (piece := self.read_some()) is not None:
            pieces.append(piece)
        return b"".join(pieces)

    def _take(self) -> bytes:
        if not self._is_chunked:
            piece = bytes(self._raw if self._left is None else self._raw[: self._left])
            self._raw.clear()
            if self._left is not None:
                self._left -= len(piece)
            return piece
        pieces: list[bytes] = []
        while True:
            size_line, end, rest = bytes(self._raw).partition(b"\r\n")
            if not end:
                break
            size = int(size_line.split(b";")[0], 16)
            if len(rest) < size + 2:
                break
            self._raw = bytearray(rest[size + 2 :])
            if size == 0:
                self._is_done = True
                break
            pieces.append(rest[:size])
        return b"".join(pieces)


def connect(socket_path: str) -> Connection:
    """A connection to the daemon.

    Raises:
        OSError: Nobody listens there.
    """
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(_CONNECT_TIMEOUT_S)
    try:
        peer.connect(socket_path)
    except BaseException:
        peer.close()
        raise
    return Connection(peer)


def call(
    connection: Connection,
    method: str,
    where: str,
    *,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = CALL_TIMEOUT_S,
) -> object:
    """Makes one request and gives the JSON value of its answer; closes the connection.

    Raises:
        InspanError: What the daemon answered, or `daemon_unreachable` where it gave no answer.
    """
    try:
        connection.send(method, where, body=body, headers={"Accept": "application/json", **(headers or {})})
        connection.read_head(timeout_s)
        content = connection.read_all()
    except (OSError, ValueError) as error:
        raise no_answer(error, is_read=method == "GET") from error
    finally:
        connection.close()
    return answer_of(connection.status, content)


def no_answer(error: Exception, *, is_read: bool) -> HostError:
    """The error for a daemon that took the request and gave no answer."""
    silent = isinstance(error, TimeoutError)
    return HostError(
        "The daemon did not answer in time." if silent else f"The daemon gave no whole answer: {error}.",
        code="daemon_unreachable",
        hint="See `inspan daemon status` and `inspan daemon logs`"
        + ("." if is_read else "; look at the state before you repeat the command."),
        retry_safe=is_read,
    )


def answer_of(status: int, content: bytes) -> object:
    """The value that the daemon answered with.

    Raises:
        InspanError: It answered with an error.
    """
    try:
        value: object = json.loads(content) if content.strip() else None
    except ValueError as error:
        raise HostError(
            f"The daemon answered with status {status} and something that is not JSON.",
            code="daemon_version",
            hint="Is another program's socket there? See `inspan daemon status`.",
            retry_safe=False,
        ) from error
    if status < 400:
        return value
    raise _error_in(value, status)


def target(path: str, query: Mapping[str, object] | None = None) -> str:
    """`path` with its query; a value of `None` is left out, `True` and `False` are spelled as JSON does."""
    pairs = [f"{name}={quote(_spelled(value))}" for name, value in (query or {}).items() if value is not None]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def quote(text: str) -> str:
    """`text` as one segment of a path or as a query's value."""
    return "".join(
        chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape")
    )


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _error_in(value: object, status: int) -> InspanError:
    if wire := record(value, "error"):
        return error_from_wire(_plain(wire))
    return HostError(
        f"The daemon refused the request with status {status}.",
        code="daemon_version" if status in (404, 405) else "internal",
        hint="It may be of another version: compare `inspan version` with `inspan daemon status`.",
        retry_safe=False,
    )


def _plain(wire: Json) -> dict[str, object]:
    return wire
