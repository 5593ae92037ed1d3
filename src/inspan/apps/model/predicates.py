"""The closed language of `appliesWhen`: whether an operation applies to a record, and the reason when it does not.

A predicate is `{field, eq|ne|in|notIn|isBlank}` with exactly one operator, `{all: […]}`, `{any: […]}` or `{not: p}`.
Values are compared as the field's declared type. A blank value equals nothing. What has another form is false.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from .fields import Field, is_blank

__all__ = ["Predicate", "applies", "blocked_reason", "predicate_fields", "predicate_problems"]

Predicate = Mapping[str, Any]
"""A predicate as it stands in `operations.json`."""

_OPERATORS = ("eq", "ne", "in", "notIn", "isBlank")
_DEEPEST = 32
_SHOWN_CHARACTERS = 60


def applies(predicate: object, record: Mapping[str, Any], fields: Mapping[str, Field]) -> bool:
    """Whether `predicate` holds for `record`. A form that the language does not have is false."""
    return blocked_reason(predicate, record, fields) is None


def blocked_reason(
    predicate: object, record: Mapping[str, Any], fields: Mapping[str, Field], *, depth: int = 0
) -> str | None:
    """Why `predicate` does not hold: the first branch that fails, such as `status is "open", not "sent"`.

    `None` where it holds.
    """
    unknown = "its condition cannot be evaluated"
    if not isinstance(predicate, Mapping) or depth > _DEEPEST:
        return unknown
    given = cast("Mapping[str, Any]", predicate)
    match sorted(given):
        case ["all"]:
            for branch in _branches(given["all"]):
                if (reason := blocked_reason(branch, record, fields, depth=depth + 1)) is not None:
                    return reason
            return None if _branches(given["all"]) else unknown
        case ["any"]:
            first: str | None = None
            for branch in _branches(given["any"]):
                reason = blocked_reason(branch, record, fields, depth=depth + 1)
                if reason is None:
                    return None
                first = first or reason
            return first or unknown
        case ["not"]:
            if not _is_known(given["not"], fields, depth=depth + 1):
                return unknown
            if blocked_reason(given["not"], record, fields, depth=depth + 1) is not None:
                return None
            return _negated(given["not"], record)
        case _:
            return _leaf_reason(given, record, fields)


def predicate_fields(predicate: object, *, depth: int = 0) -> Iterator[str]:
    """The fields that a predicate reads, in its order, with repetitions."""
    if not isinstance(predicate, Mapping) or depth > _DEEPEST:
        return
    given = cast("Mapping[str, Any]", predicate)
    if isinstance(given.get("field"), str):
        yield given["field"]
    for key in ("all", "any"):
        for branch in _branches(given.get(key)):
            yield from predicate_fields(branch, depth=depth + 1)
    if "not" in given:
        yield from predicate_fields(given["not"], depth=depth + 1)


def predicate_problems(predicate: object, fields: Mapping[str, Field], *, depth: int = 0) -> list[str]:
    """What is wrong with a predicate over an entity with `fields`, one message each."""
    if not isinstance(predicate, Mapping):
        return ["is not an object"]
    if depth > _DEEPEST:
        return [f"is nested deeper than {_DEEPEST}"]
    given = cast("Mapping[str, Any]", predicate)
    keys = sorted(given)
    if keys in (["all"], ["any"]):
        branches = _branches(given[keys[0]])
        if not branches:
            return [f'"{keys[0]}" is not a list with something in it']
        return [
            problem for branch in branches for problem in predicate_problems(branch, fields, depth=depth + 1)
        ]
    if keys == ["not"]:
        return predicate_problems(given["not"], fields, depth=depth + 1)
    name = given.get("field")
    if not isinstance(name, str):
        return [
            f"is neither a field with an operator nor all, any or not alone: {', '.join(keys) or 'empty'}"
        ]
    problems = [] if name in fields else [f'reads "{name}", which is no field of the entity']
    operators = [key for key in keys if key != "field"]
    if len(operators) != 1 or operators[0] not in _OPERATORS:
        problems.append(f'on "{name}" does not have exactly one of {", ".join(_OPERATORS)}')
    elif operators[0] in ("in", "notIn") and not isinstance(given[operators[0]], list):
        problems.append(f'on "{name}": {operators[0]} is not a list')
    elif operators[0] == "isBlank" and not isinstance(given["isBlank"], bool):
        problems.append(f'on "{name}": isBlank is not true or false')
    return problems


def _branches(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()


def _is_known(predicate: object, fields: Mapping[str, Field], *, depth: int) -> bool:
    return not predicate_problems(predicate, fields, depth=depth)


def _leaf_reason(
    leaf: Mapping[str, Any], record: Mapping[str, Any], fields: Mapping[str, Field]
) -> str | None:
    name = leaf.get("field")
    if predicate_problems(leaf, fields) or not isinstance(name, str):
        return "its condition cannot be evaluated"
    field, value = fields[name], record.get(name)
    said = f"{name} is {_shown(value)}"
    match next(key for key in leaf if key != "field"):
        case "eq":
            return None if _equal(field, value, leaf["eq"]) else f"{said}, not {_shown(leaf['eq'])}"
        case "ne":
            return said if _equal(field, value, leaf["ne"]) else None
        case "in":
            wanted = _branches(leaf["in"])
            if any(_equal(field, value, one) for one in wanted):
                return None
            return f"{said}, not one of {', '.join(_shown(one) for one in wanted)}"
        case "notIn":
            return said if any(_equal(field, value, one) for one in _branches(leaf["notIn"])) else None
        case _:
            if leaf["isBlank"]:
                return None if is_blank(value) else said
            return f"{name} is blank" if is_blank(value) else None


def _equal(field: Field, left: object, right: object) -> bool:
    if is_blank(left) or is_blank(right):
        return False
    a, b = _as_declared(field, left), _as_declared(field, right)
    return a is not None and b is not None and a == b


def _as_declared(field: Field, value: object) -> object | None:
    """The value as its field's type, in a form that equals only what is the same; `None` where it cannot be one."""
    match field.type:
        case "boolean":
            return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value))
        case "number":
            if isinstance(value, bool):
                return None
            try:
                number = float(str(value))
            except ValueError:
                return None
            return number if math.isfinite(number) else None
        case "list<enum>" | "list<ref>" | "json":
            return msgspec.json.encode(value, order="sorted")
        case _:
            return _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return msgspec.json.encode(value).decode()


def _shown(value: object) -> str:
    text = "blank" if is_blank(value) else msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _negated(predicate: object, record: Mapping[str, Any]) -> str:
    names = list(dict.fromkeys(predicate_fields(predicate)))
    return " and ".join(f"{name} is {_shown(record.get(name))}" for name in names[:3])
