"""Diagnoses: what a failure means and how to mend it, as data; by the harness's error, or by a turn's last words."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = ["Diagnosis", "DiagnosisCode", "TurnTextFailure"]

Text = Annotated[str, msgspec.Meta(min_length=1)]

DiagnosisCode = Literal[
    "limited", "auth_required", "session_missing", "session_in_use", "active_run", "wedged", "call_failed"
]
"""What a failure is. `active_run`: the harness says that an earlier turn still runs. `wedged`: it is stuck by what it
says or shows itself. After either of them it is restarted on the same conversation."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a failure means and how to mend it: matched against the harness's error.

    Attributes:
        raw_code: The harness's own error code.
        message_pattern: Regular expression searched in the harness's message.
        data_pattern: Regular expression searched in the harness's error data, as JSON text.
        code: Our code for it.
        title: The failure in a few words.
        cause: What brings it about, where that is known.
        remedy: The next thing to do.
        source: Where the fact comes from.
        verified: Date and version.
    """

    code: DiagnosisCode
    title: Text
    remedy: Text
    cause: str = ""
    raw_code: int | None = None
    message_pattern: str = ""
    data_pattern: str = ""
    source: str = ""
    verified: str = ""


class TurnTextFailure(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A failure that the harness tells as if it were an answer: the turn ends well, its last words are an error.

    Attributes:
        pattern: Regular expression that must match where the turn's last message begins.
        code: Our code for it.
        title: The failure in a few words.
        cause: What brings it about, where that is known.
        remedy: The next thing to do.
        source: Where the fact comes from.
        verified: Date and version.
    """

    pattern: Text
    code: DiagnosisCode
    title: Text
    remedy: Text
    cause: str = ""
    source: str = ""
    verified: str = ""
