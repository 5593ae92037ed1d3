"""Text that everything downstream can take: a file of UTF-8, a request to a model, a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from .values import Json

__all__ = ["clean_json", "clean_text", "clip_middle"]


def clean_text(text: str) -> str:
    """`text` with every half of a surrogate pair replaced, which no UTF-8 can hold; the same object if there is none."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_json(value: Json) -> Json:
    """`value` with every text in it cleaned, the keys too, and None for a number that JSON does not know."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        members = cast(Mapping[object, Json], value)
        return {clean_text(str(key)): clean_json(member) for key, member in members.items()}
    if isinstance(value, Sequence):
        return [clean_json(member) for member in value]
    return value


def clip_middle(text: str, limit: int) -> str:
    """At most about `limit` characters of `text`: its beginning and its end, with a word on what was left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters were left out here …]\n{text[len(text) - tail :]}"
