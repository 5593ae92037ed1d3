"""How full the context is, as a console's footer or title shows it: a whole percent, or none."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.content import UsageUpdated
from inspan.model.context_usage import ContextCount, ContextSource, ContextUsage
from inspan.model.plan import TransportSettings
from inspan.transports.machine import Step
from inspan.transports.terminal.context import read_context
from inspan.transports.terminal.machine import TerminalMachine
from inspan.transports.terminal.screen import CursorPlace, ScreenSize, Snapshot
from support.terminal_recordings import snapshots_of

FOOTER = ContextUsage(kind=ContextSource.FOOTER, pattern=r"context (?P<percent>[0-9.]+)%")
LEFT = ContextUsage(
    kind=ContextSource.FOOTER, pattern=r"(?P<percent>[0-9.]+)% left", counts=ContextCount.LEFT, rows=2
)
TITLE = ContextUsage(kind=ContextSource.TITLE, pattern=r"(?P<percent>\d+)%")


def shown(*lines: str, title: str | None = None, held: bool = False) -> Snapshot:
    return Snapshot(
        size=ScreenSize(rows=len(lines), columns=80),
        lines=lines,
        cursor=CursorPlace(row=0, column=0, is_visible=True),
        revision=1,
        title=title,
        is_held=held,
    )


@pytest.mark.requirement("H-A31")
@pytest.mark.parametrize(
    ("rule", "snapshot", "percent"),
    [
        (FOOTER, shown("context 12%"), 12),
        (FOOTER, shown("context 0.6% (1.2k/200k)"), 0),
        (FOOTER, shown("context 99.9%"), 99),
        (FOOTER, shown("context 3%", "", "context 4%", ""), 4),
        (FOOTER, shown("context 3%, then context 5%"), 5),
        (FOOTER, shown("a fresh chat"), None),
        (FOOTER, shown("context 101%"), None),
        (FOOTER, shown("context 1.2.3%"), None),
        (FOOTER, shown("context 7%", *(f"line {n}" for n in range(6))), None),
        (FOOTER, shown("context 7%", held=True), None),
        (LEFT, shown("98.5% left"), 1),
        (LEFT, shown("100% left"), 0),
        (LEFT, shown("50% left", "", "a", "", "b"), None),
        (TITLE, shown("context 9%", title="acme 42%"), 42),
        (TITLE, shown("context 9%"), None),
        (ContextUsage(kind=ContextSource.PROTOCOL), shown("context 9%"), None),
        (ContextUsage(), shown("context 9%"), None),
    ],
)
def test_it_is_read_where_the_manifest_says_as_a_whole_percent_of_what_is_used(
    rule: ContextUsage, snapshot: Snapshot, percent: int | None
) -> None:
    assert read_context(rule, snapshot) == percent


def usages(step: Step) -> list[tuple[int | None, ContextSource]]:
    return [(one.body.percent, one.body.source) for one in step.reports if isinstance(one.body, UsageUpdated)]


@pytest.mark.requirement("H-A31")
def test_a_console_tells_it_when_it_changes_once_and_not_again_after_a_restart() -> None:
    settings = TransportSettings(workspace="/w", context_usage=FOOTER)
    now = datetime(2026, 11, 30, tzinfo=UTC)
    machine = TerminalMachine(settings, clock=lambda: now)
    machine.start()
    machine.feed(b"\x1b[2J\x1b[Hhello")
    assert usages(machine.look()) == []
    machine.feed(b"\x1b[24;1Hcontext 12.7%")
    assert usages(machine.look()) == [(12, ContextSource.FOOTER)]
    machine.feed(b"\x1b[24;1Hcontext 12.9%")
    assert usages(machine.look()) == []
    restored = TerminalMachine(settings, snapshot=machine.snapshot(), clock=lambda: now)
    restored.feed(b"\x1b[2J\x1b[24;1Hcontext 12%")
    assert usages(restored.look()) == []
    restored.feed(b"\x1b[2J\x1b[Ha dialog")
    assert usages(restored.look()) == []
    restored.feed(b"\x1b[24;1Hcontext 40%")
    assert usages(restored.look()) == [(40, ContextSource.FOOTER)]


@pytest.mark.requirement("H-A31")
@pytest.mark.parametrize(
    ("harness", "fresh", "used"),
    [
        ("opencode", ("120x40/ready", None), ("120x40/idle", 1)),
        ("vibe", ("120x40/ready", 0), ("tmux-80x24/idle", 1)),
        ("kimi", ("tmux-80x24/ready", 0), ("tmux-80x24/idle", 0)),
        ("pi", ("120x40/ready", 0), ("tmux-80x24/idle", 0)),
    ],
)
def test_the_footers_of_built_in_harnesses_are_read_on_their_recorded_screens(
    harness: str, fresh: tuple[str, int | None], used: tuple[str, int]
) -> None:
    manifest = HarnessHost(Path("/nowhere"), environ={}).registry.manifest(harness)
    rule = manifest.modes["terminal"].context_usage
    snapshots = snapshots_of(harness)

    assert rule.kind is ContextSource.FOOTER
    for state, percent in (fresh, used):
        assert read_context(rule, snapshots[state]) == percent
