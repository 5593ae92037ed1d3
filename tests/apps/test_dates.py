"""Days in words are those of the app's clock and zone; what is none of them is left for the app to judge."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.apps.programs.a2app.dates import app_now, read_date

NOW = datetime(2026, 1, 30, 22, 15, tzinfo=timezone(timedelta(hours=-5)))  # a Friday


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("today", "2026-01-30"),
        (" Tomorrow ", "2026-01-31"),
        ("yesterday", "2026-01-29"),
        ("now", "2026-01-30T22:15:00-05:00"),
        ("friday", "2026-02-06"),
        ("saturday", "2026-01-31"),
        ("Monday 09:30", "2026-02-02T09:30:00-05:00"),
        ("tomorrow at 9:05", "2026-01-31T09:05:00-05:00"),
        ("in 3 days", "2026-02-02"),
        ("3 days ago", "2026-01-27"),
        ("in 1 week", "2026-02-06"),
        ("+2w", "2026-02-13"),
        ("-1d", "2026-01-29"),
        ("in 2 hours", "2026-01-31T00:15:00-05:00"),
        ("+30m", "2026-01-30T22:45:00-05:00"),
        ("in 1 month", "2026-02-28"),
        ("in 1 year", "2027-01-30"),
        ("13 months ago", "2024-12-30"),
    ],
)
@pytest.mark.requirement("P8")
def test_words_for_a_day_or_time_mean_that_day_or_time(words: str, found: str) -> None:
    assert read_date(words, NOW, day_only=False) == found


@pytest.mark.parametrize(
    "words",
    [
        "",
        "2026-02-01",
        "soon",
        "3 days",
        "in 3 days ago",
        "next friday",
        "tomorrow 25:00",
        "in 99999 years",
        "fridayx",
        "+1y",
    ],
)
def test_other_words_are_left_as_they_are(words: str) -> None:
    assert read_date(words, NOW, day_only=False) is None


def test_where_only_a_day_will_do_an_hour_is_not_understood() -> None:
    assert read_date("tomorrow", NOW, day_only=True) == "2026-01-31"
    assert read_date("now", NOW, day_only=True) == "2026-01-30"
    assert read_date("tomorrow 10:00", NOW, day_only=True) is None


def test_the_apps_own_clock_counts_and_not_that_of_this_machine() -> None:
    late = app_now("2026-01-30T23:30:00.000Z", 120)
    assert read_date("today", late, day_only=True) == "2026-01-31"
    assert app_now("2026-01-30T23:30:00Z", None).utcoffset() == timedelta(0)
    assert app_now("no time", 0).tzinfo is not None
    assert app_now("2026-01-30T23:30:00", 10**9).isoformat() == "2026-01-30T23:30:00+00:00"


@settings(deadline=None)
@given(st.text(max_size=40), st.datetimes(timezones=st.just(NOW.tzinfo)), st.booleans())
def test_whatever_is_written_the_answer_is_a_date_or_nothing(
    words: str, now: datetime, day_only: bool
) -> None:
    found = read_date(words, now, day_only=day_only)
    if found is not None:
        assert (date if day_only else datetime).fromisoformat(found)
