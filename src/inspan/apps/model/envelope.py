"""The shape of every refusal on the wire, and the codes that it may carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from .guard import Violation, describe_violation

__all__ = ["CODES", "error_body", "guard_body", "not_stored_body"]

CODES: dict[str, str] = {
    "unknown_field": "No field or parameter of this name is declared.",
    "read_only_field": "The app writes this field itself.",
    "invalid_date": "A date that is not ISO 8601, or that the calendar does not have.",
    "invalid_daykey": "A day that is not `YYYY-MM-DD`, or that the calendar does not have.",
    "invalid_string": "A value that is not text, or is too long.",
    "invalid_number": "A value that is not a number.",
    "invalid_boolean": "A value that is neither true nor false.",
    "invalid_enum": "A value that is not among the declared ones.",
    "missing_required": "A required value is absent or blank.",
    "not_stored": "The write was made, and some of it is not there.",
    "duplicate_request": "The idempotency key was used before.",
    "approval_required": "A destructive operation needs an approval for exactly this call.",
    "insufficient_scope": "The credential does not hold the scope.",
    "ambiguous_ref": "A label names several records.",
    "invalid_filter": "A filter or sort that cannot be honoured.",
    "invalid_event": "The event's type is not declared.",
    "task_not_found": "No task of this id exists.",
    "task_not_claimable": "The task's state does not allow it, or the claim is not the caller's any more.",
    "task_canceled": "The task was canceled.",
    "agent_token_required": "The call needs a credential.",
    "rate_limited": "Too many calls within the window.",
    "usage": "The call has a wrong form.",
    "unknown_module": "No module of this name exists.",
    "unknown_entity": "No entity of this name exists there.",
    "unknown_relation": "The record has no such relation.",
    "unknown_operation": "No operation of this name is declared.",
    "record_not_found": "No record of this id exists.",
    "forbidden_origin": "The request comes from another site's page.",
    "forbidden_host": "The request names a host that is not the app's.",
    "principal_mismatch": "The caller is not who it acts as.",
    "operation_failed": "The operation's own code failed.",
    "not_implemented": "The operation is declared and has no code.",
    "adapter_error": "A fault in the server itself.",
    "not_found": "Nothing is served under this path.",
}
"""Every code that our server can answer with, and its meaning. Clients branch on the code, never on the message."""


def error_body(code: str, message: str, **extra: Any) -> dict[str, Any]:
    """A refusal; `extra` stands beside the four keys that each has."""
    return {"a2app": True, "ok": False, "code": code, "message": message, **extra}


def guard_body(violations: Sequence[Violation]) -> dict[str, Any]:
    """What the guard refuses: the first violation at the top, all of them in `violations`."""
    first = violations[0]
    return error_body(
        first.code,
        describe_violation(first),
        field=first.field,
        expected=first.expected,
        got=first.got,
        violations=[msgspec.to_builtins(violation) for violation in violations],
    )


def not_stored_body(fields: Sequence[str], record_id: str) -> dict[str, Any]:
    """What the read-back missed."""
    return error_body(
        "not_stored",
        f"Written, but not stored: {', '.join(fields)}. Read the record before trying again.",
        violations=[{"code": "not_stored", "field": field} for field in fields],
        id=record_id,
    )
