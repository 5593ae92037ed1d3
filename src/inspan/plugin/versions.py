"""Versions: dotted numbers, and ranges such as `>=1.18, <2`."""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["is_range", "is_version", "version_lies_in"]

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)")
_BOUND = re.compile(r"\s*(>=|<=|==|>|<)\s*(\d+(?:\.\d+)*)\s*")


def is_version(text: str) -> bool:
    """Whether `text` begins with a dotted number; what follows (`-beta.1`, `+build`) is not compared."""
    return _VERSION.match(text) is not None


def is_range(text: str) -> bool:
    """Whether `text` is a list of bounds, each of `>=`, `<=`, `>`, `<` or `==` and a dotted number."""
    return all(_BOUND.fullmatch(bound) for bound in text.split(","))


def version_lies_in(version: str | None, bounds: str) -> Literal["yes", "no", "unknown"]:
    """Whether `version` fits every bound of `bounds`.

    Missing places count as zero, so `1.18` equals `1.18.0`. A version or range that cannot be read, or no
    range at all, gives `unknown`.
    """
    if not version or not bounds or not is_range(bounds):
        return "unknown"
    found = _VERSION.match(version)
    if found is None:
        return "unknown"
    have = _places(found[1])
    for bound in bounds.split(","):
        parts = _BOUND.fullmatch(bound)
        if parts is None:
            return "unknown"
        if not _fits(have, parts[1], _places(parts[2])):
            return "no"
    return "yes"


def _places(text: str) -> tuple[int, ...]:
    places = [int(place) for place in text.split(".")]
    while places and places[-1] == 0:
        places.pop()
    return tuple(places)


def _fits(have: tuple[int, ...], operator: str, want: tuple[int, ...]) -> bool:
    match operator:
        case ">=":
            return have >= want
        case "<=":
            return have <= want
        case ">":
            return have > want
        case "<":
            return have < want
        case _:
            return have == want
