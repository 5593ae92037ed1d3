"""What the machine must remember across a restart, and how it is written."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from inspan.model.turn import CallError, Usage

__all__ = ["CALLS_KEPT", "HeadlessState", "KnownCall", "read_state", "write_state"]

CALLS_KEPT = 50
"""How many tool calls are remembered, the newest: a denial may come after the call that it is about."""


class KnownCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call as it was told first; `input` is left out where it is large."""

    tool: str
    title: str = ""
    input: Any = None


class HeadlessState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The durable state of one launch.

    Attributes:
        version: The version of this shape.
        phase: `begun`; `ready` for its prompt; `prompted`; `ended` once the turn's outcome was said.
        delivery: The delivery of its prompt.
        is_accepted: Whether it said that it took its prompt.
        is_started: Whether a witness was seen.
        is_cancelled: Whether the run is being stopped, since its turn was cancelled.
        has_spoken: Whether it said anything that a rule knows.
        session: The session's id, once it is known.
        error: The error that was said last, until the harness gets over it.
        line_error: The error that a line of plain text said first, believed where the exit status agrees.
        usage: Tokens so far.
        pieces_of: The message of which pieces came last.
        calls: Tool calls, by id.
        denied: Ids of tool calls whose denial was said.
        last_words: The beginning of the last message, where it is wanted.
        last_words_id: The id of that message, where it has one.
        is_discarding: The stream is inside a line over the cap.
    """

    version: Literal[1] = 1
    phase: Literal["begun", "ready", "prompted", "ended"] = "begun"
    delivery: str | None = None
    is_accepted: bool = False
    is_started: bool = False
    is_cancelled: bool = False
    has_spoken: bool = False
    session: str | None = None
    error: CallError | None = None
    line_error: CallError | None = None
    usage: Usage | None = None
    pieces_of: str = ""
    calls: dict[str, KnownCall] = {}
    denied: tuple[str, ...] = ()
    last_words: str = ""
    last_words_id: str | None = None
    is_discarding: bool = False


def write_state(state: HeadlessState) -> bytes:
    """The state as JSON."""
    return msgspec.json.encode(state)


def read_state(snapshot: bytes) -> HeadlessState:
    """The state that `write_state` wrote.

    Raises:
        msgspec.DecodeError: It is no such state.
    """
    return msgspec.json.decode(snapshot, type=HeadlessState)
