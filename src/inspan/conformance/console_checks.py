"""Checks of screen rules against the recorded screens of their console: each state is what its label says, and each
line of each rule is held by a fixture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from inspan.model.screen_rules import ScreenRule, ScreenRules
from inspan.transports.terminal.arbitration import Verdict
from inspan.transports.terminal.console import Console
from inspan.transports.terminal.evaluating import RuleBook
from inspan.transports.terminal.screen import Snapshot

from .console_fixtures import ConsoleSet, ConsoleState, streams_of

__all__ = [
    "ACTIVITY_SIZE",
    "count_features",
    "find_label_faults",
    "find_loose_lines",
    "find_rule_faults",
    "has_small_fixture",
    "judge_states",
    "matches",
]

ACTIVITY_SIZE = (80, 24)
"""Columns and rows of the smallest terminal that people use: every rule about an activity is held to it."""
CHUNK_BYTES = 1009
STEP = timedelta(milliseconds=2)
BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
NEVER = r"\x00\Z"
ACTIVITIES = ("running", "idle", "needs_input")


def judge_states(
    one: ConsoleSet, rules: ScreenRules, *, with_reports: bool = True
) -> Iterator[tuple[str, ConsoleState, Verdict]]:
    """The verdict at every state of a set, with one console for each recording, which comes in small pieces.

    Args:
        one: The set.
        rules: The rules.
        with_reports: Whether the program's own status reports are heard.

    Raises:
        ManifestError: `recording_invalid`, or a rule cannot be used.
    """
    for recorded, states in streams_of(one):
        stream = recorded if with_reports else recorded.replace(b"]7501;", b"]7599;")
        console, at, now = Console(one.size, rules=rules), 0, BEGIN
        try:
            for name, state in states.items():
                while at < state.offset:
                    end = min(at + CHUNK_BYTES, state.offset)
                    console.feed(stream[at:end], at=now)
                    at, now = end, now + STEP
                yield name, state, console.look(now=now)
        finally:
            console.close()


def find_label_faults(one: ConsoleSet, rules: ScreenRules, *, with_reports: bool = True) -> Iterator[str]:
    """Where the verdict is not what a state's label says, in a sentence each."""
    for name, state, verdict in judge_states(one, rules, with_reports=with_reports):
        if state.state in (*ACTIVITIES, "unknown"):
            fault = _fault_of(state, verdict, is_live=one.provenance == "live")
            if fault:
                told = f"{verdict.activity} by {verdict.source}/{verdict.rule}"
                yield f"{one.name}/{name} is {told}: {fault}"


def find_rule_faults(
    rule: ScreenRule, sets: Mapping[str, ConsoleSet], screens: Mapping[str, Snapshot]
) -> Iterator[str]:
    """What is wrong with a rule's fixtures, in a sentence each.

    Args:
        rule: The rule.
        sets: The sets of its console by name.
        screens: Their screens, by `SET/STATE`.
    """
    if not rule.matches:
        yield "no fixture is named that it must match (`matches`)"
    if not rule.spares:
        yield "no fixture is named that it must not match (`spares`)"
    for name in (*rule.matches, *rule.spares):
        if name not in screens:
            yield f"the fixture {name} is not there"
        elif matches(rule, screens[name]) is not (name in rule.matches):
            yield f"it {'does not match' if name in rule.matches else 'matches'} {name}"
    seen = [sets[set_name] for name in rule.matches if (set_name := name.partition("/")[0]) in sets]
    if not seen:
        return
    if rule.provenance == "live" and not any(one.provenance == "live" for one in seen):
        yield "it is said to be seen live, and no fixture that it matches was captured live"
    if rule.provenance != "live" and not rule.note:
        yield "it was not seen live, and no note says where it comes from"


def has_small_fixture(rule: ScreenRule, sets: Mapping[str, ConsoleSet]) -> bool:
    """Whether a rule about an activity is held to a screen of `ACTIVITY_SIZE`; true of every other rule."""
    columns, rows = ACTIVITY_SIZE
    seen = (sets[name] for name in {one.partition("/")[0] for one in rule.matches} if name in sets)
    return rule.report not in ACTIVITIES or any(one.columns <= columns and one.rows <= rows for one in seen)


