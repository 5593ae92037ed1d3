"""Rules: where they look, what they want, which one wins, and how a reading explains itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from inspan.model.errors import ManifestError
from inspan.model.screen_rules import Region, ScreenRule, ScreenRules
from inspan.transports.terminal.evaluating import RuleBook
from inspan.transports.terminal.region import MAX_ROW, cut_region, shown_rows
from inspan.transports.terminal.screen import CursorPlace, Progress, ScreenSize, Snapshot


def screen(text: str, *, title: str | None = None, cursor: int = 0, **more: Any) -> Snapshot:
    rows = text.split("\n")
    height = max(len(rows), 4)
    return Snapshot(
        size=ScreenSize(rows=height, columns=40),
        lines=(*rows, *("",) * (height - len(rows))),
        cursor=CursorPlace(row=cursor, column=0, is_visible=True),
        revision=1,
        title=title,
        **more,
    )


def rule(name: str = "r", **fields: Any) -> ScreenRule:
    values: dict[str, Any] = {"name": name, "report": "running", "priority": 1, **fields}
    return ScreenRule(**values)


def book(*rules: ScreenRule, **more: Any) -> RuleBook:
    return RuleBook(ScreenRules(schema=1, source="test", verified="today", rules=rules), **more)


def matches(wanted: ScreenRule, seen: Snapshot) -> bool:
    reading = book(wanted).read(seen)
    return any((reading.screen, reading.title, reading.error, reading.ready, reading.is_ignored))


BOXED = """old » prompt
● done
╭── title ─────╮
│ > half typed │
│   draft      │
╰──────────────╯
  footer one
  footer two"""


@pytest.mark.requirement("H-A24")
@pytest.mark.parametrize(
    ("region", "text"),
    [
        (Region(), BOXED),
        (Region(of="last_rows", rows=2), "  footer one\n  footer two"),
        (Region(of="box"), "> half typed\ndraft"),
        (Region(of="above_box", rows=1), "● done"),
        (Region(of="below_box", rows=1), "  footer one"),
        (Region(of="cursor_row"), "● done"),
        (Region(of="below", anchor="^╰"), "  footer one\n  footer two"),
        (Region(of="below", anchor="^╰", rows=1), "  footer one"),
        (Region(of="above", anchor="^╭"), "old » prompt\n● done"),
        (Region(of="above", anchor="^╭", rows=1), "● done"),
        (Region(of="below", anchor="footer"), ""),
        (Region(of="below", anchor="footer", occurrence="first"), "  footer two"),
        (Region(of="below", anchor="nowhere"), None),
    ],
)
def test_a_region_is_the_rows_that_it_names(region: Region, text: str | None) -> None:
    assert cut_region(region, shown_rows(screen(BOXED)), 1) == text


def test_there_is_no_box_without_two_borders() -> None:
    assert cut_region(Region(of="box"), ("─" * 20, "text"), 0) is None
    assert cut_region(Region(of="box"), ("text - not -- a --- border",), 0) is None


def test_a_cursor_below_the_last_row_stands_on_a_blank_one() -> None:
    assert cut_region(Region(of="cursor_row"), ("only",), 7) == ""


def test_endless_rows_are_looked_at_up_to_their_limit() -> None:
    assert len(shown_rows(screen("x" * 999))[0]) == MAX_ROW


@pytest.mark.parametrize(
    "fields",
    [
        {"of": "below"},
        {"of": "whole", "anchor": "x"},
        {"of": "last_rows"},
    ],
)
def test_a_region_that_says_too_little_or_too_much_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, Region)


@pytest.mark.requirement("L5")
@pytest.mark.parametrize(
    "fields",
    [
        {"name": "r", "report": "running", "priority": 1},
        {"name": "r", "report": "running", "priority": 1, "none": ["x"]},
        {"name": "r", "report": "needs_input", "priority": 1, "all": ["x"]},
        {"name": "r", "report": "running", "priority": 1, "all": ["x"], "kind": "permission"},
        {"name": "r", "report": "idle", "priority": 1, "all": ["x"], "gate": "trust"},
        {"name": "r", "report": "limit", "priority": 1, "all": ["x"], "code": "limited"},
        {"name": "r", "report": "error", "priority": 1, "all": ["x"], "signs": ["retrying"]},
        {"name": "r", "report": "running", "priority": 1, "all": ["x"], "everything": ["x"]},
        {"name": "R!", "report": "running", "priority": 1, "all": ["x"]},
        {"name": "r", "report": "busy", "priority": 1, "all": ["x"]},
        {"name": "r", "report": "running", "priority": 1, "all": [""]},
        {"name": "r", "report": "running", "priority": 1, "all": ["x" * 301]},
    ],
)
def test_a_rule_that_proves_nothing_or_says_too_much_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, ScreenRule)


def test_two_rules_of_one_name_are_refused() -> None:
    twice = {"name": "r", "report": "running", "priority": 1, "all": ["x"]}
    with pytest.raises(msgspec.ValidationError, match="same name"):
        msgspec.convert({"schema": 1, "source": "s", "verified": "v", "rules": [twice, twice]}, ScreenRules)


def test_a_gate_says_what_a_person_owes() -> None:
    assert rule(report="needs_input", gate="trust", all=("x",)).owed == "trust"
    assert rule(report="needs_input", gate="api_key", all=("x",)).owed == "login"
    assert rule(report="needs_input", gate="consent", kind="plan", all=("x",)).owed == "plan"


@pytest.mark.parametrize(
    ("fields", "is_match"),
    [
        ({"all": ("one", "two")}, True),
        ({"all": ("one", "four")}, False),
        ({"any": ("four", "two")}, True),
        ({"any": ("four", "five")}, False),
        ({"all": ("one",), "none": ("two",)}, False),
        ({"all": ("one",), "none": ("four",)}, True),
        ({"all": ("^two$",)}, True),
        ({"all": ("^wo",)}, False),
    ],
)
def test_all_any_and_none_are_what_they_say(fields: dict[str, Any], is_match: bool) -> None:
    assert matches(rule(**fields), screen("one\ntwo\nthree")) is is_match


@pytest.mark.requirement("H-N10")
def test_only_the_last_match_counts() -> None:
    newest_error = rule(report="error", last_match="^[●»]", all=("API Error",))
    assert matches(newest_error, screen("● fine\n» go\n● API Error: no"))
    assert not matches(newest_error, screen("● API Error: no\n» go\n● fine"))
    assert not matches(newest_error, screen("API Error"))


def test_title_and_progress_can_be_wanted_beside_the_text_or_alone() -> None:
    quiet = rule(report="idle", all=("prompt",), title_none=("^[⠀-⣿] ",))
    assert matches(quiet, screen("prompt", title="work"))
    assert not matches(quiet, screen("prompt", title="⠋ work"))
    assert not matches(quiet, screen("prompt", title=""))
    spinning = rule(title_any=("^[⠀-⣿] ",))
    reading = book(spinning).read(screen("", title="⠋ work"))
    assert reading.screen is None
    assert reading.title is not None
    going = rule(progress_any=("set", "indeterminate"))
    assert matches(going, screen("", progress=Progress(state="indeterminate")))
    assert not matches(going, screen("", progress=Progress(state="remove")))
    assert not matches(going, screen(""))


def test_a_rule_may_be_for_one_of_the_two_screens() -> None:
    full = rule(all=("x",), is_alternate=True)
    assert matches(full, screen("x", is_alternate=True))
    assert not matches(full, screen("x", is_alternate=False))
    assert not matches(full, screen("x"))


def test_the_highest_priority_wins_and_among_equals_the_first() -> None:
    low = rule("low", all=("x",), report="idle", priority=1)
    high = rule("high", all=("x",), priority=9)
    other = rule("other", all=("x",), report="idle", priority=9)
    reading = book(low, high, other).read(screen("x"))
    assert reading.screen is not None
    assert reading.screen.rule.name == "high"


def test_errors_and_readiness_are_asked_beside_the_activity() -> None:
    reading = book(
        rule("free", report="idle", all=("> ",)),
        rule("ready", report="ready", all=("> ",)),
        rule(
            "quota",
            report="limit",
            all=("limit",),
            capture=r"limit (?P<message>reached), resets (?P<resets>.+)",
        ),
    ).read(screen("limit reached, resets 5pm\n> "))
    assert reading.screen is not None
    assert reading.ready is not None
    assert reading.error is not None
    assert (reading.error.message, reading.error.resets) == ("reached", "5pm")
    assert reading.error.evidence == "limit reached, resets 5pm"


def test_a_view_that_is_ignored_says_nothing_of_the_activity() -> None:
    reading = book(rule("overlay", report="ignore", all=("transcript",), priority=9), rule(all=("x",))).read(
        screen("transcript x")
    )
    assert reading.is_ignored
    assert reading.screen is None


def test_nothing_that_matches_says_nothing() -> None:
    reading = book(rule(all=("x",))).read(screen("y"))
    assert (reading.screen, reading.title, reading.error, reading.ready, reading.is_ignored) == (
        (None,) * 4 + (False,)
    )


@pytest.mark.requirement("L4")
def test_an_explanation_names_every_rule_with_its_region_and_its_reason() -> None:
    reading = book(
        rule("first", all=("x",), priority=9),
        rule("second", all=("x",), none=("y",), region=Region(of="last_rows", rows=1)),
        rule("third", all=("x",), region=Region(of="below", anchor="nowhere")),
        rule("fourth", title_any=("t",)),
    ).explain(screen("x\nxy", title="a name"))
    assert [(trial.rule, trial.has_matched, trial.region) for trial in reading.trials] == [
        ("first", True, "x\nxy"),
        ("second", False, "xy"),
        ("third", False, None),
        ("fourth", False, "a name"),
    ]
    assert "`none` 'y' is there" in reading.trials[1].why
    assert "no such region" in reading.trials[2].why


def test_a_rule_that_takes_too_long_is_left_out_and_named() -> None:
    times = iter([0.0, *[1.0] * 21])
    slow = book(
        rule("slow", all=("x",), priority=9), rule("quick", all=("x",)), processor_time=lambda: next(times)
    )
    for _ in range(2):
        reading = slow.read(screen("x"))
        assert reading.suspended == ("slow",)
        assert reading.screen is not None
        assert reading.screen.rule.name == "quick"


@pytest.mark.parametrize(
    "fields",
    [
        {"all": ("(a+)+",)},
        {"any": ("(",)},
        {"all": ("x",), "region": Region(of="below", anchor="(a+)+")},
        {"last_match": "(a+)+"},
        {"all": ("x",), "capture": "(?P<other>x)"},
        {"title_any": ("(a+)+",)},
        {"all": (r"[a\n]*[a\n]*b",)},
        {"all": (r"\s+a[^b]+c",)},
        {"all": (r"(?s)a.*b.*c",)},
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_name_of_its_rule(fields: dict[str, Any]) -> None:
    with pytest.raises(ManifestError, match="`r`"):
        book(rule(**fields))
