"""What is taken out of an event before it leaves the daemon: values that nobody who watches needs."""

from __future__ import annotations

import msgspec

from inspan.model.events import Envelope, LaunchStarting, SeatAdded

__all__ = ["HIDDEN", "without_secrets"]

HIDDEN = "(hidden)"
"""Stands where a secret was."""


def without_secrets(envelope: Envelope) -> Envelope:
    """The event without the values of environment variables and without the nonce that owns a launch.

    The log keeps both, since a restart needs them. Prompts and session ids stay: they are what an owner asks
    for, and only the owner can open the socket.
    """
    match envelope.event:
        case SeatAdded(environment=environment) if environment:
            event = msgspec.structs.replace(envelope.event, environment=dict.fromkeys(environment, HIDDEN))
        case LaunchStarting():
            event = msgspec.structs.replace(envelope.event, nonce=HIDDEN)
        case _:
            return envelope
    return msgspec.structs.replace(envelope, event=event)
