"""The plugin wire: JSON-RPC 2.0, one JSON value a line, both ways; used by host and plugin alike."""

from __future__ import annotations

from typing import Any

import msgspec

from inspan.model.errors import InspanError, PluginError, error_from_wire, error_to_wire

from .context import PluginContext
from .contract import PROTOCOL_VERSION, Refused, Unsupported

__all__ = [
    "CANCEL_METHOD",
    "FRAME_CAP_BYTES",
    "INITIALIZE_METHOD",
    "INVALID_PARAMS",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "FrameTooLarge",
    "HostInfo",
    "InitializeParams",
    "InitializeResult",
    "LineDecoder",
    "Message",
    "PluginInfo",
    "RpcError",
    "encode_message",
    "error_of_answer",
    "error_of_plugin",
    "incompatible",
    "rpc_error",
]

FRAME_CAP_BYTES = 16 * 1024 * 1024
"""The longest line that either side accepts, without its end."""

INITIALIZE_METHOD = "initialize"
CANCEL_METHOD = "$/cancel_request"

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
PLUGIN_ERROR = -32000


_ABSENT = msgspec.Raw()


class FrameTooLarge(Exception):
    """A line is over the cap; the connection is of no further use."""


class RpcError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The error of an answer; `data` is what `inspan.model.errors.error_to_wire` gives."""

    code: int
    message: str
    data: dict[str, Any] = {}


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Any message: a request (`id` and `method`), a notification (`method`) or an answer (`id`)."""

    jsonrpc: str = "2.0"
    id: int | str | None = None
    method: str | None = None
    params: msgspec.Raw = _ABSENT
    result: msgspec.Raw = _ABSENT
    error: RpcError | None = None


class HostInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks."""

    name: str
    version: str


class PluginInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who answers."""

    name: str
    version: str = ""


class InitializeParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The host's half of the handshake. `context` may be absent where a person tries a plugin by hand."""

    protocol: int
    host: HostInfo
    context: PluginContext | None = None


class InitializeResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The plugin's half of the handshake.

    Attributes:
        protocol: The version of the protocol that it speaks.
        plugin: Who it is.
        methods: The operations that it has.
        why_unsupported: Why it lacks others, for people.
    """

    protocol: int
    plugin: PluginInfo
    methods: tuple[str, ...] = ()
    why_unsupported: dict[str, str] = {}


class LineDecoder:
    """Cuts a byte stream into lines, with a cap that holds whoever sends."""

    def __init__(self, cap_bytes: int = FRAME_CAP_BYTES) -> None:
        self._cap = cap_bytes
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends; empty lines are dropped.

        Raises:
            FrameTooLarge: A line, complete or not, is over the cap.
        """
        self._rest += data
        if b"\n" not in data:
            if len(self._rest) > self._cap:
                raise FrameTooLarge(f"a line is over {self._cap} bytes")
            return []
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        if max(len(line) for line in (*lines, rest)) > self._cap:
            raise FrameTooLarge(f"a line is over {self._cap} bytes")
        return [line for line in lines if line.strip()]


def encode_message(message: Message) -> bytes:
    """`message` as one line. `jsonrpc` is always written, though it is always the same."""
    body = msgspec.json.encode(message)
    head = b'{"jsonrpc":"2.0"'
    return head + (b"," if len(body) > 2 else b"") + body[1:] + b"\n"


def rpc_error(error: BaseException, *, code: int = PLUGIN_ERROR) -> RpcError:
    """The JSON-RPC error for what a plugin raised."""
    known = error_of_plugin(error)
    return RpcError(code=code, message=known.message, data=error_to_wire(known))


def error_of_plugin(error: BaseException, *, subject: str = "The plugin") -> InspanError:
    """The typed error for what a plugin raised: the one mapping at this boundary, on both sides of the wire."""
    match error:
        case InspanError():
            return error
        case Unsupported():
            return PluginError(
                "The harness does not offer this operation.",
                code="unsupported_capability",
                hint=str(error),
                detail={"explanation": str(error)},
            )
        case Refused():
            return PluginError(
                f"{subject} refused the request: {error}.".replace("..", "."),
                code="plugin_refused",
                detail={"reason": str(error), **error.detail},
            )
        case _:
            return PluginError(f"{subject} failed with {type(error).__name__}: {error}.", retry_safe=False)


def error_of_answer(error: RpcError, *, subject: str) -> InspanError:
    """The typed error that an answer carries, whatever program wrote it."""
    if "code" in error.data and "message" in error.data:
        return error_from_wire(error.data)
    if error.code == METHOD_NOT_FOUND:
        return error_of_plugin(Unsupported(error.message))
    return PluginError(f"{subject} answered with error {error.code}: {error.message}.", retry_safe=False)


def incompatible(theirs: object, *, subject: str) -> PluginError:
    """The error for another version of the protocol."""
    return PluginError(
        f"{subject} speaks version {theirs} of the plugin protocol; this side speaks {PROTOCOL_VERSION}.",
        code="plugin_incompatible",
        hint="Install a version of the plugin that fits this version of Inspan.",
        detail={"theirs": theirs, "ours": PROTOCOL_VERSION},
    )
