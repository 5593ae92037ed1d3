"""Notes: what must be remembered of a conversation while its records are read."""

from __future__ import annotations

from typing import Any

import msgspec

from inspan.model.turn import CallError, Usage

__all__ = ["CALLS_KEPT", "KnownCall", "TurnNotes"]

CALLS_KEPT = 50
"""How many tool calls are remembered, the newest: a denial may come after the call that it is about."""


class KnownCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call as it was told first; `input` is left out where it is large."""

    tool: str
    title: str = ""
    kind: str = ""
    input: Any = None


class TurnNotes(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The part of a machine's durable state that the reading of records needs and changes.

    Attributes:
        delivery: The delivery of the prompt that is in flight, or was.
        is_accepted: Whether it was said that the prompt was taken.
        is_started: Whether a witness was seen.
        is_cancelled: Whether its turn is being stopped.
        has_spoken: Whether anything came that a rule knows.
        session: The session's id, once it is known.
        error: The error that was said last, until the harness gets over it.
        usage: Tokens so far.
        pieces_of: The message of which pieces came last.
        calls: Tool calls, by id.
        denied: Ids of tool calls whose denial was said.
        last_words: The beginning of the last message, where it is wanted.
        last_words_id: The id of that message, where it has one.
        is_discarding: The stream is inside a line over the cap.
    """

    delivery: str | None = None
    is_accepted: bool = False
    is_started: bool = False
    is_cancelled: bool = False
    has_spoken: bool = False
    session: str | None = None
    error: CallError | None = None
    usage: Usage | None = None
    pieces_of: str = ""
    calls: dict[str, KnownCall] = {}
    denied: tuple[str, ...] = ()
    last_words: str = ""
    last_words_id: str | None = None
    is_discarding: bool = False
