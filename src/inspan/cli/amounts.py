"""Amounts in words: numbers of things, and lengths of time."""

from __future__ import annotations

__all__ = ["counted", "lasting"]

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things: `1 prompt`, `2 prompts`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def lasting(duration_s: float) -> str:
    """A length of time in at most two units, the largest first: `45 s`, `1 h 30 min`, `2 d`."""
    if duration_s < 60 or duration_s != int(duration_s):
        return f"{duration_s:g} s"
    parts: list[str] = []
    left = int(duration_s)
    for size, unit in (*_UNITS, (1, "s")):
        count, rest = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
            left = rest
        if len(parts) == 2:
            break
    return " ".join(filter(None, parts))
