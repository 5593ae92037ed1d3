"""Delivery: how far a prompt got."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["CONSOLE_REASONS", "FINAL_DELIVERY_STATES", "FUTILE_REASONS", "DeliveryState", "HeldReason"]


class DeliveryState(StrEnum):
    """How far a prompt got; only `started`, `refused` and `failed` are final.

    `queued` waits for its turn. `held` waits for a person (the reason says why). `sending` is the recorded
    intent: the bytes are on their way to the holder. `sent`: the holder wrote them whole. `accepted`: the
    harness's own API took it. `rendered`: seen on a screen, not confirmed. `started`: its turn began, by a
    witness. `refused`: the harness, or its operator, declined it before a turn. `failed`: the attempt ended in
    an error. `unknown`: it may or may not have arrived; it is never repeated by itself.
    """

    QUEUED = "queued"
    HELD = "held"
    SENDING = "sending"
    SENT = "sent"
    ACCEPTED = "accepted"
    RENDERED = "rendered"
    STARTED = "started"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"


FINAL_DELIVERY_STATES = frozenset({DeliveryState.STARTED, DeliveryState.REFUSED, DeliveryState.FAILED})
"""States that no later event changes."""


class HeldReason(StrEnum):
    """Why a delivery waits for a person."""

    HARNESS_EXITED = "harness_exited"
    HOLDER_LOST = "holder_lost"
    LAUNCH_FAILED = "launch_failed"
    SESSION_NOT_OPENED = "session_not_opened"
    AWAITING_DECISION = "awaiting_decision"
    STOPPED = "stopped"
    NEEDS_INPUT = "needs_input"
    NOT_READY = "not_ready"
    BUSY = "busy"
    ACTIVITY_UNKNOWN = "activity_unknown"
    DRAFT = "draft"
    FOREGROUND = "foreground"
    PERSON_TYPING = "person_typing"
    LIMITED = "limited"
    AUTH_REQUIRED = "auth_required"
    STUCK = "stuck"


CONSOLE_REASONS = frozenset(
    {
        HeldReason.NEEDS_INPUT,
        HeldReason.NOT_READY,
        HeldReason.BUSY,
        HeldReason.ACTIVITY_UNKNOWN,
        HeldReason.DRAFT,
        HeldReason.FOREGROUND,
        HeldReason.PERSON_TYPING,
    }
)
"""Reasons that a console gives, which pass by themselves: the prompt is typed once nothing stands in the way."""

FUTILE_REASONS = frozenset({HeldReason.LIMITED, HeldReason.AUTH_REQUIRED, HeldReason.STUCK})
"""Reasons why a prompt would most likely fail as the one before it did: it waits until the queue is released."""
