"""The typist where real consoles showed that a look, a key or a word was not enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from inspan.model.console import KeptError
from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.typing_recipe import Composer, TypingRecipe
from inspan.transports.terminal.arbitration import Verdict
from inspan.transports.terminal.composer import ComposerState
from inspan.transports.terminal.message import encode_message
from inspan.transports.terminal.screen import CursorPlace, ScreenSize, Snapshot
from inspan.transports.terminal.typist import Act, Sight, Typed, take_step

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RECIPE = TypingRecipe(composer=Composer(home="^> "))
WORKING = Verdict(activity="running", source=Source.PROGRAM_STATUS, rule="status.working")
SUBMITTED = Typed(delivery="d", at=BEGIN, phase="working")


def sight(after_s: float, verdict: Verdict) -> Sight:
    return Sight(now=BEGIN + timedelta(seconds=after_s), verdict=verdict, composer="empty")


def test_work_that_goes_on_after_its_interrupt_is_interrupted_again_and_not_for_ever() -> None:
    typed = msgspec.structs.replace(SUBMITTED, is_cancelled=True, keys=RECIPE.interrupt)
    pressed: list[float] = []
    for tick in range(200):
        act = take_step(typed, sight(tick / 10, WORKING), RECIPE)
        assert act.typed is not None
        typed = msgspec.structs.replace(act.typed, is_writing=False)
        if act.keys:
            assert (act.keys, act.press) == (("escape",), "interrupt")
            pressed.append(tick / 10)
    assert pressed == [0.0, 2.0, 4.0]


def test_work_that_nobody_interrupted_is_left_alone() -> None:
    for tick in range(50):
        assert take_step(SUBMITTED, sight(tick, WORKING), RECIPE).keys == ()


@pytest.mark.parametrize("phase", ["submitted", "working"])
def test_a_turn_that_is_only_told_to_have_failed_waits_a_moment_for_what_it_failed_with(phase: str) -> None:
    typed = msgspec.structs.replace(SUBMITTED, phase=phase)
    failed = Verdict(
        activity="idle",
        source=Source.PROGRAM_STATUS,
        rule="status.error",
        at=BEGIN + timedelta(seconds=1),
        is_turn_over=True,
        error=KeptError(message="429"),
    )
    act = take_step(typed, sight(1, failed), RECIPE)
    assert (act.ending, act.typed is None) == (None, False)
    assert act.typed is not None
    error = KeptError(rule="limit", message="429", code="limited")
    named = msgspec.structs.replace(failed, error=error)
    assert take_step(act.typed, sight(1.01, named), RECIPE).ending == "limited"
    assert take_step(act.typed, sight(1.4, failed), RECIPE).ending == "failed"


def test_what_ends_a_text_is_inside_its_paste() -> None:
    snapshot = Snapshot(
        size=ScreenSize(rows=2, columns=20),
        lines=("", ""),
        cursor=CursorPlace(row=0, column=0, is_visible=True),
        revision=1,
        modes=frozenset({2004}),
    )
    ended = msgspec.structs.replace(RECIPE, text_end=" ")
    assert encode_message("see @a", RECIPE, snapshot) == (b"\x1b[200~see @a\x1b[201~",)
    assert encode_message("see @a", ended, snapshot) == (b"\x1b[200~see @a \x1b[201~",)


def test_a_console_that_redraws_before_its_first_work_is_not_taken_for_one_that_was_done_at_once() -> None:
    idle = Verdict(activity="idle", source=Source.SCREEN, rule="composer.free")
    typed = msgspec.structs.replace(SUBMITTED, phase="submitted")
    for after_s, verdict in ((0.0, idle), (5.0, idle), (5.5, Verdict()), (7.0, idle), (12.5, idle)):
        act = take_step(typed, sight(after_s, verdict), RECIPE)
        assert act.ending is None, after_s
        assert act.typed is not None
        typed = act.typed
    assert take_step(typed, sight(13.0, idle), RECIPE).ending == "completed"


@pytest.mark.parametrize(("is_command", "presses"), [(False, 1), (True, 0)])
def test_a_command_is_submitted_once_for_what_it_opens_may_take_the_next_enter(
    is_command: bool, presses: int
) -> None:
    idle = Verdict(activity="idle", source=Source.SCREEN, rule="composer.free")
    typed = msgspec.structs.replace(SUBMITTED, phase="submitted", tries=1, is_command=is_command)
    pressed = 0
    for tick in range(30):
        seen = msgspec.structs.replace(sight(tick / 10, idle), composer="text", blocks=("draft",))
        act = take_step(typed, seen, RECIPE)
        assert act.typed is not None
        typed = msgspec.structs.replace(act.typed, is_writing=False)
        pressed += bool(act.keys)
    assert pressed == presses
    late = msgspec.structs.replace(sight(11, idle), composer="text", blocks=("draft",))
    assert take_step(typed, late, RECIPE).fault == "ignored"


ASKED = Verdict(
    activity="needs_input", source=Source.SCREEN, rule="dialog.other", kind=NeedsInputKind.QUESTION
)
COMMAND = msgspec.structs.replace(SUBMITTED, phase="submitted", tries=1, is_command=True)


def follow(typed: Typed, verdict: Verdict, *, for_s: float, composer: ComposerState = "elsewhere") -> Act:
    """Looks ten times a second, until the prompt is over or the time is."""
    act = Act(typed=typed)
    for tick in range(round(for_s * 10)):
        seen = msgspec.structs.replace(sight(tick / 10, verdict), composer=composer)
        act = take_step(typed, seen, RECIPE)
        if act.typed is None:
            return act
        typed = act.typed
    return act


@pytest.mark.requirement("L22")
def test_a_command_that_opened_a_dialog_has_done_what_it_does_and_waits_for_nobody_to_close_it() -> None:
    act = follow(COMMAND, ASKED, for_s=10)
    assert (act.ending, act.has_opened, act.is_rendered, act.keys) == ("completed", True, True, ())


@pytest.mark.requirement("L22")
@pytest.mark.parametrize(
    ("typed", "verdict"),
    [
        (msgspec.structs.replace(COMMAND, is_command=False), ASKED),
        (msgspec.structs.replace(COMMAND, was_asked=True), ASKED),
        (msgspec.structs.replace(COMMAND, phase="working"), ASKED),
        (COMMAND, msgspec.structs.replace(ASKED, kind=NeedsInputKind.PERMISSION)),
    ],
    ids=["a prompt", "a dialog that was up before", "a turn that works", "a question of its turn"],
)
def test_a_dialog_that_may_belong_to_a_turn_ends_none(typed: Typed, verdict: Verdict) -> None:
    assert follow(typed, verdict, for_s=60).typed is not None


@pytest.mark.requirement("L22")
@pytest.mark.parametrize("verdict", [Verdict(), Verdict(activity="idle", source=Source.SCREEN, rule="free")])
def test_of_a_command_whose_input_line_stays_covered_nobody_can_say_what_became(verdict: Verdict) -> None:
    assert follow(COMMAND, verdict, for_s=9.5).typed is not None
    act = follow(COMMAND, verdict, for_s=11)
    assert (act.typed, act.fault, act.ending) == (None, "covered", None)
    shown = follow(COMMAND, verdict, for_s=11, composer="text")
    assert shown.fault in ("", "ignored")


POSTED = msgspec.structs.replace(SUBMITTED, phase="submitted", is_posted=True)
IDLE = Verdict(activity="idle", source=Source.SCREEN, rule="composer.free")


@pytest.mark.requirement("L19")
def test_a_cancelled_prompt_that_its_inbox_holds_is_waited_for_and_then_called_unknown() -> None:
    assert follow(POSTED, IDLE, for_s=300, composer="empty").typed is not None
    cancelled = msgspec.structs.replace(POSTED, is_cancelled=True, keys=RECIPE.interrupt)
    act = follow(cancelled, IDLE, for_s=29, composer="empty")
    assert (act.typed is not None, act.keys) == (True, ())
    assert follow(cancelled, IDLE, for_s=31, composer="empty").fault == "untaken"
    assert follow(cancelled, Verdict(), for_s=31).fault == "untaken"
    # A dialog may be one of its turn.
    assert follow(cancelled, ASKED, for_s=60).typed is not None


@pytest.mark.requirement("L19")
def test_a_cancelled_prompt_that_its_inbox_held_is_interrupted_once_it_begins() -> None:
    cancelled = msgspec.structs.replace(POSTED, is_cancelled=True, keys=RECIPE.interrupt)
    waiting = follow(cancelled, IDLE, for_s=10, composer="empty").typed
    assert waiting is not None
    begun = take_step(waiting, sight(10, WORKING), RECIPE).typed
    assert begun is not None
    act = take_step(begun, sight(10.1, WORKING), RECIPE)
    assert (act.keys, act.press) == (RECIPE.interrupt, "interrupt")
