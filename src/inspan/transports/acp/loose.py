"""Reading values that a harness may give any shape: what does not fit counts as not given."""

from __future__ import annotations

from typing import Any, cast

__all__ = ["dicts_in", "integer_in", "list_in", "mapping", "mapping_in", "text_in"]


def mapping(value: object) -> dict[str, Any] | None:
    """The value if it is a JSON object, else `None`."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def mapping_in(values: dict[str, Any], key: str) -> dict[str, Any]:
    """The JSON object under `key`, empty where there is none."""
    return mapping(values.get(key)) or {}


def list_in(values: dict[str, Any], key: str) -> list[Any]:
    """The JSON array under `key`, empty where there is none."""
    value = values.get(key)
    return cast("list[Any]", value) if isinstance(value, list) else []


def dicts_in(values: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The JSON objects of the array under `key`; anything else in it is passed over."""
    return [item for one in list_in(values, key) if (item := mapping(one)) is not None]


def text_in(values: dict[str, Any], key: str) -> str:
    """The string under `key`, empty where there is none."""
    value = values.get(key)
    return value if isinstance(value, str) else ""


def integer_in(values: dict[str, Any], key: str) -> int | None:
    """The whole number under `key`, `None` where there is none; a whole float counts, a boolean does not."""
    value = values.get(key)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
