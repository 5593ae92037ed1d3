"""Connections: the handshake, the one owner, frames in, and a bounded buffer of frames out."""

from __future__ import annotations

import json
import socket
import time

from . import OLDEST_PROTOCOL, PROTOCOL
from .frames import FrameDecoder, encode_json, split_data
from .processes import liveness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from .output import Log

    class Service(Protocol):
        """What answers an owner."""

        def state(self) -> dict[str, Any]: ...
        def answer(self, client: Client, request: dict[str, Any]) -> dict[str, Any]: ...
        def accept_write(self, client: Client, op: int, data: bytes, *, is_guarded: bool) -> None: ...
        def forget(self, client: Client) -> None: ...


__all__ = ["CONTROL_BUFFER_BYTES", "Client", "Clients", "Refusal", "integer"]

CONTROL_BUFFER_BYTES = 1024 * 1024  # who does not read its answers is not read either
HELLO_TIMEOUT_S = 5.0
MAX_STRANGERS = 8  # connections that have not said hello
RECEIVE_BYTES = 256 * 1024


class Refusal(Exception):
    """A request that is answered with an error; the connection goes on."""

    def __init__(self, code: str, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail


class Client:
    """One connection.

    Attributes:
        deadline: When it is dropped (monotonic): no hello came, or it does not read its refusal.
        owner: The pid and start time that it proved to speak for; None before its hello.
        cursor: The next offset to send; None before it attached.
        limit: Send nothing at or above this offset; None means no limit.
        size: Columns and rows of the terminal as it was told last; None before.
    """

    def __init__(self, connection: socket.socket, frame_cap: int) -> None:
        self.connection = connection
        self.decoder = FrameDecoder(frame_cap)
        self.out = bytearray()
        self.deadline: float | None = time.monotonic() + HELLO_TIMEOUT_S
        self.owner: tuple[int, str] | None = None
        self.cursor: int | None = None
        self.limit: int | None = None
        self.size: tuple[int, int] | None = None
        self.was_told_exit = False
        self.is_closing = False


class Clients:
    """All connections, of which at most one is the owner's."""

    def __init__(self, listener: socket.socket, launch: str, nonce: str, frame_cap: int, log: Log) -> None:
        self.listener = listener
        self.all: list[Client] = []
        self.owner: Client | None = None
        self._launch = launch
        self._nonce = nonce
        self.frame_cap = frame_cap
        self._log = log
        listener.setblocking(False)

    def accept(self) -> None:
        """Take a new connection; too many that have not said hello are turned away."""
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        if sum(client.owner is None for client in self.all) >= MAX_STRANGERS:
            connection.close()
            return
        connection.setblocking(False)
        self.all.append(Client(connection, self.frame_cap))

    def receive(self, client: Client, service: Service) -> None:
        """Read once from `client` and act on every frame that is complete."""
        try:
            data = client.connection.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.drop(client, service)
            return
        for kind, body in client.decoder.feed(data):
            if client not in self.all or client.is_closing:
                return
            if kind == "J":
                self._receive_message(client, body, service)
            else:
                self._receive_write(client, body, service, is_guarded=kind == "G")
        fault = client.decoder.fault
        if fault is not None and client in self.all and not client.is_closing:
            self._turn_away(client, service, fault.code, fault.message, kind="error")

    def send(self, client: Client, message: dict[str, Any]) -> None:
        """Send a message; to a connection that is gone, nothing."""
        self.send_bytes(client, encode_json(message))

    def send_bytes(self, client: Client, frame: bytes) -> None:
        """Send a frame."""
        if client in self.all:
            client.out += frame
            self.flush(client)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message to the owner, if there is one."""
        if self.owner is not None:
            self.send(self.owner, message)

    def flush(self, client: Client) -> None:
        """Send what the connection takes now. One that fails is dropped when it is next read."""
        try:
            while client.out:
                del client.out[: client.connection.send(client.out)]
        except BlockingIOError:
            return
        except OSError:
            client.out.clear()
            return

    def drop(self, client: Client, service: Service) -> None:
        """Close a connection."""
        if client in self.all:
            self.all.remove(client)
            client.connection.close()
        self._disown(client, service)

    def expire(self, now: float, service: Service) -> None:
        """Drop who said nothing in time, and who was turned away and has read why."""
        for client in list(self.all):
            is_late = client.deadline is not None and client.deadline <= now
            if is_late and not client.is_closing:
                self._turn_away(client, service, "hello_timeout", "no hello came in time")
                is_late = False
            if client.is_closing and (is_late or not client.out):
                self.drop(client, service)

    def _receive_message(self, client: Client, body: bytes, service: Service) -> None:
        try:
            message: Any = json.loads(body)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            text = "control frame that is not a JSON object"
            self._turn_away(client, service, "frame_malformed", text, kind="error")
            return
        request: dict[str, Any] = message  # pyright: ignore[reportUnknownVariableType]
        if client.owner is None:
            try:
                self._greet(client, request, service)
            except Refusal as refusal:
                self._turn_away(client, service, refusal.code, refusal.message, **refusal.detail)
            return
        ident = request.get("id")
        try:
            if type(ident) is not int:
                ident = None
            integer(request, "id", 0)
            answer = service.answer(client, request)
        except Refusal as refusal:
            self._send_refusal(client, refusal, {"id": ident})
        else:
            self.send(client, {**answer, "type": "reply", "id": ident})

    def _receive_write(self, client: Client, body: bytes, service: Service, *, is_guarded: bool) -> None:
        if client.owner is None:
            self._turn_away(client, service, "hello_missing", "the first frame must be hello")
            return
        split = split_data(body)
        if split is None:
            self._turn_away(
                client, service, "frame_malformed", "data frame without an operation", kind="error"
            )
            return
        try:
            service.accept_write(client, *split, is_guarded=is_guarded)
        except Refusal as refusal:
            self._send_refusal(client, refusal, {"id": None, "op": split[0]})

    def _greet(self, client: Client, hello: dict[str, Any], service: Service) -> None:
        if hello.get("type") != "hello":
            raise Refusal("hello_missing", "the first frame must be hello")
        if hello.get("protocol") not in range(OLDEST_PROTOCOL, PROTOCOL + 1):
            text = f"this holder speaks protocol {OLDEST_PROTOCOL} to {PROTOCOL}"
            raise Refusal("version_mismatch", text, protocol=PROTOCOL, oldest=OLDEST_PROTOCOL)
        nonce = hello.get("nonce")
        if not isinstance(nonce, str) or not _is_same(nonce, self._nonce):
            raise Refusal("bad_nonce", "the nonce is not that of this launch")
        said: Any = hello.get("owner")
        pid, start_time = integer(said, "pid", 1), said.get("start_time")
        if not isinstance(start_time, str) or liveness(pid, start_time) == "dead":
            raise Refusal("owner_invalid", "no process lives with the owner's pid and start time")
        if self.owner is not None and self.owner.owner is not None:
            if liveness(*self.owner.owner) != "dead":
                raise Refusal("owner_alive", "another owner is connected", pid=self.owner.owner[0])
            self._log.write("owner replaced: its process is gone")
            self.drop(self.owner, service)
        client.owner = (pid, start_time)
        client.deadline = None
        self.owner = client
        self._log.write(f"owner {pid}")
        self.send(client, {"type": "welcome", "launch": self._launch, **service.state()})

    def _send_refusal(self, client: Client, refusal: Refusal, head: dict[str, Any]) -> None:
        answer = {"type": "error", **head, "code": refusal.code, "message": refusal.message}
        self.send(client, {**answer, "detail": refusal.detail})

    def _turn_away(
        self,
        client: Client,
        service: Service,
        code: str,
        message: str,
        *,
        kind: str = "refused",
        **detail: Any,
    ) -> None:
        self._log.write(f"turned a connection away: {code}")
        self._disown(client, service)
        client.is_closing = True
        client.deadline = time.monotonic() + HELLO_TIMEOUT_S
        self.send(client, {"type": kind, "id": None, "code": code, "message": message, "detail": detail})

    def _disown(self, client: Client, service: Service) -> None:
        service.forget(client)
        if client is self.owner:
            self.owner = None
            self._log.write("owner gone")


def integer(values: Any, key: str, low: int) -> int:
    """The whole number `values[key]`, from `low` up; raises Refusal."""
    known: dict[str, Any] = values if isinstance(values, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    value = known.get(key)
    if type(value) is not int or not low <= value < 1 << 63:
        raise Refusal("request_invalid", f"{key} must be a whole number from {low}")
    return value


def _is_same(one: str, other: str) -> bool:
    """Compare secrets in a time that does not tell where they differ; hashlib would cost 4 MB."""
    left, right = one.encode("utf-8", "replace"), other.encode("utf-8", "replace")
    difference = len(left) ^ len(right)
    for a, b in zip(left, right, strict=False):
        difference |= a ^ b
    return difference == 0
