"""Reading the daemon's JSON: small typed accessors over plain values.

The CLI does not load the model, whose library would double its start-up time. A field that is missing or of
another type reads as the empty value of its kind: a newer or older daemon never makes a list fail to print.
"""

from __future__ import annotations

from typing import cast

__all__ = ["Json", "flag", "items", "number", "record", "records", "text", "texts"]

Json = dict[str, object]
"""A JSON object as it came."""


def record(value: object, *path: str) -> Json:
    """The object at `path` below `value`; an empty one where there is none."""
    found = _at(value, path)
    return cast("Json", found) if isinstance(found, dict) else {}


def items(value: object, *path: str) -> list[object]:
    """The array at `path`; empty where there is none."""
    found = _at(value, path)
    return cast("list[object]", found) if isinstance(found, list) else []


def records(value: object, *path: str) -> list[Json]:
    """The objects of the array at `path`."""
    return [cast("Json", one) for one in items(value, *path) if isinstance(one, dict)]


def texts(value: object, *path: str) -> list[str]:
    """The strings of the array at `path`."""
    return [one for one in items(value, *path) if isinstance(one, str)]


def text(value: object, *path: str, default: str = "") -> str:
    """The string at `path`."""
    found = _at(value, path)
    return found if isinstance(found, str) else default


def number(value: object, *path: str) -> float | None:
    """The number at `path`."""
    found = _at(value, path)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def flag(value: object, *path: str) -> bool:
    """The boolean at `path`; `False` where there is none."""
    return _at(value, path) is True


def _at(value: object, path: tuple[str, ...]) -> object:
    for key in path:
        if not isinstance(value, dict):
            return None
        value = cast("Json", value).get(key)
    return value
