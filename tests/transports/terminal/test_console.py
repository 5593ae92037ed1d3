"""A console from its bytes to the verdict: order of answers, half-drawn screens, hooks, resets and bad input."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.screen_rules import Region, ScreenRule, ScreenRules
from inspan.transports.terminal.claims import Claim
from inspan.transports.terminal.console import HELD_LIMIT_S, Console
from inspan.transports.terminal.screen import ScreenSize

SIZE = ScreenSize(rows=24, columns=80)
RULES = ScreenRules(
    schema=1,
    source="test",
    verified="today",
    rules=(
        ScreenRule(
            name="overlay",
            report="ignore",
            priority=99,
            region=Region(of="last_rows", rows=1),
            all=("^-- HELP --$",),
        ),
        ScreenRule(
            name="dialog",
            report="needs_input",
            kind=NeedsInputKind.PERMISSION,
            priority=90,
            region=Region(of="last_rows", rows=2),
            all=(r"^Allow\? \[y/n\]$",),
        ),
        ScreenRule(
            name="busy",
            report="running",
            priority=50,
            region=Region(of="last_rows", rows=2),
            all=("^working",),
        ),
        ScreenRule(
            name="free", report="idle", priority=10, region=Region(of="last_rows", rows=1), all=("^>",)
        ),
        ScreenRule(name="spinner", report="running", priority=10, title_any=("^[⠀-⣿] ",)),
    ),
)
CLEAR = b"\x1b[2J\x1b[H"
START = datetime(2026, 11, 30, tzinfo=UTC)


class Scene:
    """A console with a clock of its own."""

    def __init__(self, size: ScreenSize = SIZE) -> None:
        self.console = Console(size, rules=RULES)
        self.now = START

    def write(self, data: bytes | str) -> bytes:
        return self.console.feed(data if isinstance(data, bytes) else data.encode(), at=self.now)

    def activity(self) -> str:
        return self.console.look(now=self.now).activity

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def report(fields: str) -> str:
    return f"\x1b]7501;{fields}\x1b\\"


def test_the_status_question_is_answered_with_its_own_bytes_before_the_fence(scene: Scene) -> None:
    assert scene.write("\x1b]7501;?\x07\x1b[c") == b"\x1b]7501;?\x07\x1b[?62;22c"
    assert scene.write("\x1b]7501;?\x1b\\\x1b[c") == b"\x1b]7501;?\x1b\\\x1b[?62;22c"
    assert scene.console.explain(now=scene.now).was_asked


def test_reports_and_rules_are_weighed_together(scene: Scene) -> None:
    assert scene.activity() == "unknown"
    scene.write(report("state=idle") + "> ")
    assert scene.activity() == "idle"
    scene.write(report("state=working"))
    verdict = scene.console.look(now=scene.now)
    assert (verdict.activity, verdict.source) == ("running", Source.PROGRAM_STATUS)


def test_a_blocked_report_can_be_answered_only_once_its_dialog_is_drawn(scene: Scene) -> None:
    scene.write(report("state=blocked:kind=permission") + "working (0s)")
    early = scene.console.look(now=scene.now)
    assert (early.activity, early.kind, early.is_drawn) == ("needs_input", NeedsInputKind.PERMISSION, False)
    scene.wait(0.8)
    scene.write(CLEAR + b"Allow? [y/n]")
    drawn = scene.console.look(now=scene.now)
    assert (drawn.activity, drawn.is_drawn) == ("needs_input", True)


@pytest.mark.parametrize("mark", ["\x1bc", "\x1b]133;A\x07"])
def test_what_was_reported_ends_with_a_reset_and_what_comes_after_it_counts(scene: Scene, mark: str) -> None:
    scene.write(report("state=working") + report("state=working:id=a") + mark)
    assert scene.activity() == "unknown"
    scene.write(report("state=idle") + mark + report("state=working"))
    assert scene.activity() == "running"


def test_children_do_not_move_the_root(scene: Scene) -> None:
    scene.write(report("state=idle") + report("state=working:id=a"))
    verdict = scene.console.look(now=scene.now)
    assert verdict.activity == "idle"
    assert [work.id for work in verdict.background] == ["a"]


def test_a_half_drawn_screen_is_not_read_until_it_is_whole_or_was_held_too_long(scene: Scene) -> None:
    scene.write("> ")
    assert scene.activity() == "idle"
    scene.write(b"\x1b[?2026h" + CLEAR + b"working")
    assert scene.activity() == "idle"
    scene.write(b"\x1b[?2026l")
    assert scene.activity() == "running"
    scene.write(b"\x1b[?2026h" + CLEAR + b"> ")
    assert scene.activity() == "running"
    scene.wait(HELD_LIMIT_S)
    assert scene.activity() == "idle"


def test_a_view_that_is_ignored_leaves_what_was_believed(scene: Scene) -> None:
    scene.write("working")
    assert scene.activity() == "running"
    scene.write(CLEAR + b"> \r\n-- HELP --")
    assert scene.activity() == "running"
    scene.write(CLEAR + b"> ")
    assert scene.activity() == "idle"


@pytest.mark.requirement("H-C3")
def test_a_hook_is_heard_and_a_dialog_overrules_it(scene: Scene) -> None:
    scene.console.hear(
        Claim(source=Source.HOOK, rule="hook.tool", activity="running", at=scene.now, sequence=1)
    )
    assert scene.activity() == "running"
    scene.write("Allow? [y/n]")
    assert scene.activity() == "needs_input"


@pytest.mark.requirement("L2")
def test_quiet_ends_nothing(scene: Scene) -> None:
    scene.write("working")
    for _ in range(20):
        scene.wait(60)
        assert scene.activity() == "running"


def test_a_title_is_evidence_by_itself(scene: Scene) -> None:
    scene.write("\x1b]2;⠋ busy\x07")
    verdict = scene.console.look(now=scene.now)
    assert (verdict.activity, verdict.source) == ("running", Source.TITLE)
    scene.write("\x1b]2;done\x07")
    assert scene.activity() == "unknown"


@pytest.mark.requirement("L4")
def test_an_explanation_has_the_rules_the_claims_the_screen_and_the_records(scene: Scene) -> None:
    scene.write("> " + report("state=working") + report("state=nonsense"))
    told = scene.console.explain(now=scene.now)
    assert [trial.rule for trial in told.reading.trials] == ["overlay", "dialog", "busy", "free", "spinner"]
    assert [considered.outcome for considered in told.verdict.considered] == ["believed", "outranked"]
    assert told.snapshot.lines[0] == ">"
    assert set(told.records.records) == {""}
    assert told.discarded_reports == 1
    assert "state" in told.last_discard


def test_a_program_that_is_no_harness_stays_unknown(scene: Scene) -> None:
    scene.write("$ ls\r\nREADME.md  src  tests\r\n$ ")
    assert scene.activity() == "unknown"


def test_text_that_imitates_a_dialog_further_up_is_not_one(scene: Scene) -> None:
    scene.write("Allow? [y/n]\r\nthat is how it would look\r\n\r\n> ")
    assert scene.activity() == "idle"


def test_reports_by_the_thousand_are_bounded_and_the_newest_counts(scene: Scene) -> None:
    scene.write(
        "".join(report(f"state=working:id=n{number}") for number in range(5000)) + report("state=idle")
    )
    verdict = scene.console.look(now=scene.now)
    assert verdict.activity == "idle"
    assert len(verdict.background) == 255


def test_a_terminal_of_one_cell_and_back_is_unknown_and_then_right(scene: Scene) -> None:
    scene.write("working")
    scene.console.resize(ScreenSize(rows=1, columns=1))
    assert scene.activity() == "unknown"
    scene.console.resize(SIZE)
    scene.write(CLEAR + b"> ")
    assert scene.activity() == "idle"


def test_output_that_does_not_stop_is_followed(scene: Scene) -> None:
    page = ("\x1b[31mnoise \x1b[0m" * 12 + "\r\n").encode() * 200
    for _ in range(40):
        scene.write(page)
        assert scene.activity() == "unknown"
    scene.write(CLEAR + b"> ")
    assert scene.activity() == "idle"


def test_bytes_without_sense_do_no_harm(scene: Scene) -> None:
    noise = random.Random(4)
    for _ in range(200):
        scene.write(noise.randbytes(500) + b"\x1b]7501;" + noise.randbytes(20))
        assert scene.activity() in ("unknown", "running", "idle", "needs_input")
    scene.write(b"\x18\x1b\\\x1bc> ")
    assert scene.activity() == "idle"
