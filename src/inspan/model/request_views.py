"""Views of requests: the whole of what somebody wants done, with every attempt at it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from .delivery import DeliveryState
from .turn import CallError, TurnOutcome

__all__ = ["AttemptView", "HandOffRequest", "HandoffView", "RequestView"]


class HandOffRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Asks for a request to go on in another seat.

    Attributes:
        seat: The other seat.
        text: What it is told; the prompt of the attempt before where nothing is given.
        cancel: Ask the attempt that is under way to stop, instead of waiting until it ends by itself.
    """

    seat: str
    text: str = ""
    cancel: bool = False


class AttemptView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt at a request: a delivery, and how its turn ended, if it did.

    Attributes:
        delivery: The delivery's id.
        seat: Its seat.
        queued_at: When it was accepted.
        state: How far its prompt got.
        turn: Its turn.
        outcome: How its turn ended: it settles this attempt alone.
        error: What failed.
        is_over: Nothing more comes of it.
    """

    delivery: str
    seat: str
    queued_at: datetime
    state: DeliveryState
    turn: str | None = None
    outcome: TurnOutcome | None = None
    error: CallError | None = None
    is_over: bool = False


class HandoffView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A handoff of a request.

    Attributes:
        from_seat: The seat of the attempt before.
        from_delivery: That attempt.
        to_seat: The seat that it goes on in.
        delivery: The id of the attempt there.
        declared_at: When it was declared.
        handed_at: When the attempt before was over, and the request went on.
        error: Why the other seat did not take it.
    """

    from_seat: str
    from_delivery: str
    to_seat: str
    delivery: str
    declared_at: datetime
    handed_at: datetime | None = None
    error: CallError | None = None


class RequestView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request.

    Attributes:
        id: Its id, which its attempts name.
        status: `running` (an attempt is queued, under way or about to begin), `waiting` (nothing goes on by
            itself: the last attempt ended without settling it, or is held) or `settled`.
        opened_at: When its first attempt was accepted.
        attempts: Its attempts, in order.
        handoffs: Its handoffs, in order.
        outcome: How it ended, once it is settled.
        settled_at: When.
        settled_by: The attempt that settled it, or the last one where its operator closed it.
        hint: The next thing to do, where it waits.
    """

    id: str
    status: Literal["running", "waiting", "settled"]
    opened_at: datetime
    attempts: tuple[AttemptView, ...] = ()
    handoffs: tuple[HandoffView, ...] = ()
    outcome: TurnOutcome | None = None
    settled_at: datetime | None = None
    settled_by: str = ""
    hint: str = ""
