"""Events of a request: what somebody wants done, kept apart from the attempts at it and from its way between seats.

How an attempt ended is its turn's own event. These say what becomes of the whole.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .turn import CallError, TurnOutcome

__all__ = ["HandoffDeclared", "HandoffFailed", "RequestHandedOff", "RequestSettled"]


class HandoffDeclared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="handoff_declared"):
    """The request is to go on in another seat once this attempt has ended without settling it.

    Attributes:
        request: The request.
        delivery: The attempt.
        to_seat: The other seat.
        next_delivery: The id that the next attempt will have, so that it is begun once.
        text: What the other seat is told, a secret in logs; empty for the attempt's own prompt.
    """

    request: str
    delivery: str
    to_seat: str
    next_delivery: str
    text: str = ""


class RequestHandedOff(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="request_handed_off"
):
    """The attempt is over, and the request goes on in the other seat; fields as in `HandoffDeclared`.

    `outcome` is how the attempt's turn ended; `None` where it never had one.
    """

    request: str
    delivery: str
    to_seat: str
    next_delivery: str
    outcome: TurnOutcome | None = None


class HandoffFailed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="handoff_failed"):
    """The other seat did not take the request; it stays open."""

    request: str
    next_delivery: str
    to_seat: str
    error: CallError


class RequestSettled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="request_settled"):
    """The request is over: by the attempt that settled it, or on its operator's word.

    Attributes:
        request: The request.
        delivery: The last attempt.
        outcome: How it ended.
        by: `attempt`, or `operator`.
    """

    request: str
    delivery: str
    outcome: TurnOutcome
    by: Literal["attempt", "operator"] = "attempt"
