"""Whether the arguments of a call fit the tool's schema, and if not, what the model can do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from inspan.agent.tools.contract import Tool
from inspan.agent.values import JsonObject

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

__all__ = ["ArgumentChecker", "unknown_tool"]

_SHOWN = 5
_LONGEST = 300


class ArgumentChecker:
    """Keeps a validator for each tool that was called. Schemas are never fetched from elsewhere."""

    def __init__(self) -> None:
        self._validators: dict[str, tuple[Tool, Draft202012Validator]] = {}

    def problem(self, tool: Tool, arguments: JsonObject) -> str:
        """What is wrong, in a few lines for the model; empty if nothing is."""
        try:
            errors = sorted(self._validator(tool).iter_errors(arguments), key=lambda error: error.path)  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType]
        except Exception as error:  # noqa: BLE001 - a schema of a plugin: a reference that leads nowhere, a bad pattern
            return f"The arguments cannot be checked: the schema of {tool.name} fails with {type(error).__name__}."
        if not errors:
            return ""
        lines = [f"- {_where(error.path)}: {_clip(error.message)}" for error in errors[:_SHOWN]]
        if len(errors) > _SHOWN:
            lines.append(f"- and {len(errors) - _SHOWN} more")
        return "\n".join((f"The arguments do not fit the schema of {tool.name}:", *lines))

    def _validator(self, tool: Tool) -> Draft202012Validator:
        known = self._validators.get(tool.name)
        if known is not None and known[0] is tool:
            return known[1]
        from jsonschema import Draft202012Validator
        from referencing import Registry

        validator = Draft202012Validator(tool.input_schema, registry=Registry())  # pyright: ignore[reportArgumentType]
        self._validators[tool.name] = (tool, validator)
        return validator


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """What the model is told that called a tool which does not exist."""
    names = sorted(known)
    near = difflib.get_close_matches(name[:80], names, n=3)
    if near:
        return f"There is no tool {name[:80]!r}. Did you mean {' or '.join(near)}?"
    return f"There is no tool {name[:80]!r}. There are: {', '.join(names[:50]) or 'none'}."


def _where(path: Iterable[Any]) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    return place or "arguments"


def _clip(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
