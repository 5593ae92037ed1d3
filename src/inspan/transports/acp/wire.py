"""The messages of the Agent Client Protocol, version 1, that we read, and the bytes of those that we write.

Decoding is in two steps: an envelope whose `params`, `result` and `error` stay raw, then the shape that the
method calls for. Unknown fields are passed over. A shape that does not fit raises `msgspec.ValidationError`,
and the caller then reads the value as plain JSON.

Source: https://agentclientprotocol.com/protocol/schema, schema 1.19. Verified: 2026-11, against the recordings
and `agent-client-protocol` 0.12.1.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

__all__ = [
    "ABSENT",
    "UNREADABLE",
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "AvailableCommandsUpdate",
    "Block",
    "ConfigOptionUpdate",
    "CurrentModeUpdate",
    "Envelope",
    "PlanContentUpdate",
    "PlanRemovedUpdate",
    "PlanWhole",
    "SessionInfoUpdate",
    "ToolCallProgress",
    "ToolCallStart",
    "Update",
    "UpdateParams",
    "UsageUpdate",
    "UserMessageChunk",
    "decode_any",
    "decode_block",
    "decode_elements",
    "decode_envelope",
    "decode_update",
    "encode_message",
    "mend",
]

ABSENT = msgspec.Raw(b"")
"""Stands for a member that a message does not have."""

_INTEGER_DIGITS = 300

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding may raise, whatever the bytes are."""


class Envelope(msgspec.Struct, gc=False):
    """Any JSON-RPC message. Members that are absent are `ABSENT`, or `None` for the method."""

    id: msgspec.Raw = ABSENT
    method: str | None = None
    params: msgspec.Raw = ABSENT
    result: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class Block(msgspec.Struct, gc=False):
    """A content block, as far as plain text goes."""

    type: str
    text: str | None = None


class _Chunk(msgspec.Struct, tag_field="sessionUpdate"):
    content: msgspec.Raw
    messageId: str | None = None  # noqa: N815


class UserMessageChunk(_Chunk, tag="user_message_chunk", tag_field="sessionUpdate"):
    """A piece of what the person said."""


class AgentMessageChunk(_Chunk, tag="agent_message_chunk", tag_field="sessionUpdate"):
    """A piece of the harness's answer."""


class AgentThoughtChunk(_Chunk, tag="agent_thought_chunk", tag_field="sessionUpdate"):
    """A piece of the harness's reasoning."""


class _Tool(msgspec.Struct, tag_field="sessionUpdate"):
    toolCallId: str  # noqa: N815
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: Any = None
    locations: Any = None
    rawInput: Any = None  # noqa: N815
    rawOutput: Any = None  # noqa: N815


class ToolCallStart(_Tool, tag="tool_call", tag_field="sessionUpdate"):
    """A tool call began."""


class ToolCallProgress(_Tool, tag="tool_call_update", tag_field="sessionUpdate"):
    """A tool call changed."""


class PlanWhole(msgspec.Struct, tag="plan", tag_field="sessionUpdate"):
    """The plan, whole."""

    entries: list[dict[str, Any]]


class PlanContentUpdate(msgspec.Struct, tag="plan_update", tag_field="sessionUpdate"):
    """One of several plans: entries, or a document (not stable yet)."""

    plan: dict[str, Any]


class PlanRemovedUpdate(msgspec.Struct, tag="plan_removed", tag_field="sessionUpdate"):
    """One of several plans is gone (not stable yet)."""

    planId: str | None = None  # noqa: N815


class AvailableCommandsUpdate(msgspec.Struct, tag="available_commands_update", tag_field="sessionUpdate"):
    """The session's commands."""

    availableCommands: list[dict[str, Any]]  # noqa: N815


class CurrentModeUpdate(msgspec.Struct, tag="current_mode_update", tag_field="sessionUpdate"):
    """The session mode in force."""

    currentModeId: str  # noqa: N815


class ConfigOptionUpdate(msgspec.Struct, tag="config_option_update", tag_field="sessionUpdate"):
    """The session's options, whole."""

    configOptions: list[dict[str, Any]]  # noqa: N815


class SessionInfoUpdate(msgspec.Struct, tag="session_info_update", tag_field="sessionUpdate"):
    """The session's title and the like."""

    title: str | None = None
    updatedAt: Any = None  # noqa: N815
    meta: Any = msgspec.field(default=None, name="_meta")


class UsageUpdate(msgspec.Struct, tag="usage_update", tag_field="sessionUpdate"):
    """How full the context is."""

    used: int | None = None
    size: int | None = None
    cost: dict[str, Any] | None = None


Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | PlanWhole
    | PlanContentUpdate
    | PlanRemovedUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)


class UpdateParams(msgspec.Struct):
    """Parameters of `session/update`."""

    sessionId: str  # noqa: N815
    update: Update


decode_envelope = msgspec.json.Decoder(Envelope).decode
decode_update = msgspec.json.Decoder(UpdateParams).decode
decode_block = msgspec.json.Decoder(Block).decode
decode_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode

_decode_any = msgspec.json.Decoder().decode


def decode_any(raw: msgspec.Raw | bytes) -> Any:
    """The value as plain JSON; `None` for `ABSENT`."""
    return None if raw is ABSENT else _decode_any(raw)


def encode_message(
    *,
    id: int | str | None = None,
    method: str | None = None,
    params: dict[str, Any] | None = None,
    result: Any = None,
    error: dict[str, Any] | None = None,
) -> bytes:
    """The line of a request, a notification or an answer.

    `id` is a number for a call of our own, and the JSON text of the id for an answer to a call of theirs.
    """
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if id is not None:
        message["id"] = msgspec.Raw(id.encode()) if isinstance(id, str) else id
    if method is not None:
        message["method"] = method
        message["params"] = params or {}
    elif error is not None:
        message["error"] = error
    else:
        message["result"] = result
    return msgspec.json.encode(message) + b"\n"


def mend(line: bytes) -> bytes | None:
    """The line with its damage replaced, or `None` where it is not JSON at all.

    Bytes that are no UTF-8 and halves of surrogate pairs (a program that cuts its text at any UTF-16 unit
    writes those) become U+FFFD; numbers that do not fit become `null`.
    """
    text = line.decode("utf-8", errors="replace")
    try:
        value = json.loads(
            text, parse_constant=_no_number, parse_float=_finite_number, parse_int=_small_integer
        )
        whole = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", errors="replace").encode()


def _no_number(_text: str) -> None:
    return None


def _finite_number(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _small_integer(text: str) -> int | None:
    return int(text) if len(text) <= _INTEGER_DIGITS else None