def count_features(rule: ScreenRule) -> int:
    """How many different things a rule wants to see."""
    alternatives = (rule.any, rule.title_any, rule.progress_any, rule.last_match, rule.region.anchor)
    return len(rule.all) + sum(bool(one) for one in alternatives)


def find_loose_lines(rule: ScreenRule, screens: Mapping[str, Snapshot]) -> Iterator[str]:
    """The lines of a rule that could be broken, or left out, without a fixture that fails, by their keys."""
    for line, mutant in _broken(rule):
        if all(matches(mutant, screens[name]) for name in rule.matches):
            yield line
    for line, mutant in _loosened(rule):
        if not any(matches(mutant, screens[name]) for name in rule.spares):
            yield line


def matches(rule: ScreenRule, snapshot: Snapshot) -> bool:
    """Whether one rule, by itself, matches a screen."""
    book = RuleBook(ScreenRules(schema=1, source="a check", verified="now", rules=(rule,)))
    reading = book.read(snapshot)
    return any((reading.screen, reading.title, reading.error, reading.ready, reading.is_ignored))


def _fault_of(state: ConsoleState, verdict: Verdict, *, is_live: bool) -> str:
    if verdict.activity != state.state:
        return f"it is {state.state}"
    if state.state == "needs_input":
        if state.kind == "gate":
            if not verdict.gate:
                return "it is a gate"
        elif state.kind and verdict.kind != state.kind:
            return f"it wants {verdict.kind}, and should want {state.kind}"
        elif not verdict.is_drawn or verdict.gate:
            return "it is a dialog that is drawn, and no gate"
    code = verdict.error.code if verdict.error is not None else None
    is_kept = state.error_kept or bool(state.error)
    if state.state == "idle" and (verdict.error is not None) != is_kept:
        return f"its error is {code}, and one is kept: {str(is_kept).lower()}"
    if state.error and code != state.error:
        return f"its error is {code}, and should be {state.error}"
    is_draft = "draft" in verdict.signs
    if is_draft and not state.draft and is_live:
        return "it shows a draft, and nothing is typed"
    wanted = {*state.signs, *(("retrying",) if state.retrying else ())}
    if state.draft and state.state == "idle":
        wanted.add("draft")
    if missing := sorted(wanted - set(verdict.signs)):
        return f"nothing says {', '.join(missing)}"
    return ""


def _broken(rule: ScreenRule) -> Iterator[tuple[str, ScreenRule]]:
    """The rule with one line of what must be seen made to match nothing."""
    for at in range(len(rule.all)):
        mutated = (*rule.all[:at], NEVER, *rule.all[at + 1 :])
        yield f"all[{at}]", msgspec.structs.replace(rule, all=mutated)
    for field in ("any", "title_any"):
        patterns: tuple[str, ...] = getattr(rule, field)
        for at in range(len(patterns)):
            mutated = (*patterns[:at], NEVER, *patterns[at + 1 :])
            yield f"{field}[{at}]", msgspec.structs.replace(rule, **{field: mutated})
    if rule.last_match:
        yield "last_match", msgspec.structs.replace(rule, last_match=NEVER)
    if rule.region.anchor:
        region = msgspec.structs.replace(rule.region, anchor=NEVER)
        yield "region.anchor", msgspec.structs.replace(rule, region=region)
    if rule.progress_any:
        yield "progress_any", msgspec.structs.replace(rule, progress_any=("pause",))
    if rule.is_alternate is not None:
        yield "is_alternate", msgspec.structs.replace(rule, is_alternate=not rule.is_alternate)
    if rule.cursor_past is not None:
        yield "cursor_past", msgspec.structs.replace(rule, cursor_past=1000)


def _loosened(rule: ScreenRule) -> Iterator[tuple[str, ScreenRule]]:
    """The rule with one line of what must not be seen taken out."""
    for field in ("none", "title_none"):
        patterns: tuple[str, ...] = getattr(rule, field)
        for at in range(len(patterns)):
            rest = (*patterns[:at], *patterns[at + 1 :])
            yield f"{field}[{at}]", msgspec.structs.replace(rule, **{field: rest})
