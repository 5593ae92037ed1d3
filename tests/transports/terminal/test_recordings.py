"""Every recorded console, read by the rules of its harness: states, limits and errors, and every rule's fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from inspan.model.screen_rules import ScreenRule, ScreenRules
from inspan.transports.terminal.arbitration import Verdict
from inspan.transports.terminal.console import Console
from inspan.transports.terminal.evaluating import RuleBook
from inspan.transports.terminal.screen import Snapshot
from support.terminal_recordings import (
    RECORDINGS,
    RecordedSet,
    RecordedState,
    read_rules,
    recorded_sets,
    snapshots_of,
    stream_of,
)

AT = datetime(2026, 11, 30, tzinfo=UTC)
HARNESSES = ("claude-code", "cline", "codex", "copilot", "gemini", "kimi", "opencode", "pi", "qwen", "vibe")
SETS = [recorded for harness in HARNESSES for recorded in recorded_sets(harness)]
RULES = [(harness, rule) for harness in HARNESSES for rule in read_rules(harness).rules]
NEVER = r"\x00\Z"
CHUNK_BYTES = 1009


def console_for(recorded: RecordedSet) -> Console:
    return Console(recorded.size, rules=read_rules(recorded.harness))


def replayed(recorded: RecordedSet, *, with_reports: bool) -> Iterator[tuple[str, RecordedState, Verdict]]:
    """The verdict at every state, one console for a whole stream that comes in small pieces."""
    for number in sorted({state.stream for state in recorded.states.values()}):
        stream = stream_of(recorded, number)
        if not with_reports:
            stream = stream.replace(b"]7501;", b"]7599;")
        console, at, now = console_for(recorded), 0, AT
        for name, state in recorded.states.items():
            if state.stream != number:
                continue
            while at < state.offset:
                end = min(at + CHUNK_BYTES, state.offset)
                console.feed(stream[at:end], at=now)
                at, now = end, now + timedelta(milliseconds=2)
            yield name, state, console.look(now=now)
        console.close()


def fault_of(name: str, state: RecordedState, verdict: Verdict) -> str:
    """What is wrong with a verdict; empty where nothing is."""
    told = f"{name}: {verdict.activity} by {verdict.source}/{verdict.rule}"
    if verdict.activity != state.state:
        return f"{told}, and it is {state.state}"
    if state.state == "needs_input":
        if state.kind == "gate":
            return "" if verdict.gate else f"{told}: it is a gate"
        if state.kind and verdict.kind != state.kind:
            return f"{told}: {verdict.kind}, and it is {state.kind}"
        return "" if verdict.is_drawn and not verdict.gate else f"{told}: it is a drawn dialog, and no gate"
    if state.state == "idle" and (verdict.error is not None) != state.error_kept:
        return f"{told}: error {verdict.error}, and one is kept: {state.error_kept}"
    for code, names in (("limited", ("limit", "limit-after")), ("auth_required", ("autherror",))):
        if state.error_kept and name in names and (verdict.error is None or verdict.error.code != code):
            return f"{told}: error {verdict.error}, and it is {code}"
    if state.retrying and "retrying" not in verdict.signs:
        return f"{told}: it waits for another try"
    return ""


def faults(recorded: RecordedSet, *, with_reports: bool) -> list[str]:
    found = (
        fault_of(name, state, verdict)
        for name, state, verdict in replayed(recorded, with_reports=with_reports)
        if state.state in ("running", "idle", "needs_input")
    )
    return [fault for fault in found if fault]


def set_name(recorded: object) -> str:
    return f"{recorded.harness}-{recorded.name}" if isinstance(recorded, RecordedSet) else str(recorded)


@pytest.mark.requirement("H-N54", "H-C14", "H-C19", "H-C21")
@pytest.mark.parametrize("recorded", SETS, ids=set_name)
def test_every_recorded_state_is_what_its_label_says(recorded: RecordedSet) -> None:
    assert faults(recorded, with_reports=True) == []


@pytest.mark.parametrize("recorded", SETS, ids=set_name)
def test_the_screen_alone_says_the_same_when_the_program_reports_nothing(recorded: RecordedSet) -> None:
    assert faults(recorded, with_reports=False) == []


@pytest.mark.parametrize("recorded", SETS, ids=set_name)
def test_a_console_that_was_left_is_not_taken_for_a_free_one(recorded: RecordedSet) -> None:
    """Where its program left nothing but its parting words; a killed one leaves a picture of itself."""
    for name, state, verdict in replayed(recorded, with_reports=False):
        if state.state == "gone" and name != "killed":
            assert verdict.activity == "unknown", (name, verdict.rule)


@pytest.mark.parametrize(("harness", "resets"), [("claude-code", "3pm (UTC)"), ("codex", "at 5:30 PM")])
def test_the_time_when_a_limit_ends_is_kept_where_the_screen_gives_it(harness: str, resets: str) -> None:
    reading = RuleBook(read_rules(harness)).read(snapshots_of(harness)["made-80x24/limit-resets"])
    assert reading.error is not None
    assert (reading.error.rule.report, reading.error.resets) == ("limit", resets)


def matches(rule: ScreenRule, snapshot: Snapshot) -> bool:
    book = RuleBook(ScreenRules(schema=1, source="test", verified="today", rules=(rule,)))
    reading = book.read(snapshot)
    return any((reading.screen, reading.title, reading.error, reading.ready, reading.is_ignored))


def rule_name(value: object) -> str:
    return value.name if isinstance(value, ScreenRule) else str(value)


@pytest.mark.parametrize(("harness", "rule"), RULES, ids=rule_name)
def test_every_rule_matches_its_fixtures_and_spares_the_others(harness: str, rule: ScreenRule) -> None:
    if rule.provenance == "live":
        assert rule.matches
        assert rule.spares
    else:
        assert rule.note
    screens = snapshots_of(harness)
    assert [name for name in rule.matches if not matches(rule, screens[name])] == []
    assert [name for name in rule.spares if matches(rule, screens[name])] == []


def broken(rule: ScreenRule) -> Iterator[tuple[str, ScreenRule]]:
    """The rule with one line of what must be seen made to match nothing."""
    for field in ("all", "any", "title_any"):
        patterns: tuple[str, ...] = getattr(rule, field)
        if not patterns:
            continue
        if field == "all":
            for at in range(len(patterns)):
                yield (
                    f"{field}[{at}]",
                    msgspec.structs.replace(rule, all=(*patterns[:at], NEVER, *patterns[at + 1 :])),
                )
        else:
            yield field, msgspec.structs.replace(rule, **{field: (NEVER,)})
    if rule.last_match:
        yield "last_match", msgspec.structs.replace(rule, last_match=NEVER)
    if rule.region.anchor:
        region = msgspec.structs.replace(rule.region, anchor=NEVER)
        yield "anchor", msgspec.structs.replace(rule, region=region)


@pytest.mark.parametrize(("harness", "rule"), [pair for pair in RULES if pair[1].matches], ids=rule_name)
def test_no_line_of_a_rule_can_be_broken_without_a_fixture_that_fails(harness: str, rule: ScreenRule) -> None:
    screens = snapshots_of(harness)
    for line, mutant in broken(rule):
        assert not all(matches(mutant, screens[name]) for name in rule.matches), line


def loosened(rule: ScreenRule) -> Iterator[tuple[str, ScreenRule]]:
    """The rule with one line of what must not be seen taken out."""
    for field in ("none", "title_none"):
        patterns: tuple[str, ...] = getattr(rule, field)
        for at in range(len(patterns)):
            rest = (*patterns[:at], *patterns[at + 1 :])
            yield f"{field}[{at}]", msgspec.structs.replace(rule, **{field: rest})


@pytest.mark.parametrize(("harness", "rule"), [pair for pair in RULES if pair[1].spares], ids=rule_name)
def test_no_line_of_a_rule_can_be_left_out_without_a_fixture_that_fails(
    harness: str, rule: ScreenRule
) -> None:
    screens = snapshots_of(harness)
    for line, mutant in loosened(rule):
        assert any(matches(mutant, screens[name]) for name in rule.spares), line


def test_every_recording_belongs_to_a_harness_with_rules_or_is_named_here() -> None:
    without_rules = {"aider"}
    folders = {path.name for path in RECORDINGS.iterdir() if path.is_dir()}
    assert folders == {*HARNESSES, *without_rules}
