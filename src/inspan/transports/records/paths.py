"""Paths and templates: where a rule finds its values in a record of any shape."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inspan.transports.acp.loose import mapping

__all__ = ["Place", "as_integer", "as_text", "as_token"]

_PLACEHOLDER = re.compile(r"\{((?:\$\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)\}")
_MISSING = object()


class Place:
    """A record, perhaps an element of it, and what is known besides: where paths begin.

    Args:
        record: The record.
        element: The element that paths begin at, where the rule is about the elements of an array.
        known: Further values, under `call`.
    """

    def __init__(
        self,
        record: Mapping[str, Any],
        element: Mapping[str, Any] | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self.record = record
        self._here = record if element is None else element
        self._known = known

    def with_call(self, call: Mapping[str, Any]) -> Place:
        """The same place, where `call` leads into a tool call that was told before."""
        return Place(self.record, self._here, call)

    def find(self, path: str) -> Any:
        """The value at the path, `None` where there is none."""
        found = self._find(path)
        return None if found is _MISSING else found

    def text(self, path: str) -> str:
        """The text at the path, empty where there is none; a number is text too, anything else is not."""
        return as_text(self.find(path)) if path else ""

    def first_text(self, paths: Sequence[str]) -> str:
        """The first text that is there, empty where none is; an object or array counts as its JSON."""
        for path in paths:
            found = self.find(path)
            if text := as_text(found) or _as_json(found):
                return text
        return ""

    def integer(self, path: str) -> int | None:
        """The whole number at the path."""
        return as_integer(self.find(path)) if path else None

    def elements(self, path: str) -> list[dict[str, Any]]:
        """The objects of the array at the path; anything else in it is passed over."""
        found = self.find(path)
        if not isinstance(found, list):
            return []
        items: list[Any] = found  # pyright: ignore[reportUnknownVariableType]
        return [item for one in items if (item := mapping(one)) is not None]

    def holds(self, conditions: Mapping[str, object]) -> bool:
        """Whether every condition is met."""
        return all(self._is_met(path, wanted) for path, wanted in conditions.items())

    def holds_any(self, conditions: Mapping[str, object]) -> bool:
        """Whether at least one condition is met."""
        return any(self._is_met(path, wanted) for path, wanted in conditions.items())

    def fill(self, template: str) -> str:
        """The template with what its paths lead to; nothing stands where a path leads nowhere."""
        return _PLACEHOLDER.sub(lambda found: self.first_text((found[1],)), template)

    def _is_met(self, path: str, wanted: object) -> bool:
        found = self._find(path)
        choices: tuple[object, ...] = wanted if isinstance(wanted, tuple) else (wanted,)  # pyright: ignore[reportUnknownVariableType]
        return any(type(found) is type(one) and found == one for one in choices)

    def _find(self, path: str) -> Any:
        names = path.split(".")
        here: Any = self._here
        if names[0] == "$":
            here, names = self.record, names[1:]
        elif names[0] == "call" and self._known is not None:
            here, names = self._known, names[1:]
        for name in names:
            if isinstance(here, Mapping):
                here = here.get(name, _MISSING)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            elif isinstance(here, list) and name.isdecimal() and len(name) < 7:
                items: list[Any] = here  # pyright: ignore[reportUnknownVariableType]
                here = items[int(name)] if int(name) < len(items) else _MISSING
            else:
                return _MISSING
        return here  # pyright: ignore[reportUnknownVariableType]


def as_text(value: object) -> str:
    """A string as it is, a number as it is written; anything else is no text."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def as_token(value: object) -> str:
    """A literal as the key of a table: `true` and `false` are words there."""
    return ("true" if value else "false") if isinstance(value, bool) else as_text(value)


def as_integer(value: object) -> int | None:
    """A whole number; text that is one counts, a boolean does not."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?\d{1,15}", value, re.ASCII) else None
    return value if isinstance(value, int) else None


def _as_json(value: object) -> str:
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return ""
