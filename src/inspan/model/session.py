"""Session reference: the opaque value that is enough to re-attach to a conversation."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from .posture import Posture

__all__ = ["IdentityState", "OpenedHow", "Provenance", "ResumeOutcome", "SessionReference"]


class Provenance(StrEnum):
    """Where a session id comes from; an id that the harness reports is preferred to one that we choose.

    `command`: a run before the launch, which made the session.
    """

    REPORTED = "reported"
    CHOSEN = "chosen"
    COMMAND = "command"
    HOOK = "hook"
    SCREEN = "screen"
    STORE = "store"


class IdentityState(StrEnum):
    """What is known of a seat's conversation: `not_yet` and `ambiguous` are answers, not errors."""

    NOT_YET = "not_yet"
    AMBIGUOUS = "ambiguous"
    UNAVAILABLE = "unavailable"
    KNOWN = "known"


class OpenedHow(StrEnum):
    """How a launch came to its session."""

    NEW = "new"
    RESUMED = "resumed"
    LOADED = "loaded"
    FORKED = "forked"


class ResumeOutcome(StrEnum):
    """What came of an attempt to resume; never a silent fresh start."""

    RESUMED = "resumed"
    RETRY_FRESH = "retry_fresh"
    AWAITING_DECISION = "awaiting_decision"
    IN_USE = "in_use"
    MISSING = "missing"
    REFUSED = "refused"
    FAILED = "failed"


class SessionReference(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that a harness keeps.

    Attributes:
        harness: The harness's id.
        resume_type: The name that the harness's manifest gives to this form of id; a wrapper has its own.
        id: Opaque to core: any string, `agent/conversation` too. A secret in logs.
        workspace: Absolute path that the session was opened in.
        posture: The posture at launch.
        provenance: Where the id comes from.
    """

    harness: str
    resume_type: str
    id: str
    workspace: str
    posture: Posture
    provenance: Provenance

    def __repr__(self) -> str:
        return f"SessionReference({self.harness}, {self.resume_type}, id=…, {self.provenance})"

    __str__ = __repr__
