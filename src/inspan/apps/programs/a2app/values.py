"""What was written for a field, as the value that the app takes: by the field's declared type, never by a guess."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, cast

from inspan.apps.client import JsonObject
from inspan.apps.faults import Misused

from .dates import app_now, read_date
from .labels import LabelBook
from .session import Session

__all__ = ["Fields", "read_json_object", "read_json_value", "resolve_values", "value_of_text"]

Fields = Mapping[str, JsonObject]
"""Name to definition, as describe shows an entity's fields and an operation's parameters."""

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d+)?([eE][+-]?\d{1,3})?")


def read_json_value(text: str, flag: str) -> object:
    """What a flag holds as JSON.

    Raises:
        Misused: It is no JSON.
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Misused(f"--{flag} takes JSON.", hint=f'Such as --{flag} \'{{"title": "Milk"}}\'.') from None


def read_json_object(text: str, flag: str) -> JsonObject:
    """The object that a flag holds as JSON.

    Raises:
        Misused: It is no JSON object.
    """
    value = read_json_value(text, flag)
    if not isinstance(value, dict):
        raise Misused(f"--{flag} takes a JSON object.", hint=f'Such as --{flag} \'{{"title": "Milk"}}\'.')
    return cast(JsonObject, value)


def value_of_text(text: str, field: JsonObject | None) -> object:
    """A flag's text as a JSON value.

    By the declared type: a string stays as it was written, so that `007` and `true` can be titles. Where the type
    is not known, what is written as JSON writes a number, `true`, `false` or `null` is that.
    """
    kind = _text(field, "type") if field is not None else ""
    match kind:
        case "string" | "enum" | "ref" | "datetime" | "binary":
            return text
        case "list<enum>" | "list<ref>":
            return _list(text)
        case "json":
            return _json(text)
        case "boolean":
            return {"true": True, "false": False, "null": None}.get(text, text)
        case _:
            scalar = {"true": True, "false": False} if kind != "number" else {}
            if text == "null" or text in scalar:
                return scalar.get(text)
            return _number(text)


def resolve_values(session: Session, given: JsonObject, fields: Fields) -> JsonObject:
    """The values with days in words and labels of records replaced by what the app stores.

    What is not understood stays as it is: the app's own guard says what is wrong with it.

    Raises:
        Rejected: A label fits several records, or none.
        AppUnreachable: The app does not answer any more.
    """
    now = app_now(session.identity.get("serverNow"), session.identity.get("serverTzOffsetMinutes"))
    book = LabelBook(session)
    resolved: JsonObject = {}
    for name, value in given.items():
        field = fields.get(name, {})
        match _text(field, "type"):
            case "datetime" | "string" if isinstance(value, str) and _is_date(field):
                is_day = field.get("type") == "string" or _is_day_key(field)
                resolved[name] = read_date(value, now, day_only=is_day) or value
            case "ref" if isinstance(value, str) and value:
                resolved[name] = book.id_of(_text(field, "entity"), value, name)
            case "list<ref>" if isinstance(value, list):
                resolved[name] = [
                    book.id_of(_text(field, "entity"), one, name) if isinstance(one, str) and one else one
                    for one in cast("list[object]", value)
                ]
            case _:
                resolved[name] = value
    return resolved


def _is_date(field: Mapping[str, Any]) -> bool:
    return field.get("type") == "datetime" or _is_day_key(field)


def _is_day_key(field: Mapping[str, Any]) -> bool:
    return field.get("format") == "YYYY-MM-DD" or field.get("dayKey") is True


def _list(text: str) -> object:
    if text.lstrip().startswith("["):
        return _json(text)
    return [part for one in text.split(",") if (part := one.strip())]


def _json(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _number(text: str) -> object:
    if not _NUMBER.fullmatch(text):
        return text
    value = float(text) if any(letter in text for letter in ".eE") else int(text)
    return value if math.isfinite(value) else text


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _text(field: Mapping[str, Any], key: str) -> str:
    value: object = field.get(key)
    return value if isinstance(value, str) else ""
