"""The arguments of a tool as one type: the model's schema comes from it, and what the model gives is read by it."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from inspan.agent.values import JsonObject

from .names import show_name
from .problems import ToolProblem

__all__ = ["arguments_of", "schema_of", "short"]

ArgumentsT = TypeVar("ArgumentsT", bound=Struct)


def schema_of(arguments: type[Struct]) -> JsonObject:
    """The JSON Schema of a struct, whole: no reference leads out of it. Its fields' `Meta` say what they mean."""
    (schema,), parts = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    own = cast("dict[str, Any]", parts.pop(str(schema["$ref"]).rpartition("/")[2]))
    own.pop("title", None)
    own.pop("description", None)
    return {**own, "$defs": parts} if parts else own


def arguments_of(arguments: type[ArgumentsT], given: JsonObject) -> ArgumentsT:
    """Reads what the model gave.

    Raises:
        ToolProblem: It does not fit.
    """
    try:
        return msgspec.convert(dict(given), arguments)
    except msgspec.ValidationError as error:
        raise ToolProblem(f"The arguments do not fit: {error}.") from error


def short(text: object, limit: int = 100) -> str:
    """A text on one line, cut in the end, for titles. Anything but a string gives an empty one."""
    if not isinstance(text, str):
        return ""
    line = show_name(" ".join(text[: limit * 4].split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
