"""Faults of a decoded table: where a TOML table departs from the shape that was expected, exactly.

The decoder says that something is wrong; this says where, with dotted keys, what was expected there, and what
was probably meant.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

import msgspec
import msgspec.inspect as shapes

__all__ = ["Fault", "find_faults", "tell_fault"]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One departure.

    Attributes:
        key_path: Dotted keys; `[2]` is the third entry of a list.
        problem: What is wrong, to be read after the key path.
        expected: What should stand there.
    """

    key_path: str
    problem: str
    expected: str


def find_faults(table: object, shape: Any) -> list[Fault]:
    """All departures of `table` from `shape`, in the order of the shape's fields.

    What is wrong with the whole of it alone, with no key at fault, is left to the caller.

    Args:
        table: The tables of a file.
        shape: The type that they should have.
    """
    return list(_walk(table, _read_shape(shape), ""))


def tell_fault(text: bytes, shape: Any, error: Exception) -> str:
    """What is wrong with a JSON file, and where.

    Args:
        text: What the file holds.
        shape: The type that it should have.
        error: What its decoder said.
    """
    try:
        found = find_faults(msgspec.json.decode(text), shape)
    except msgspec.DecodeError:
        return str(error)
    return f"{found[0].key_path} {found[0].problem}; expected {found[0].expected}" if found else str(error)


_read_shape = functools.cache(shapes.type_info)


def _walk(value: object, shape: shapes.Type, path: str) -> Iterator[Fault]:
    match shape:
        case shapes.StructType():
            if not isinstance(value, Mapping):
                yield _wrong_type(value, path, "a table")
                return
            yield from _walk_struct(cast("Mapping[str, object]", value), shape, path)
        case shapes.UnionType():
            yield from _walk_union(value, shape, path)
        case shapes.DictType():
            if not isinstance(value, Mapping):
                yield _wrong_type(value, path, "a table")
                return
            for key, item in cast("Mapping[str, object]", value).items():
                where = _join(path, key)
                if (wanted := _refused_by(key, shape.key_type)) is not None:
                    yield Fault(key_path=where, problem="is no valid name", expected=wanted)
                else:
                    yield from _walk(item, shape.value_type, where)
        case shapes.VarTupleType():
            if isinstance(value, str) or not isinstance(value, Sequence):
                yield _wrong_type(value, path, "a list")
                return
            items = cast("Sequence[object]", value)
            if (problem := _miscounts(len(items), shape)) is not None:
                yield Fault(key_path=path, problem=problem, expected=_describe(shape))
            for index, item in enumerate(items):
                yield from _walk(item, shape.item_type, f"{path}[{index}]")
        case _:
            if (problem := _refuses(value, shape)) is not None:
                yield Fault(key_path=path, problem=problem, expected=_describe(shape))


def _walk_union(value: object, shape: shapes.UnionType, path: str) -> Iterator[Fault]:
    """A value that may be of several types, by the one of them that it is meant to be."""
    kind = _kind_of(value)
    meant = [one for one in shape.types if kind is not None and isinstance(one, kind)]
    if len(meant) == 1:
        yield from _walk(value, meant[0], path)
    elif (problem := _refuses(value, shape)) is not None:
        yield Fault(key_path=path, problem=problem, expected=_describe(shape))


def _kind_of(value: object) -> tuple[type[shapes.Type], ...] | None:
    """Of which types a table or a list may be; `None` for a plain value."""
    if isinstance(value, Mapping):
        return (shapes.StructType, shapes.DictType)
    return (shapes.VarTupleType,) if isinstance(value, list | tuple) else None


def _walk_struct(table: Mapping[str, object], shape: shapes.StructType, path: str) -> Iterator[Fault]:
    parts = list(_walk_fields(table, shape, path))
    yield from parts
    if not parts and path:
        try:
            msgspec.convert(table, shape.cls, strict=True)
        except msgspec.ValidationError as error:
            # Each part fits, so it is the whole that does not.
            problem = str(error).partition(" - at ")[0]
            yield Fault(key_path=path, problem=f"cannot be used: {problem}", expected="keys that go together")


def _walk_fields(table: Mapping[str, object], shape: shapes.StructType, path: str) -> Iterator[Fault]:
    fields = {field.encode_name: field for field in shape.fields}
    for key in table:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            meant = f"{near[0]!r}, or one of" if near else "one of"
            yield Fault(
                key_path=_join(path, key),
                problem="is an unknown key",
                expected=f"{meant} {', '.join(sorted(fields))}",
            )
    for name, field in fields.items():
        if name in table:
            yield from _walk(table[name], field.type, _join(path, name))
        elif field.required:
            yield Fault(key_path=_join(path, name), problem="is missing", expected=_describe(field.type))


