"""Limit times: when a usage limit ends, where a harness tells that as a time that means one instant."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = ["find_reset_time"]

_LONGEST = timedelta(days=32)
"""A limit that lasts longer is more likely misread."""

_NEAR = r"(?:resets?|again|until|lifted)\b[^.\n]{0,30}?"
_DATE = re.compile(
    _NEAR + r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?) ?(Z|UTC|[+-]\d\d:?\d\d)", re.IGNORECASE
)
_CLOCK = re.compile(
    _NEAR + r"\b(\d{1,2})(?::(\d\d))? ?(am|pm)? ?\(?((?:[A-Z][A-Za-z_]+/[A-Za-z_/+-]+)|UTC)\)?", re.IGNORECASE
)


def find_reset_time(words: str, now: datetime) -> datetime | None:
    """When the limit ends by these words; `None` where they tell no time, or one that depends on who reads it.

    A time of day counts only with its zone, and is the next one of that time.

    Args:
        words: The harness's own.
        now: Aware UTC.
    """
    at = _find_date(words) or _find_clock(words, now)
    return at if at is not None and now < at <= now + _LONGEST else None


def _find_date(words: str) -> datetime | None:
    found = _DATE.search(words)
    if found is None:
        return None
    zone = "+00:00" if found[2].upper() in ("Z", "UTC") else found[2]
    try:
        return datetime.fromisoformat(found[1].replace(" ", "T") + zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _find_clock(words: str, now: datetime) -> datetime | None:
    found = _CLOCK.search(words)
    if found is None:
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "").lower()
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif found[2] is None:
        return None  # a bare number is no time of day
    try:
        zone = ZoneInfo(found[4])
        here = now.astimezone(zone)
        at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if at <= here:
            at += timedelta(days=1)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None
    return at.astimezone(UTC)
