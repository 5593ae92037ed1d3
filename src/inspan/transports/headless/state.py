"""What the machine must remember across a restart, and how it is written."""

from __future__ import annotations

from typing import Literal

import msgspec

from inspan.model.turn import CallError
from inspan.transports.records.notes import TurnNotes

__all__ = ["HeadlessState", "read_state", "write_state"]


class HeadlessState(TurnNotes, kw_only=True, omit_defaults=True):
    """The durable state of one launch.

    Attributes:
        version: The version of this shape.
        phase: `begun`; `ready` for its prompt; `prompted`; `ended` once the turn's outcome was said.
        line_error: The error that a line of plain text said first, believed where the exit status agrees.
    """

    version: Literal[1] = 1
    phase: Literal["begun", "ready", "prompted", "ended"] = "begun"
    line_error: CallError | None = None


def write_state(state: HeadlessState) -> bytes:
    """The state as JSON."""
    return msgspec.json.encode(state)


def read_state(snapshot: bytes) -> HeadlessState:
    """The state that `write_state` wrote.

    Raises:
        msgspec.DecodeError: It is no such state.
    """
    return msgspec.json.decode(snapshot, type=HeadlessState)
