"""Capabilities: named optional abilities of a harness in one mode, with support and evidence.

A capability exists only if a branch of core reads it and a test pins that reader; `CAPABILITY_READERS` names
both, and a meta-test follows every name.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["CAPABILITY_READERS", "Capabilities", "Claim", "EvidenceLevel", "Support"]


class Support(StrEnum):
    """Whether a harness has an ability. `unknown` is an answer, and never counts as a yes."""

    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"
    SUPPORTED = "supported"


class EvidenceLevel(StrEnum):
    """How well a claim is backed: said, asked of the installed program, or shown by a live run."""

    DECLARED = "declared"
    PROBED = "probed"
    PROVED = "proved"


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a manifest says of one capability.

    Attributes:
        support: The value.
        since: The first version of the harness that has it, where it is not all.
        evidence: How well the claim is backed.
        source: Where the fact comes from: a recording, a page, a test.
        verified: Date and version of the last check, such as `2026-11-30 1.18.33`.
        note: The mechanism, or the reason why not.
    """

    support: Support = Support.UNKNOWN
    since: str | None = None
    evidence: EvidenceLevel = EvidenceLevel.DECLARED
    source: str = ""
    verified: str = ""
    note: str = ""

    @property
    def is_supported(self) -> bool:
        """Whether core may rely on it."""
        return self.support is Support.SUPPORTED


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """All capabilities, per mode.

    Attributes:
        launch: A fresh session can be started in this mode.
        resume: A session can be re-attached to by its reference.
        fork: A session can be branched.
        activity: It is reported when work begins and ends.
        permission_report: It is reported that an answer is owed.
        permission_answer: The answer can be given through the mode.
        cancel: A turn can be interrupted.
        context_usage: It is reported how full the context is.
    """

    launch: Claim = Claim(support=Support.SUPPORTED)
    resume: Claim = Claim()
    fork: Claim = Claim()
    activity: Claim = Claim()
    permission_report: Claim = Claim()
    permission_answer: Claim = Claim()
    cancel: Claim = Claim()
    context_usage: Claim = Claim()


CAPABILITY_READERS: dict[str, tuple[str, str]] = {
    "launch": (
        "inspan.host.plans:check_attempt",
        "tests/host/test_plans.py::test_an_attempt_that_the_manifest_does_not_support_is_refused",
    ),
    "resume": (
        "inspan.seats.launching:choose_attempt",
        "tests/seats/test_launching.py::test_a_seat_whose_harness_cannot_resume_waits_for_a_decision",
    ),
    "fork": (
        "inspan.host.plans:check_attempt",
        "tests/host/test_plans.py::test_an_attempt_that_the_manifest_does_not_support_is_refused",
    ),
    "activity": (
        "inspan.seats.view:show_activity",
        "tests/seats/test_view.py::test_activity_is_unknown_where_the_mode_does_not_report_it",
    ),
    "permission_report": (
        "inspan.seats.view:show_activity",
        "tests/seats/test_view.py::test_a_running_seat_whose_mode_cannot_report_permissions_shows_unknown",
    ),
    "permission_answer": (
        "inspan.seats.permissions:answer_permission",
        "tests/seats/test_permissions.py::test_a_request_that_nobody_could_answer_is_denied_at_once_and_raises_attention",
    ),
    "cancel": (
        "inspan.seats.turns:cancel_turn",
        "tests/seats/test_turns.py::test_a_mode_that_cannot_cancel_refuses_the_cancel",
    ),
    "context_usage": (
        "inspan.seats.view:show_usage",
        "tests/seats/test_view.py::test_context_usage_is_named_unsupported_where_the_mode_does_not_report_it",
    ),
}
"""Capability to the core function that reads it (`module:function`) and the test that pins the reader."""
