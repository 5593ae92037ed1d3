"""Lint of consoles: whether the screen rules of a harness's modes keep to the screens that were recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from inspan.model.errors import ManifestError
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.screen_rules import ScreenRules
from inspan.plugin.signals import read_signals
from inspan.transports.terminal.evaluating import RULE_BUDGET_S, RuleBook
from inspan.transports.terminal.screen import Snapshot

from .console_checks import (
    ACTIVITY_SIZE,
    count_features,
    find_label_faults,
    find_loose_lines,
    find_rule_faults,
    has_small_fixture,
)
from .console_fixtures import FIXTURES, ConsoleSet, read_sets, snapshots_of
from .finding import Finding

__all__ = ["check_consoles"]

_SLOWER_MACHINES = 4
"""How much slower a machine may be than the one that lints."""

READY_FEATURES = 2


def check_consoles(folders: tuple[Path, ...], manifest: Manifest) -> Iterator[Finding]:
    """The findings about every mode in a terminal.

    Args:
        folders: The folders of the harness's layers, the lowest first; a set of recorded screens in a higher one
            takes the place of one of the same name below it.
        manifest: The merged manifest, with its rules.
    """
    modes = {name: mode for name, mode in manifest.modes.items() if mode.transport == "terminal"}
    if not modes:
        return
    try:
        sets = {one.name: one for folder in folders for one in read_sets(folder)}
        screens = snapshots_of(tuple(sets.values()))
    except ManifestError as error:
        yield Finding(
            severity="fault",
            rule="recording",
            at=str(error.detail.get("file", FIXTURES)),
            message=error.message,
            hint=error.hint,
        )
        return
    for name, mode in modes.items():
        yield from _check_signals(name, mode)
        if mode.terminal.rules is not None:
            at = mode.terminal.rules_file or f"modes.{name}.terminal.rules"
            yield from _check_rules(at, mode.terminal.rules, sets, screens)


def _check_signals(name: str, mode: ModeManifest) -> Iterator[Finding]:
    signals, claims = read_signals(mode), mode.capabilities
    for claim, seen, what in (
        ("activity", signals.activity, "what the session does"),
        ("permission_report", signals.needs_input, "that an answer is owed"),
    ):
        if getattr(claims, claim).is_supported and not seen:
            yield Finding(
                severity="advice",
                rule="screen-signal",
                at=f"modes.{name}.capabilities.{claim}",
                message=f"No rule sees {what}: without a report of the program itself it stays unknown.",
                hint="Add a rule, or say in the note by what it is known.",
            )


def _check_rules(
    at: str, rules: ScreenRules, sets: Mapping[str, ConsoleSet], screens: Mapping[str, Snapshot]
) -> Iterator[Finding]:
    for rule in rules.rules:
        here = f"{at}: {rule.name}"
        faults = list(find_rule_faults(rule, sets, screens))
        for fault in faults:
            yield Finding(
                severity="fault",
                rule="screen-rule",
                at=here,
                message=f"Of the rule `{rule.name}`: {fault}.",
                hint=f"Screens are named SET/STATE, as they lie in {FIXTURES}.",
            )
        if rule.report == "ready" and count_features(rule) < READY_FEATURES:
            yield Finding(
                severity="fault",
                rule="screen-ready",
                at=here,
                message=f"The rule `{rule.name}` asks for one feature alone, which a sign-in screen may have too.",
                hint="Ask for the prompt line, and for what stands beside it.",
            )
        if not has_small_fixture(rule, sets):
            columns, rows = ACTIVITY_SIZE
            yield Finding(
                severity="advice",
                rule="screen-size",
                at=here,
                message=f"Nothing shows that the rule `{rule.name}` holds on {columns}x{rows}.",
                hint="Record the state at that size as well.",
            )
        if not faults:
            yield from _check_lines(here, find_loose_lines(rule, screens))
    yield from _check_labels(at, rules, sets)
    yield from _check_speed(at, rules, screens)


def _check_lines(at: str, lines: Iterator[str]) -> Iterator[Finding]:
    for line in lines:
        yield Finding(
            severity="advice",
            rule="screen-line",
            at=f"{at}.{line}",
            message="No recorded screen would fail without this line.",
            hint="Name a screen that needs it in `matches` or `spares`, or leave the line out.",
        )


def _check_labels(at: str, rules: ScreenRules, sets: Mapping[str, ConsoleSet]) -> Iterator[Finding]:
    for one in sets.values():
        for fault in find_label_faults(one, rules):
            yield Finding(
                severity="fault",
                rule="screen-label",
                at=at,
                message=f"The screen {fault}.",
                hint="`inspan harness replay` shows how the state changes on the way there.",
            )


def _check_speed(at: str, rules: ScreenRules, screens: Mapping[str, Snapshot]) -> Iterator[Finding]:
    # The rule has to keep its time on machines that are slower than its author's.
    book = RuleBook(rules, budget_s=RULE_BUDGET_S / _SLOWER_MACHINES)
    suspended: set[str] = set()
    for screen in screens.values():
        # A screen of nothing but one long text is the worst that a region can hold.
        full = msgspec.structs.replace(screen, lines=tuple("x" * screen.size.columns for _ in screen.lines))
        for one in (screen, full):
            suspended |= set(book.read(one).suspended)
    for name in sorted(suspended):
        yield Finding(
            severity="fault",
            rule="screen-slow",
            at=f"{at}: {name}",
            message=f"The rule `{name}` takes longer for one look than it may, and would be left out.",
            hint="Narrow its region, or write its patterns with fewer repeats.",
        )
