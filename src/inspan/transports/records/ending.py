"""Ending: errors that records carry, and how a turn ended by its result record."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from inspan.model.records import EndRule, ErrorRule, RecordRule
from inspan.model.turn import CallError, TurnOutcome, Usage
from inspan.transports.acp.loose import mapping

from .paths import Place, as_token

__all__ = ["error_of_code", "has_written", "last_words", "read_end", "read_error"]

_CODES = {401: "auth_required", 403: "auth_required", 429: "limited"}
"""HTTP statuses that say plainly what failed; everything else is the manifest's to say."""

_HINTS = {
    "auth_required": "Sign in with the harness's own program, or correct its key, then send the prompt again.",
    "limited": "Wait until the limit is lifted, or use another model or account.",
}
_TAIL_CHARACTERS = 500
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def read_error(rule: ErrorRule, place: Place) -> CallError:
    """The error that a record carries, with the harness's own words, code and data."""
    numbers = (place.integer(path) for path in rule.code)
    raw_code = next((number for number in numbers if number is not None), None)
    raw = place.find(rule.raw) if rule.raw else None
    message = place.first_text(rule.message) or "The harness ended with an error and did not say which."
    error = error_of_code(message, raw_code)
    return msgspec.structs.replace(error, raw=None if raw is None else mapping(raw) or {"value": raw})


def error_of_code(message: str, raw_code: int | None) -> CallError:
    """The error of a harness's own words, and of an HTTP status or a code of its own where it gave one."""
    code = _CODES.get(raw_code, "call_failed") if raw_code is not None else "call_failed"
    return CallError(code=code, message=message, hint=_HINTS.get(code, ""), raw_code=raw_code)


def read_end(
    rule: EndRule, place: Place, told: CallError | None
) -> tuple[TurnOutcome, CallError | None, str]:
    """The outcome, the error and the harness's own word for the end, as its result record says.

    A success that says that it is an error is one.

    Args:
        rule: The rule of the record.
        place: The record.
        told: The error that was told before, if any.
    """
    said = rule.otherwise
    if rule.outcome:
        said = rule.outcomes.get(as_token(place.find(rule.outcome)), rule.otherwise)
    is_error = bool(rule.is_error) and place.find(rule.is_error) is True
    if said is None:
        said = TurnOutcome.COMPLETED if told is None else TurnOutcome.FAILED
    outcome = TurnOutcome.FAILED if is_error and said is TurnOutcome.COMPLETED else said
    error = None
    if outcome not in (TurnOutcome.COMPLETED, TurnOutcome.CANCELLED):
        carried = read_error(rule.error, place) if rule.error is not None else None
        is_telling = carried is not None and (place.first_text(rule.error.message) if rule.error else "")
        error = carried if is_telling else told or carried
        if error is None and outcome is TurnOutcome.FAILED:
            error = CallError(code="call_failed", message="The harness ended its turn with an error.")
    return outcome, error, place.first_text(rule.reason)


def has_written(usage: Usage | None, rules: Iterable[RecordRule]) -> bool | None:
    """Whether tokens that the model wrote were counted; `None` where no rule would count any."""
    if usage is not None and usage.output_tokens is not None:
        return usage.output_tokens > 0
    return False if any(rule.usage is not None and rule.usage.output for rule in rules) else None


def last_words(stderr_tail: str) -> str:
    """The end of what a process wrote to its standard error, as one line."""
    lines = [line.strip() for line in _ESCAPES.sub("", stderr_tail).splitlines() if line.strip()]
    return " ".join(lines)[-_TAIL_CHARACTERS:]
