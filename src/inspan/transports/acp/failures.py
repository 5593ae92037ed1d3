"""The harness's errors as `CallError`: its own code, words and data are kept, ours is added."""

from __future__ import annotations

from typing import Any

from inspan.model.session import ResumeOutcome
from inspan.model.turn import CallError

from .loose import integer_in, mapping, text_in

__all__ = [
    "AUTH_REQUIRED",
    "CANCELLED",
    "DECLINING_CODES",
    "INVALID_PARAMS",
    "METHOD_NOT_FOUND",
    "RESOURCE_NOT_FOUND",
    "call_error",
    "fault_error",
    "open_failure",
]

AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
CANCELLED = -32800

DECLINING_CODES = frozenset(
    (AUTH_REQUIRED, RESOURCE_NOT_FOUND, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS)
)
"""Codes by which a harness declines a call itself, before it does anything for it."""

_SAYS_NOTHING = frozenset(("internal error", "invalid params", "invalid request", "server error"))
"""The protocol's own words for a code: what happened is then told by the data, if at all."""

_DETAIL_CHARACTERS = 500

_CODES = {AUTH_REQUIRED: "auth_required", 401: "auth_required", 429: "limited"}
_HINTS = {
    "auth_required": "Sign in with the harness's own program, then start the seat again.",
    "limited": "Wait until the limit is lifted, or use another model or account.",
    "session_missing": "Start the seat fresh, or name another session.",
}


def call_error(error: Any, *, default: str = "call_failed") -> CallError:
    """What the harness answered a call with.

    Only codes that say it plainly are read: `-32000` and `401` (sign in), `429` (a usage limit). What else a
    harness's words mean, its manifest says. Where the message is the protocol's word for the code alone, what the data
    says in words is put behind it.

    Args:
        error: The `error` member, of any shape.
        default: Our code where the harness's own says nothing.
    """
    values = mapping(error)
    if values is None:
        return CallError(code=default, message="The harness answered with an error.", raw=_raw(error))
    raw_code = integer_in(values, "code")
    code = _CODES.get(raw_code, default) if raw_code is not None else default
    return CallError(
        code=code,
        message=_message(values),
        hint=_HINTS.get(code, ""),
        raw_code=raw_code,
        raw=_raw(values.get("data")),
    )


def fault_error(message: str, raw: Any = None) -> CallError:
    """An answer that cannot be what the protocol says."""
    return CallError(
        code="protocol_fault",
        message=message,
        hint="Report it to the harness's author.",
        raw=_raw(raw),
    )


def open_failure(error: Any, *, is_reopening: bool) -> tuple[ResumeOutcome, CallError]:
    """Why no session was opened.

    A session counts as missing only where the harness says so by its code; an internal error proves nothing.
    """
    found = call_error(error, default="session_failed")
    if found.code == "session_failed" and is_reopening:
        if found.raw_code in (RESOURCE_NOT_FOUND, INVALID_PARAMS):
            missing = CallError(
                code="session_missing",
                message=found.message,
                hint=_HINTS["session_missing"],
                raw_code=found.raw_code,
                raw=found.raw,
            )
            return ResumeOutcome.MISSING, missing
        if found.raw_code == METHOD_NOT_FOUND:
            return ResumeOutcome.REFUSED, call_error(error, default="unsupported_capability")
    return ResumeOutcome.FAILED, found


def _message(values: dict[str, Any]) -> str:
    message = text_in(values, "message")
    if message.strip().rstrip(".").casefold() not in _SAYS_NOTHING:
        return message or "The harness answered with an error."
    data = values.get("data")
    inner = mapping(data)
    told = data if isinstance(data, str) else ""
    if inner is not None:
        told = text_in(inner, "details") or text_in(inner, "message")
    told = told.strip()[:_DETAIL_CHARACTERS]
    return f"{message.strip().rstrip('.')}: {told}" if told else message


def _raw(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    return mapping(value) or {"value": value}
