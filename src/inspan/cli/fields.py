"""Reading the daemon's JSON: small typed accessors over plain values.

The CLI does not load the model, whose library would double its start-up time. A field that is missing or of
another type reads as the empty value of its kind: a newer or older daemon never makes a list fail to print.
"""

from __future__ import annotations

from typing import cast

__all__ = ["Json", "flag", "held_words", "items", "number", "record", "records", "text", "texts"]

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


def held_words(one: Json, *, why: str = "held", until: str = "held_until") -> str:
    """Why a prompt waits, with the local time at which it goes on by itself; empty where it is not held.

    Args:
        one: A delivery, or an event about one.
        why: The field that has the reason.
        until: The field that has the time.
    """
    reason, at = text(one, why), text(one, until)
    return f"{reason} until {_moment(at)}" if reason and at else reason


def _at(value: object, path: tuple[str, ...]) -> object:
    for key in path:
        if not isinstance(value, dict):
            return None
        value = cast("Json", value).get(key)
    return value


def _moment(at: str) -> str:
    """The local time of an RFC 3339 time, with its day where that is not today."""
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(at).astimezone()
    except ValueError:
        return at
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M}" if is_today else f"{moment:%Y-%m-%d %H:%M}"
