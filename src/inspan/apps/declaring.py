"""How an author writes down a field: one short word a type, with the flags that it may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from .model.fields import Field, FieldType
from .server.clock import iso
from .server.records import Filling

__all__ = [
    "FieldDecl",
    "binary",
    "choice",
    "choices",
    "day",
    "fields_of",
    "fillings_of",
    "flag",
    "json",
    "moment",
    "number",
    "ref",
    "refs",
    "text",
]


class FieldDecl(msgspec.Struct, frozen=True, kw_only=True):
    """A field that has no name yet, and what the app itself puts into it.

    Attributes:
        type: Its type in the protocol.
        flags: Further values of `Field`, by name.
        filling: What the app puts into it, and when.
    """

    type: FieldType
    flags: Mapping[str, Any] = {}
    filling: Filling | None = None


def text(
    *,
    required: bool = False,
    max: int | None = None,
    read_only: bool = False,
    write_only: bool = False,
    default: str | None = None,
    description: str = "",
) -> FieldDecl:
    """Text, of at most `max` characters."""
    flags = {"required": required, "max": max, "read_only": read_only, "write_only": write_only}
    return _declared("string", flags, default, description)


def day(*, required: bool = False, default: str | None = None, description: str = "") -> FieldDecl:
    """A calendar day, `YYYY-MM-DD`."""
    return _declared("string", {"required": required, "max": 10, "day_key": True}, default, description)


def number(
    *, required: bool = False, read_only: bool = False, default: float | None = None, description: str = ""
) -> FieldDecl:
    """A number, whole or not."""
    return _declared("number", {"required": required, "read_only": read_only}, default, description)


def flag(
    *, required: bool = False, read_only: bool = False, default: bool | None = None, description: str = ""
) -> FieldDecl:
    """True or false."""
    return _declared("boolean", {"required": required, "read_only": read_only}, default, description)


def moment(
    *,
    required: bool = False,
    read_only: bool = False,
    set_on: Literal["create", "write"] | None = None,
    description: str = "",
) -> FieldDecl:
    """A date, or a date and time. With `set_on` the app writes it, and nobody else may."""
    filling = None if set_on is None else Filling(set_on, lambda: iso(datetime.now(UTC)))
    flags = {"required": required, "read_only": read_only or set_on is not None, "description": description}
    return FieldDecl(type="datetime", flags=flags, filling=filling)


def choice(
    *values: str,
    required: bool = False,
    read_only: bool = False,
    default: str | None = None,
    description: str = "",
) -> FieldDecl:
    """One of some values."""
    flags = {"required": required, "read_only": read_only, "values": values}
    return _declared("enum", flags, default, description)


def choices(
    *values: str, required: bool = False, read_only: bool = False, description: str = ""
) -> FieldDecl:
    """Any of some values."""
    flags = {"required": required, "read_only": read_only, "values": values}
    return _declared("list<enum>", flags, None, description)


def ref(entity: str, *, required: bool = False, read_only: bool = False, description: str = "") -> FieldDecl:
    """The id of a record of another entity, or of the same."""
    return _declared(
        "ref", {"required": required, "read_only": read_only, "entity": entity}, None, description
    )


def refs(entity: str, *, required: bool = False, read_only: bool = False, description: str = "") -> FieldDecl:
    """Ids of records of another entity."""
    return _declared(
        "list<ref>", {"required": required, "read_only": read_only, "entity": entity}, None, description
    )


def json(*, required: bool = False, read_only: bool = False, description: str = "") -> FieldDecl:
    """Any JSON value."""
    return _declared("json", {"required": required, "read_only": read_only}, None, description)


def binary(*, required: bool = False, read_only: bool = False, description: str = "") -> FieldDecl:
    """Bytes, as base64 text."""
    return _declared("binary", {"required": required, "read_only": read_only}, None, description)


def fields_of(declared: Mapping[str, FieldDecl]) -> tuple[Field, ...]:
    """The fields that were declared under these names."""
    return tuple(Field(name=name, type=one.type, **one.flags) for name, one in declared.items())


def fillings_of(declared: Mapping[str, FieldDecl]) -> dict[str, Filling]:
    """What the app itself puts into them, by name."""
    return {name: one.filling for name, one in declared.items() if one.filling is not None}


def _declared(kind: FieldType, flags: Mapping[str, Any], default: Any, description: str) -> FieldDecl:
    give: Callable[[], Any] = lambda: default  # noqa: E731 - a value, given each time
    return FieldDecl(
        type=kind,
        flags={**flags, "description": description},
        filling=None if default is None else Filling("absent", give),
    )
