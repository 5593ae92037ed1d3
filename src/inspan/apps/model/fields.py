"""A field of an entity, which is also a parameter of an operation: its type and its flags, in code and on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast, get_args

import msgspec

__all__ = ["FIELD_TYPES", "Field", "FieldType", "field_from_wire", "field_to_wire", "is_blank", "label_field"]

FieldType = Literal[
    "string",
    "number",
    "boolean",
    "datetime",
    "enum",
    "ref",
    "list<enum>",
    "list<ref>",
    "json",
    "binary",
]
"""The closed set of types."""

FIELD_TYPES: tuple[str, ...] = get_args(FieldType)

_DAY_FORMAT = "YYYY-MM-DD"


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field of an entity, or one parameter of an operation.

    Attributes:
        name: Its key in a record or in an operation's arguments.
        type: One of `FIELD_TYPES`.
        required: It is there and not blank in every record.
        read_only: The app writes it; nobody else may.
        write_only: It is taken and never shown, as a password is.
        max: The most characters of a string; `None` for no limit.
        values: What an `enum` or a `list<enum>` may hold.
        entity: The entity that a `ref` or a `list<ref>` points to.
        day_key: A string that is a calendar day, `YYYY-MM-DD`.
        description: One line for whoever fills it in.
    """

    name: str
    type: FieldType
    required: bool = False
    read_only: bool = False
    write_only: bool = False
    max: int | None = None
    values: tuple[str, ...] = ()
    entity: str = ""
    day_key: bool = False
    description: str = ""


def is_blank(value: object) -> bool:
    """Whether a value is nothing: `None` or the empty string. `False`, 0 and `[]` are something."""
    return value is None or (isinstance(value, str) and not value)


def label_field(fields: Iterable[Field]) -> str | None:
    """The field that a person knows a record by: title, else name, else label, else the first required string.

    A field that is never shown is nobody's label.
    """
    shown = [field for field in fields if not field.write_only]
    names = {field.name for field in shown}
    for name in ("title", "name", "label"):
        if name in names:
            return name
    for field in shown:
        if field.type == "string" and field.required and not field.read_only:
            return field.name
    return None


def field_to_wire(field: Field) -> dict[str, Any]:
    """How describe and `operations.json` show a field: its type, and the flags that are set."""
    shown: dict[str, Any] = {"type": field.type}
    if field.required:
        shown["required"] = True
    if field.read_only:
        shown["readOnly"] = True
    if field.max is not None:
        shown["max"] = field.max
    if field.values:
        shown["values"] = list(field.values)
    if field.entity:
        shown["entity"] = field.entity
    if field.day_key:
        shown["format"] = _DAY_FORMAT
    if field.description:
        shown["description"] = field.description
    return shown


def field_from_wire(name: str, value: object) -> tuple[Field | None, list[str]]:
    """The field that `value` describes, and what is wrong with the description, one message each.

    A type that is not in the closed set leaves no field.
    """
    if not isinstance(value, Mapping):
        return None, [f'"{name}" is not described by an object']
    given = cast("Mapping[str, object]", value)
    problems: list[str] = []
    kind = given.get("type")
    if kind not in FIELD_TYPES:
        return None, [f'"{name}" has the type {kind!r}, which is none of {", ".join(FIELD_TYPES)}']

    def flag(key: str) -> bool:
        found = given.get(key, False)
        if not isinstance(found, bool):
            problems.append(f'"{name}": {key} is not true or false')
            return False
        return found

    def text(key: str) -> str:
        found = given.get(key, "")
        if not isinstance(found, str):
            problems.append(f'"{name}": {key} is not text')
            return ""
        return found

    limit = given.get("max")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        problems.append(f'"{name}": max is not a whole number')
        limit = None
    values = given.get("values", [])
    if not isinstance(values, list):
        problems.append(f'"{name}": values is not a list')
        values = []
    field = Field(
        name=name,
        type=cast("FieldType", kind),
        required=flag("required"),
        read_only=flag("readOnly"),
        write_only=flag("writeOnly"),
        max=limit,
        values=tuple(str(one) for one in cast("list[object]", values)),
        entity=text("entity"),
        day_key=flag("dayKey") or text("format") == _DAY_FORMAT,
        description=text("description"),
    )
    return field, problems
