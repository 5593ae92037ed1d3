"""Questions: a form that a harness wants filled in by a person, and the answer to it."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, Literal, cast

import msgspec

from .errors import UsageError

__all__ = ["FIELDS_CAP", "QuestionAction", "QuestionChoice", "QuestionField", "fill_in"]

FIELDS_CAP = 64
"""How many fields a form may have; a longer one is declined."""


class QuestionAction(StrEnum):
    """What was answered; `cancel` says that nobody decided."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class QuestionChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that may be chosen, with the harness's own label."""

    value: str
    title: str = ""


class QuestionField(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One field of a form.

    Attributes:
        name: Its name in the answer.
        kind: `text`, `number`, `integer`, `boolean`, `choice` (one of `choices`), `choices` (some of them), or
            `other`, which can only be left out.
        title: The harness's own label.
        description: More of it.
        is_required: Whether an answer must hold it.
        choices: What may be chosen.
        default: The value that the harness suggests.
    """

    name: str
    kind: Literal["text", "number", "integer", "boolean", "choice", "choices", "other"] = "text"
    title: str = ""
    description: str = ""
    is_required: bool = False
    choices: tuple[QuestionChoice, ...] = ()
    default: Any = None


def fill_in(fields: tuple[QuestionField, ...], given: dict[str, Any]) -> dict[str, Any]:
    """The content of an answer: each value in the type of its field.

    A text stands for any type: a number as it is written, `true` or `false`, choices with commas between them.
    A required field that is not given takes its default.

    Raises:
        UsageError: `answer_invalid`: a field that the form lacks, a value that does not fit, or a required
            field without a value.
    """
    known = {field.name: field for field in fields}
    if strangers := [name for name in given if name not in known]:
        raise _invalid(f"The form has no field {strangers[0]!r}.", f"It has: {', '.join(known) or 'none'}.")
    content = {name: _value(known[name], value) for name, value in given.items()}
    for field in fields:
        if field.name not in content and field.is_required:
            if field.default is None:
                raise _invalid(f"The field {field.name!r} must be filled in.", _expected(field))
            content[field.name] = field.default
    return content


def _value(field: QuestionField, given: Any) -> Any:
    match field.kind:
        case "text" if isinstance(given, str):
            return given
        case "boolean":
            wanted = given.lower() if isinstance(given, str) else given
            if isinstance(wanted, bool):
                return wanted
            if wanted in ("true", "false"):
                return wanted == "true"
        case "integer" | "number":
            number = _number(given)
            if number is not None and (field.kind == "number" or number == int(number)):
                return int(number) if field.kind == "integer" else number
        case "choice" if _is_offered(field, given):
            return given
        case "choices":
            listed = given.split(",") if isinstance(given, str) else given
            if isinstance(listed, list):
                chosen = [one.strip() if isinstance(one, str) else one for one in cast("list[Any]", listed)]
                if all(_is_offered(field, one) for one in chosen):
                    return chosen
        case _:
            pass
    raise _invalid(f"{given!r} does not fit the field {field.name!r}.", _expected(field))


def _number(given: Any) -> float | None:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _is_offered(field: QuestionField, given: Any) -> bool:
    return isinstance(given, str) and any(choice.value == given for choice in field.choices)


def _expected(field: QuestionField) -> str:
    match field.kind:
        case "choice" | "choices":
            offered = ", ".join(choice.value for choice in field.choices)
            return f"It takes {'one' if field.kind == 'choice' else 'any'} of: {offered}."
        case "boolean":
            return "It takes true or false."
        case "other":
            return "Inspan cannot fill in a field of this kind; leave it out, or decline."
        case _:
            return f"It takes a value of the kind {field.kind}."


def _invalid(message: str, hint: str) -> UsageError:
    return UsageError(message, code="answer_invalid", hint=hint)
