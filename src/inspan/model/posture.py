"""Posture: what a seat may do unasked, and who said so."""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["Approvals", "Posture", "PostureSource", "Sandbox", "Unattended"]


class Approvals(StrEnum):
    """The first axis: what is asked before it is done."""

    ASK = "ask"
    EDITS = "edits"
    BYPASS = "bypass"


class Sandbox(StrEnum):
    """The second axis: what the harness's own sandbox confines."""

    NONE = "none"
    WORKSPACE = "workspace"
    READ_ONLY = "read_only"


class PostureSource(StrEnum):
    """Who chose the posture: an absent policy is not a chosen floor."""

    OPERATOR = "operator"
    POLICY = "policy"
    DEFAULT = "default"


class Unattended(StrEnum):
    """How Inspan itself answers a permission request of a seat.

    `person` leaves every request to a person. `reject` takes the harness's own reject option,
    `allow_once` the first option of that kind, `allow_always` the standing one where there is one.
    Where no option of the wanted kind is offered, the answer is `cancelled`: a harness never hangs.
    """

    PERSON = "person"
    REJECT = "reject"
    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"


class Posture(msgspec.Struct, frozen=True, kw_only=True):
    """Both axes with their source.

    Attributes:
        approvals: What must be asked.
        sandbox: The confinement; `none` is the harness as it comes.
        source: Who said so.
        unattended: How Inspan answers what the harness asks.
        permission_timeout_s: Seconds after which an unanswered permission request is rejected; `None` waits
            for ever.
    """

    approvals: Approvals = Approvals.ASK
    sandbox: Sandbox = Sandbox.NONE
    source: PostureSource = PostureSource.DEFAULT
    unattended: Unattended = Unattended.PERSON
    permission_timeout_s: float | None = 3600.0
