"""What a seat's decider takes about requests: handoffs, their failure, and the end of a request."""

from __future__ import annotations

import msgspec

from inspan.model.turn import CallError, TurnOutcome

__all__ = ["HandOff", "NoteHandoffFailed", "RequestCommand", "SettleRequest"]


class HandOff(msgspec.Struct, frozen=True, kw_only=True):
    """Hands a request off to another seat, at once where its attempt here is not under way.

    Attributes:
        request: The request.
        delivery: Its newest attempt, a delivery of this seat.
        to_seat: The other seat, which exists.
        next_delivery: The id of the attempt to come.
        text: What the other seat is told; empty for the attempt's own prompt.
        outcome: How the attempt's turn ended, where it did.
    """

    request: str
    delivery: str
    to_seat: str
    next_delivery: str
    text: str = ""
    outcome: TurnOutcome | None = None


class NoteHandoffFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The other seat did not take the request."""

    request: str
    next_delivery: str
    to_seat: str
    error: CallError


class SettleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Closes a request that nobody will go on with; `delivery` is its last attempt, which is over."""

    request: str
    delivery: str
    outcome: TurnOutcome


RequestCommand = HandOff | NoteHandoffFailed | SettleRequest
