"""Every recorded console, read by the rules of its harness: states, limits and errors, and every rule's fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

import inspan.harnesses
from inspan.conformance.console_checks import (
    find_label_faults,
    find_loose_lines,
    find_rule_faults,
    has_small_fixture,
    judge_states,
)
from inspan.conformance.console_fixtures import ConsoleSet
from inspan.model.screen_rules import ScreenRule
from inspan.transports.terminal.evaluating import RuleBook
from support.terminal_recordings import read_rules, recorded_sets, snapshots_of

HARNESSES = sorted(
    path.parent.name for path in Path(inspan.harnesses.__path__[0]).glob("*/terminal-rules.toml")
)
SETS = [(harness, recorded) for harness in HARNESSES for recorded in recorded_sets(harness)]
RULES = [(harness, rule) for harness in HARNESSES for rule in read_rules(harness).rules]


def name_of(value: object) -> str:
    return value.name if isinstance(value, ConsoleSet | ScreenRule) else str(value)


@pytest.mark.requirement("H-N54", "H-C14", "H-C19", "H-C21")
@pytest.mark.parametrize(("harness", "recorded"), SETS, ids=name_of)
def test_every_recorded_state_is_what_its_label_says(harness: str, recorded: ConsoleSet) -> None:
    assert list(find_label_faults(recorded, read_rules(harness))) == []


@pytest.mark.parametrize(("harness", "recorded"), SETS, ids=name_of)
def test_the_screen_alone_says_the_same_when_the_program_reports_nothing(
    harness: str, recorded: ConsoleSet
) -> None:
    assert list(find_label_faults(recorded, read_rules(harness), with_reports=False)) == []


@pytest.mark.parametrize(("harness", "recorded"), SETS, ids=name_of)
def test_a_console_that_was_left_is_not_taken_for_a_free_one(harness: str, recorded: ConsoleSet) -> None:
    """Where its program left nothing but its parting words; a killed one leaves a picture of itself."""
    for name, state, verdict in judge_states(recorded, read_rules(harness), with_reports=False):
        if state.state == "gone" and name != "killed":
            assert verdict.activity == "unknown", (name, verdict.rule)


@pytest.mark.parametrize(("harness", "resets"), [("claude-code", "3pm (UTC)"), ("codex", "at 5:30 PM")])
def test_the_time_when_a_limit_ends_is_kept_where_the_screen_gives_it(harness: str, resets: str) -> None:
    reading = RuleBook(read_rules(harness)).read(snapshots_of(harness)["made-80x24/limit-resets"])
    assert reading.error is not None
    assert (reading.error.rule.report, reading.error.resets) == ("limit", resets)


@pytest.mark.requirement("H-A53", "H-A24")
@pytest.mark.parametrize(("harness", "rule"), RULES, ids=name_of)
def test_every_rule_matches_its_fixtures_and_spares_the_others(harness: str, rule: ScreenRule) -> None:
    sets = {one.name: one for one in recorded_sets(harness)}
    assert list(find_rule_faults(rule, sets, snapshots_of(harness))) == []
    assert has_small_fixture(rule, sets)


@pytest.mark.parametrize(("harness", "rule"), RULES, ids=name_of)
def test_no_line_of_a_rule_can_be_broken_or_left_out_without_a_fixture_that_fails(
    harness: str, rule: ScreenRule
) -> None:
    assert list(find_loose_lines(rule, snapshots_of(harness))) == []


DRAFTS = [
    (harness, recorded)
    for harness, recorded in SETS
    if recorded.provenance == "live"
    and recorded.terminal == "answering"
    and any(state.state == "idle" for state in recorded.states.values())
]
"""Sets that were recorded beyond the sign-in, so that they have an input line."""


@pytest.mark.requirement("H-C22")
@pytest.mark.parametrize(("harness", "recorded"), DRAFTS, ids=name_of)
def test_typed_text_is_a_draft_and_a_suggestion_in_the_composer_is_none(
    harness: str, recorded: ConsoleSet
) -> None:
    told = {
        name: "draft" in verdict.signs
        for name, state, verdict in judge_states(recorded, read_rules(harness))
        if state.state == "idle"
    }
    assert told == {name: recorded.states[name].draft for name in told}
    assert len(told) > 2


@pytest.mark.requirement("H-N10")
def test_a_prompt_line_that_scrolled_up_over_a_dialog_is_not_ready() -> None:
    screens = snapshots_of("codex")
    book = RuleBook(read_rules("codex"))
    assert any(line.startswith("\u203a ") for line in screens["120x40/approval"].lines)
    assert book.read(screens["120x40/approval"]).ready is None
    assert book.read(screens["120x40/ready"]).ready is not None
    assert book.read(screens["80x24/approval"]).ready is None