def _wrong_type(value: object, path: str, expected: str) -> Fault:
    return Fault(key_path=path, problem=f"is {_name_kind(value)}", expected=expected)


def _refuses(value: object, shape: shapes.Type) -> str | None:
    """What is wrong with a plain value, or `None` where it fits."""
    options = shape.types if isinstance(shape, shapes.UnionType) else (shape,)
    if any(_fits(value, option) for option in options):
        return None
    if isinstance(value, str | int | float | bool):
        return f"is {value!r}"
    return f"is {_name_kind(value)}"


def _refused_by(key: str, shape: shapes.Type) -> str | None:
    """What a name should be, where this one is not so."""
    if _fits(key, shape):
        return None
    pattern = shape.pattern if isinstance(shape, shapes.StrType) else None
    return f"a name that matches {pattern}" if pattern else _describe(shape)


def _miscounts(count: int, shape: shapes.VarTupleType) -> str | None:
    if count < (shape.min_length or 0) or (shape.max_length is not None and count > shape.max_length):
        return f"has {count} {'entry' if count == 1 else 'entries'}"
    return None


def _fits(value: object, shape: shapes.Type) -> bool:
    match shape:
        case shapes.NoneType():
            return value is None
        case shapes.LiteralType():
            return any(type(value) is type(one) and value == one for one in shape.values)
        case shapes.EnumType():
            return isinstance(value, str) and value in {str(one.value) for one in shape.cls}
        case shapes.BoolType():
            return isinstance(value, bool)
        case shapes.StrType():
            return _converts(value, str, shape)
        case shapes.IntType():
            return not isinstance(value, bool) and _converts(value, int, shape)
        case shapes.FloatType():
            return not isinstance(value, bool) and _converts(value, float, shape)
        case shapes.StructType() | shapes.DictType():
            return isinstance(value, Mapping)
        case shapes.VarTupleType():
            return isinstance(value, list | tuple)
        case _:
            return True


def _converts(value: object, kind: type, shape: shapes.StrType | shapes.IntType | shapes.FloatType) -> bool:
    limits: dict[str, Any] = {
        name: limit
        for name in ("gt", "ge", "lt", "le", "min_length", "max_length", "pattern")
        if (limit := getattr(shape, name, None)) is not None
    }
    try:
        msgspec.convert(value, Annotated[kind, msgspec.Meta(**limits)] if limits else kind, strict=True)
    except msgspec.ValidationError:
        return False
    return True


def _describe(shape: shapes.Type) -> str:
    match shape:
        case shapes.LiteralType():
            return "one of " + ", ".join(_show(one) for one in shape.values)
        case shapes.EnumType():
            return "one of " + ", ".join(_show(one.value) for one in shape.cls)
        case shapes.StrType():
            if shape.pattern:
                return f"text that matches {shape.pattern}"
            return "text that is not empty" if shape.min_length else "text"
        case shapes.BoolType():
            return "true or false"
        case shapes.IntType():
            return f"a whole number{_describe_bounds(shape)}"
        case shapes.FloatType():
            return f"a number{_describe_bounds(shape)}"
        case shapes.StructType() | shapes.DictType():
            return "a table"
        case shapes.VarTupleType():
            return f"a list{_describe_count(shape)}"
        case shapes.UnionType():
            return " or ".join(_describe(one) for one in shape.types if not isinstance(one, shapes.NoneType))
        case _:
            return "another value"


def _describe_bounds(shape: shapes.IntType | shapes.FloatType) -> str:
    if shape.gt is not None:
        return f" above {shape.gt:g}"
    if shape.ge is not None:
        return f" of {shape.ge:g} or more"
    return ""


def _describe_count(shape: shapes.VarTupleType) -> str:
    least, most = shape.min_length or 0, shape.max_length
    if most is not None:
        return f" of {least} to {most} entries" if least else f" of at most {most} entries"
    if least:
        return f" of at least {least} {'entry' if least == 1 else 'entries'}"
    return ""


def _show(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _name_kind(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case Mapping():
            return "a table"
        case Sequence():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _join(path: str, key: str) -> str:
    plain = key if key and all(c.isalnum() or c in "_-" for c in key) else repr(key)
    return f"{path}.{plain}" if path else plain
