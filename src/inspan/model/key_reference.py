"""The reference of all manifest keys, as a page made from the shapes and their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import msgspec
import msgspec.inspect as shapes

from .manifest import Manifest

__all__ = ["render_key_reference"]

_HEAD = """\
# Keys of a manifest

Made from the code by `make schema`; do not edit. [The manifest](../manifest.md) explains how they work together.
`NAME` stands for a name of your choice, `[[…]]` for a list of tables.
"""


def render_key_reference() -> str:
    """The page, with a section for each table in the order in which they stand in a manifest."""
    seen: dict[type, str] = {}
    sections = [_HEAD, *_render(shapes.type_info(Manifest), "", seen)]
    return "\n".join(sections)


def _render(shape: shapes.Type, at: str, seen: dict[type, str]) -> Iterator[str]:
    if not isinstance(shape, shapes.StructType):
        return
    heading = f"`{at}`" if at else "The top"
    if shape.cls in seen:
        yield f"## {heading}\n\nAs [{seen[shape.cls]}](#{_anchor(seen[shape.cls])}).\n"
        return
    seen[shape.cls] = heading.strip("`")
    summary, _ = _read_docstring(shape.cls)
    attributes = {
        name: text for one in reversed(shape.cls.__mro__) for name, text in _read_docstring(one)[1].items()
    }
    yield f"## {heading}\n\n{summary}\n"
    yield "| key | value | default | meaning |\n|---|---|---|---|"
    for field in shape.fields:
        meaning = attributes.get(field.name, "").replace("|", "\\|")
        yield f"| `{field.encode_name}` | {_value(field.type)} | {_default(field)} | {meaning} |"
    yield ""
    for field in shape.fields:
        key = f"{at.strip('[]')}.{field.encode_name}".lstrip(".")
        for inner, path in _tables_in(field.type, key):
            yield from _render(inner, path, seen)


def _tables_in(shape: shapes.Type, key: str) -> Iterator[tuple[shapes.Type, str]]:
    match shape:
        case shapes.StructType():
            yield shape, f"[{key}]"
        case shapes.DictType(value_type=shapes.StructType() as inner):
            yield inner, f"[{key}.NAME]"
        case shapes.VarTupleType(item_type=shapes.StructType() as inner):
            yield inner, f"[[{key}]]"
        case shapes.UnionType():
            for one in shape.types:
                yield from _tables_in(one, key)
        case _:
            return


def _value(shape: shapes.Type) -> str:
    match shape:
        case shapes.LiteralType():
            return ", ".join(f"`{_toml(one)}`" for one in sorted(shape.values, key=str))
        case shapes.EnumType():
            return ", ".join(f"`{_toml(one.value)}`" for one in shape.cls)
        case shapes.StrType():
            return "text"
        case shapes.BoolType():
            return "true or false"
        case shapes.IntType():
            return "whole number"
        case shapes.FloatType():
            return "number"
        case shapes.StructType():
            return "table"
        case shapes.DictType():
            return "table of tables" if isinstance(shape.value_type, shapes.StructType) else "table of text"
        case shapes.VarTupleType():
            return (
                "list of tables"
                if isinstance(shape.item_type, shapes.StructType)
                else f"list of {_value(shape.item_type)}"
            )
        case shapes.UnionType():
            return " or ".join(_value(one) for one in shape.types if not isinstance(one, shapes.NoneType))
        case _:
            return "any"


def _default(field: shapes.Field) -> str:
    if field.required:
        return "**required**"
    default: Any = field.default
    if (
        default is msgspec.NODEFAULT
        or default is None
        or default in ("", ())
        or isinstance(default, msgspec.Struct)
    ):
        return ""
    return f"`{_toml(default)}`"


def _toml(value: Any) -> str:
    match value:
        case Enum():
            return _toml(value.value)
        case bool():
            return str(value).lower()
        case str() if not value.isprintable():
            return f'"{value.encode("unicode_escape").decode()}"'
        case str():
            return f"'{value}'" if "\\" in value else f'"{value}"'
        case tuple():
            return f"[{', '.join(_toml(one) for one in value)}]"  # pyright: ignore[reportUnknownVariableType]
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _read_docstring(shape: type) -> tuple[str, dict[str, str]]:
    """The text before `Attributes:`, and what is said of each attribute."""
    text = inspect.getdoc(shape) or ""
    summary, _, listed = text.partition("\nAttributes:\n")
    attributes: dict[str, str] = {}
    name = ""
    for line in listed.splitlines():
        if started := re.match(r"    (\w+): (.*)", line):
            name = started[1]
            attributes[name] = started[2].strip()
        elif name and line.strip():
            attributes[name] += f" {line.strip()}"
    return summary.strip(), attributes


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
