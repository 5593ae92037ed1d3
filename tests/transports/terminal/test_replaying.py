"""A recording replayed as changes of state, and when a launch may be typed to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from inspan.model.evidence import Source
from inspan.model.screen_rules import ScreenRule, ScreenRules
from inspan.transports.terminal.arbitration import Verdict
from inspan.transports.terminal.console import Console
from inspan.transports.terminal.evaluating import Match, Reading
from inspan.transports.terminal.readiness import NOT_READY, STABLE_S, Readiness, follow_readiness
from inspan.transports.terminal.replaying import replay_console
from support.terminal_recordings import read_rules, recorded_sets, stream_of

START = datetime(2026, 11, 30, tzinfo=UTC)


def test_a_recording_goes_through_its_states_and_ends_with_the_last() -> None:
    (recorded,) = [recorded for recorded in recorded_sets("codex") if recorded.name == "120x40"]
    state = recorded.states["approval"]
    stream = stream_of(recorded, state.stream)[: state.offset]
    changes = list(replay_console(stream, size=recorded.size, rules=read_rules("codex")))
    assert [change.is_last for change in changes] == [False] * (len(changes) - 1) + [True]
    assert [(change.state, change.kind) for change in changes[-2:]] == [("needs_input", "permission")] * 2
    assert changes[-1].offset == len(stream)
    assert changes[-1].evidence
    told = [(change.state, change.gate) for change in changes]
    assert (
        told.index(("needs_input", "hooks_review"))
        < told.index(("idle", None))
        < told.index(("running", None))
    )


def test_an_empty_recording_is_unknown() -> None:
    rules = ScreenRules(schema=1, source="test", verified="today", rules=())
    (only,) = replay_console(b"", size=recorded_sets("pi")[0].size, rules=rules)
    assert (only.state, only.rule, only.source, only.is_last) == ("unknown", "default", Source.CORE, True)


@pytest.mark.parametrize("harness", ["gemini", "qwen", "copilot"])
def test_an_error_or_a_limit_is_named_in_the_last_line(harness: str) -> None:
    recorded = recorded_sets(harness)[0]
    state = recorded.states["autherror"]
    stream = stream_of(recorded, state.stream)[: state.offset]
    *_, last = replay_console(stream, size=recorded.size, rules=read_rules(harness), step_bytes=4096)
    assert (last.state, last.error) == ("idle", "auth_required")


READY = Reading(
    ready=Match(rule=ScreenRule(name="free", report="ready", priority=1, all=("x",)), evidence="x")
)


def follow(before: Readiness, reading: Reading, verdict: Verdict, seconds: float) -> Readiness:
    return follow_readiness(before, reading, verdict, now=START + timedelta(seconds=seconds))


@pytest.mark.requirement("H-A25")
def test_a_launch_is_ready_once_its_prompt_line_has_been_there_for_a_while() -> None:
    seen = follow(NOT_READY, READY, Verdict(activity="idle"), 0)
    assert not seen.is_ready
    assert "of 1.5" in seen.reason
    assert follow(seen, READY, Verdict(activity="idle"), STABLE_S).is_ready
    gone = follow(seen, Reading(), Verdict(), 1)
    assert not follow(gone, READY, Verdict(activity="idle"), STABLE_S).is_ready


def test_a_dialog_takes_readiness_away_whatever_is_drawn_behind_it() -> None:
    ready = follow(follow(NOT_READY, READY, Verdict(), 0), READY, Verdict(), 2)
    covered = follow(ready, READY, Verdict(activity="needs_input", gate="hooks_review"), 3)
    assert not covered.is_ready
    assert "hooks_review" in covered.reason


def test_an_ignored_view_leaves_readiness_as_it_was() -> None:
    seen = follow(NOT_READY, READY, Verdict(), 0)
    assert follow(seen, Reading(is_ignored=True), Verdict(), 1) == seen


@pytest.mark.requirement("H-N27", "H-D29")
def test_a_new_launch_begins_on_an_empty_terminal_and_is_not_ready_by_what_an_earlier_one_left() -> None:
    (recorded,) = [recorded for recorded in recorded_sets("pi") if recorded.name == "120x40"]
    rules = read_rules("pi")
    state = recorded.states["ready"]
    earlier, later = Console(recorded.size, rules=rules), Console(recorded.size, rules=rules)
    earlier.feed(stream_of(recorded, state.stream)[: state.offset], at=START)
    for console, is_ready in ((earlier, True), (later, False)):
        readiness = NOT_READY
        for seconds in (0, 2):
            now = START + timedelta(seconds=seconds)
            verdict = console.look(now=now)
            readiness = follow_readiness(readiness, console.reading, verdict, now=now)
        assert readiness.is_ready is is_ready
        console.close()


@pytest.mark.parametrize("name", ["120x40", "80x24"])
def test_a_part_that_is_erased_and_drawn_anew_is_not_looked_at_in_between(name: str) -> None:
    (recorded,) = [recorded for recorded in recorded_sets("gemini") if recorded.name == name]
    state = recorded.states["idle-after-error"]
    stream = stream_of(recorded, state.stream)[: state.offset]
    states = [
        change.state for change in replay_console(stream, size=recorded.size, rules=read_rules("gemini"))
    ]
    first = next(at for at, known in enumerate(states) if known != "unknown")
    assert "unknown" not in states[first:]
    assert len(states) < 40


def test_a_program_that_never_wraps_is_looked_at_all_the_same() -> None:
    rules = ScreenRules(
        schema=1,
        source="test",
        verified="today",
        rules=(ScreenRule(name="busy", report="running", priority=1, all=("busy",)),),
    )
    stream = b"\x1b[?7l" + b"\r\n" * 2500 + b"busy" + b"\x1b[2K\r" + b"\r\n" * 300
    size = recorded_sets("pi")[0].size
    states = [change.state for change in replay_console(stream, size=size, rules=rules, step_bytes=1)]
    assert states == ["unknown", "running", "unknown", "unknown"]
