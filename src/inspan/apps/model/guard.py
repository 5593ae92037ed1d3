"""The guard: what is wrong with a raw body before anything coerces it, and what of it was not stored afterwards.

Every violation is returned, never the first alone. A body is looked at key by key, and a key is known only if a field
of that name was declared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any, cast

import msgspec

from .fields import Field, is_blank

__all__ = [
    "Violation",
    "check_body",
    "coerce_body",
    "describe_violation",
    "is_date",
    "is_day_key",
    "lost_fields",
]

_DATE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s?(Z|[+-]\d{2}:?\d{2})?",
    re.ASCII,
)
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_SHOWN_CHARACTERS = 120
_LARGEST_INTEGER = 2**53


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a body.

    Attributes:
        code: Its code in the registry, such as `unknown_field`.
        field: The key that it is about.
        expected: What would have been right, in words.
        got: What was there; a long text or a large value is shortened.
    """

    code: str
    field: str
    expected: str
    got: Any = None


def check_body(
    fields: Iterable[Field], body: Mapping[str, Any], *, requires_all: bool, allowed: Iterable[str] = ()
) -> list[Violation]:
    """Everything that is wrong with `body`, in its order, and then what is missing from it.

    Args:
        fields: What was declared.
        body: What was sent, as it was sent.
        requires_all: A required field that is absent is a violation: on a create, and for operation arguments.
        allowed: Keys that are taken without being fields.
    """
    known = {field.name: field for field in fields}
    passed = frozenset(allowed)
    found: list[Violation] = []
    for key, value in body.items():
        if key in passed:
            continue
        field = known.get(key)
        if field is None:
            names = ", ".join(name for name, one in known.items() if not one.read_only)
            found.append(
                _violation("unknown_field", key, f"one of: {names}" if names else "no field at all", value)
            )
        elif field.read_only:
            found.append(_violation("read_only_field", key, "nothing: the app writes it itself", value))
        elif is_blank(value):
            if field.required:
                found.append(_violation("missing_required", key, "a value that is not blank", value))
        elif (wrong := _wrong_value(field, value)) is not None:
            found.append(_violation(wrong[0], key, wrong[1], value))
    if requires_all:
        found.extend(
            _violation("missing_required", field.name, "a value that is not blank", None)
            for field in known.values()
            if field.required and not field.read_only and field.name not in body
        )
    return found


