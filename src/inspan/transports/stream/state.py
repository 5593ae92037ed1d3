"""What the machine must remember across a restart, and how it is written."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from inspan.transports.records.notes import TurnNotes

__all__ = ["OpenCall", "OpenRequest", "StreamState", "read_state", "write_state"]


class OpenCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that was written and not answered yet.

    Attributes:
        kind: What it is for; `other` is a call that only a recorded client made.
        delivery: The delivery that a prompt carries.
    """

    kind: Literal["step", "prompt", "cancel", "other"]
    delivery: str | None = None


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A permission request that was not answered yet.

    Attributes:
        options: What is answered, by the option's id.
        cancelled: What is answered where nobody decided.
    """

    options: dict[str, Any]
    cancelled: Any


class StreamState(TurnNotes, kw_only=True, omit_defaults=True):
    """The durable state of one launch. `delivery` is that of the prompt in flight.

    Attributes:
        version: The version of this shape.
        phase: How far the launch got.
        step: How many steps of the opening were written.
        next_id: The id of our next call; it grows by one.
        open_calls: Our open calls, by the text of their id.
        kept: What rules kept, by name.
        named: The session that the answers of the opening named.
        is_cancel_waiting: The cancel could not be written yet.
        requests: Their open permission requests, by the JSON text of their id.
    """

    version: Literal[1] = 1
    phase: Literal["begun", "connected", "ready", "failed"] = "begun"
    step: int = 0
    next_id: int = 1
    open_calls: dict[str, OpenCall] = msgspec.field(default_factory=dict[str, OpenCall])
    kept: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    named: str = ""
    is_cancel_waiting: bool = False
    requests: dict[str, OpenRequest] = msgspec.field(default_factory=dict[str, OpenRequest])


def write_state(state: StreamState) -> bytes:
    """The state as JSON."""
    return msgspec.json.encode(state)


def read_state(snapshot: bytes) -> StreamState:
    """The state that `write_state` wrote.

    Raises:
        msgspec.DecodeError: It is no such state.
    """
    return msgspec.json.decode(snapshot, type=StreamState)
