"""Templates: messages made of data with values put in, and read back from messages that somebody else wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from inspan.model.templates import PLACEHOLDER
from inspan.transports.acp.loose import mapping
from inspan.transports.records.paths import Place

__all__ = ["encode_line", "fill", "recognise"]

_SEPARATORS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """The message of a template; `None` where the template is one placeholder whose value is not known."""
    if isinstance(template, str):
        whole = PLACEHOLDER.fullmatch(template)
        place = Place(values)
        return place.find(whole[1]) if whole is not None else _fill_text(template, place)
    if isinstance(template, Mapping):
        members: Mapping[str, Any] = template  # pyright: ignore[reportUnknownVariableType]
        pairs = ((key, one, fill(one, values)) for key, one in members.items())
        return {key: value for key, one, value in pairs if value is not None or one is None}
    if isinstance(template, list | tuple):
        items: list[Any] = list(template)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return [value for one in items if (value := fill(one, values)) is not None]
    return template


def recognise(template: Any, message: Any) -> dict[str, Any] | None:
    """What stands at the placeholders of a template in a message made by it; `None` where it is another message.

    Members that the message lacks count as not known, unless they are texts of the message's own top level: those
    tell messages apart.
    """
    found: dict[str, Any] = {}
    members, values = mapping(template), mapping(message)
    if members is None or values is None:
        return None
    for key, one in members.items():
        is_own = isinstance(one, str) and not PLACEHOLDER.search(one)
        if is_own and values.get(key) != one:
            return None
    return found if _compare(members, values, found) else None


def encode_line(message: Any) -> bytes:
    """The line of a message.

    The separators U+2028 and U+2029 are escaped: some readers of lines take them for the end of one.
    """
    line = msgspec.json.encode(message)
    for raw, escaped in _SEPARATORS:
        line = line.replace(raw, escaped)
    return line + b"\n"


def _fill_text(template: str, place: Place) -> str:
    return PLACEHOLDER.sub(lambda found: place.first_text((found[1],)), template)


def _compare(template: Any, message: Any, found: dict[str, Any]) -> bool:
    if isinstance(template, str):
        whole = PLACEHOLDER.fullmatch(template)
        if whole is not None:
            found[whole[1]] = message
            return True
        return bool(PLACEHOLDER.search(template)) or template == message
    members = mapping(template)
    if members is not None:
        values = mapping(message)
        if values is None:
            return False
        return all(_compare(one, values[key], found) for key, one in members.items() if key in values)
    if isinstance(template, list) and isinstance(message, list):
        pairs: list[tuple[Any, Any]] = list(zip(template, message, strict=False))  # pyright: ignore[reportUnknownArgumentType]
        return all(_compare(one, value, found) for one, value in pairs)
    return template == message