def coerce_body(fields: Iterable[Field], body: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a body that the guard let pass, each as its field's type.

    A blank value of a field that is not a string becomes `None`; a datetime with a time becomes UTC, as in
    `2026-07-29T10:00:00.000Z` (a time without an offset is the server's local time).
    """
    known = {field.name: field for field in fields}
    return {key: _coerced(known[key], value) if key in known else value for key, value in body.items()}


def lost_fields(fields: Iterable[Field], body: Mapping[str, Any], read: Callable[[str], object]) -> list[str]:
    """The fields of which something was asked and nothing is stored, in the body's order.

    Args:
        fields: What was declared.
        body: What was sent.
        read: Gives what is stored of a field.
    """
    known = {field.name: field for field in fields}
    return [
        key
        for key, value in body.items()
        if key in known
        and not known[key].write_only
        and not is_blank(value)
        and _is_nothing(value, read(key))
    ]


def describe_violation(violation: Violation) -> str:
    """A violation as one sentence."""
    got = "nothing" if violation.got is None else msgspec.json.encode(violation.got).decode()
    return f"{violation.field}: expected {violation.expected}, got {got}."


def is_date(value: object) -> bool:
    """Whether a value is an ISO 8601 date, or date and time, of a day and an hour that exist."""
    match = _DATE.fullmatch(value) if isinstance(value, str) else None
    if match is None or not _is_day(match[1], match[2], match[3]):
        return False
    return match[4] is None or (int(match[4]) < 24 and int(match[5]) < 60 and int(match[6] or 0) < 60)


def is_day_key(value: object) -> bool:
    """Whether a value is a calendar day, `YYYY-MM-DD`."""
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    return match is not None and _is_day(match[1], match[2], match[3])


def _is_day(year: str, month: str, day: str) -> bool:
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        return False
    return True


def _wrong_value(field: Field, value: Any) -> tuple[str, str] | None:
    """The code and the expectation that a value breaks, or `None`."""
    match field.type:
        case "datetime":
            return None if is_date(value) else ("invalid_date", "an ISO 8601 date, or date and time")
        case "string":
            return _wrong_string(field, value)
        case "number":
            return None if _is_number(value) else ("invalid_number", "a number")
        case "boolean":
            is_boolean = isinstance(value, bool) or value in ("true", "false")
            return None if is_boolean else ("invalid_boolean", "true or false")
        case "enum":
            return None if _is_among(field, value) else ("invalid_enum", _one_of(field))
        case "list<enum>":
            is_list = isinstance(value, list) and all(
                _is_among(field, one) for one in cast("list[object]", value)
            )
            return None if is_list else ("invalid_enum", f"a list, each {_one_of(field)}")
        case "ref":
            return (
                None
                if isinstance(value, str)
                else ("invalid_string", f"the id of a record of {field.entity}")
            )
        case "list<ref>":
            is_list = isinstance(value, list) and all(
                isinstance(one, str) and one for one in cast("list[object]", value)
            )
            return None if is_list else ("invalid_string", f"a list of ids of records of {field.entity}")
        case "binary":
            return None if isinstance(value, str) else ("invalid_string", "base64 text")
        case "json":
            return None


def _wrong_string(field: Field, value: object) -> tuple[str, str] | None:
    if field.day_key:
        return None if is_day_key(value) else ("invalid_daykey", 'a day, "YYYY-MM-DD"')
    if not isinstance(value, str):
        return "invalid_string", "text"
    if field.max is not None and len(value) > field.max:
        return "invalid_string", f"text of at most {field.max} characters"
    return None


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return math.isfinite(value)
    return isinstance(value, str) and _NUMBER.fullmatch(value) is not None and math.isfinite(float(value))


def _is_among(field: Field, value: object) -> bool:
    return isinstance(value, str | int | float) and _enum_text(value) in field.values


def _enum_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _one_of(field: Field) -> str:
    return "one of: " + " | ".join(field.values)


def _coerced(field: Field, value: Any) -> Any:
    if is_blank(value):
        return "" if field.type == "string" and value == "" else None
    match field.type:
        case "number":
            return _number(value)
        case "boolean":
            return value if isinstance(value, bool) else value == "true"
        case "enum":
            return _enum_text(value)
        case "list<enum>":
            return [_enum_text(one) for one in value]
        case "datetime":
            return _instant(value)
        case _:
            return value


def _number(value: Any) -> int | float:
    number = float(value) if isinstance(value, str) else value
    if isinstance(value, str) and number.is_integer() and abs(number) <= _LARGEST_INTEGER:
        return int(number)
    return number


def _instant(value: str) -> str:
    match = _DATE.fullmatch(value)
    if match is None or match[4] is None:
        return value[:10]
    moment = datetime.fromisoformat(re.sub(r"\s(?=Z|[+-]\d{2}:?\d{2}$)", "", value))
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_nothing(wanted: object, stored: object) -> bool:
    """Whether nothing is stored. An empty list is nothing only where something was asked for in it."""
    return is_blank(stored) or (stored == [] and wanted != [])


def _violation(code: str, field: str, expected: str, got: Any) -> Violation:
    return Violation(code=code, field=field[:_SHOWN_CHARACTERS], expected=expected, got=_shortened(got))


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _SHOWN_CHARACTERS else value[:_SHOWN_CHARACTERS] + "…"
    if isinstance(value, list | dict):
        text = msgspec.json.encode(value).decode()
        return cast("Any", value) if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return value
