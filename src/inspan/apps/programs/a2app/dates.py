"""Days and times in words, as of the app's own clock: `tomorrow`, `in 3 days`, `friday 15:00`, `+2w`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

__all__ = ["app_now", "read_date"]

_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = {
    "m": 1 / 24 / 60,
    "minute": 1 / 24 / 60,
    "h": 1 / 24,
    "hour": 1 / 24,
    "d": 1.0,
    "day": 1.0,
    "w": 7.0,
    "week": 7.0,
}
_AMOUNT = re.compile(r"(?:in )?(\d{1,5}) (minute|hour|day|week|month|year)s?( ago)?|([+-])(\d{1,5})([mhdw])")
_CLOCK = re.compile(r"(?: at)? (\d{1,2}):(\d{2})(?::(\d{2}))?$")


def app_now(server_now: object, offset_minutes: object) -> datetime:
    """The app's time, in the app's own zone; this machine's where the app does not say.

    Args:
        server_now: `serverNow` of the identity, in ISO 8601.
        offset_minutes: `serverTzOffsetMinutes`: minutes east of UTC.
    """
    try:
        now = datetime.fromisoformat(str(server_now))
    except ValueError:
        return datetime.now().astimezone()
    if now.tzinfo is None:
        now = now.replace(tzinfo=UTC)
    if isinstance(offset_minutes, (int, float)) and abs(offset_minutes) < 24 * 60:
        return now.astimezone(timezone(timedelta(minutes=offset_minutes)))
    return now


def read_date(words: str, now: datetime, *, day_only: bool) -> str | None:
    """The date that the words mean, or None where they are none of these; ISO dates are left to the app.

    A weekday is the next one that is not today. Months and years keep the day of the month, or its last.

    Args:
        words: What was written.
        now: The time that it is relative to, in the zone that counts.
        day_only: Whether only a day will do; an hour is then not understood.

    Returns:
        `YYYY-MM-DD`; or, where an hour was named, a time with its offset from UTC.
    """
    text = " ".join(words.strip().lower().split())
    clock: tuple[int, int, int] | None = None
    if found := _CLOCK.search(text):
        hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
        if hour > 23 or minute > 59 or second > 59:
            return None
        clock, text = (hour, minute, second), text[: found.start()]
    try:
        moment, has_hour = _moment(text, now)
    except (OverflowError, ValueError):
        return None
    if moment is None:
        return None
    if clock is not None:
        moment, has_hour = (
            moment.replace(hour=clock[0], minute=clock[1], second=clock[2], microsecond=0),
            True,
        )
    if day_only:
        return None if has_hour and text != "now" else moment.date().isoformat()
    return moment.replace(microsecond=0).isoformat() if has_hour else moment.date().isoformat()


def _moment(text: str, now: datetime) -> tuple[datetime | None, bool]:
    if text == "now":
        return now, True
    if text in _DAYS:
        return now + timedelta(days=_DAYS[text]), False
    if text in _WEEKDAYS:
        ahead = (_WEEKDAYS.index(text) - now.weekday()) % 7 or 7
        return now + timedelta(days=ahead), False
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None, False
    if found[4]:
        count, unit, is_back = int(found[5]), found[6], found[4] == "-"
    else:
        count, unit, is_back = int(found[1]), found[2], found[3] is not None
        if not is_back and not text.startswith("in "):
            return None, False  # "3 days" alone is a length, not a day
        if is_back and text.startswith("in "):
            return None, False
    count = -count if is_back else count
    if unit in ("month", "year"):
        return _months_on(now, count * (12 if unit == "year" else 1)), False
    return now + timedelta(days=count * _UNITS[unit]), _UNITS[unit] < 1


def _months_on(now: datetime, months: int) -> datetime:
    from calendar import monthrange

    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))
