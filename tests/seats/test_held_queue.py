"""A queue that would fail prompt by prompt waits: for its operator, or for the time at which a limit ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from inspan.model.capability import Capabilities
from inspan.model.content import MessageChunk
from inspan.model.delivery import HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import DeliverySending, LaunchRequested
from inspan.model.reports import PromptAnswered, PromptReady
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.turn_events import QueueReleased
from inspan.seats.inputs import LimitReset, ProcessExited, QueuePrompt, ReleaseQueue, StartSeat, StopSeat
from inspan.seats.limit_times import find_reset_time
from inspan.seats.stuck_view import note_held
from inspan.seats.view import HarnessFacts, show_seat
from support.seat_scene import ALL, Scene

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
CODES = {"limited": HeldReason.LIMITED, "auth_required": HeldReason.AUTH_REQUIRED}


def fail(scene: Scene, code: str, message: str = "no more", delivery: str = "d-1") -> None:
    outcome = TurnOutcome.LIMITED if code == "limited" else TurnOutcome.FAILED
    error = CallError(code=code, message=message)
    scene.report(PromptAnswered(delivery=delivery, outcome=outcome, raw_reason="error", error=error))


def held(scene: Scene) -> list[HeldReason | None]:
    return [one.held for one in scene.seat.queue]


def sent(scene: Scene) -> list[str]:
    return [one.event.delivery for one in scene.log if isinstance(one.event, DeliverySending)]


@pytest.mark.parametrize("code", sorted(CODES))
def test_what_waits_behind_a_limit_or_a_missing_sign_in_is_held_until_it_is_released(code: str) -> None:
    scene = Scene().running()
    scene.send("d-2")
    scene.send("d-3")
    fail(scene, code)
    assert held(scene) == [CODES[code]] * 2
    assert sent(scene) == ["d-1"]
    view = show_seat(scene.seat, HarnessFacts(name="Made Up", capabilities=ALL), scene.now)
    assert view.status == "held"
    assert "inspan release worker" in view.queue[0].hint
    assert note_held(scene.seat)[0].startswith("2 prompts wait, since ")
    scene.send("d-4")
    assert held(scene) == [CODES[code]] * 3
    scene.give(ReleaseQueue())
    assert held(scene) == [None, None]
    assert sent(scene) == ["d-1", "d-2"]


def test_a_prompt_that_nothing_waits_before_is_its_sender_s_own_attempt() -> None:
    scene = Scene().running()
    fail(scene, "limited")
    scene.send("d-2")
    scene.send("d-3")
    assert sent(scene) == ["d-1", "d-2"]
    fail(scene, "limited", delivery="d-2")
    assert held(scene) == [HeldReason.LIMITED]


def test_a_start_releases_and_an_override_goes_first() -> None:
    scene = Scene().running()
    scene.send("d-2")
    fail(scene, "limited")
    scene.give(QueuePrompt(delivery="d-3", text="now", override="the limit was raised"))
    assert sent(scene) == ["d-1", "d-3"]
    scene.answered("d-3")
    assert held(scene) == [HeldReason.LIMITED]
    scene.give(StartSeat())
    assert sent(scene) == ["d-1", "d-3", "d-2"]


def test_a_turn_that_used_up_a_budget_of_its_own_holds_nothing() -> None:
    scene = Scene().running()
    scene.send("d-2")
    scene.answered("d-1", TurnOutcome.LIMITED, "max_tokens")
    assert sent(scene) == ["d-1", "d-2"]


def test_a_limit_whose_end_was_told_as_a_time_holds_until_then() -> None:
    scene = Scene().running()
    scene.send("d-2")
    fail(scene, "limited", "You are out. It resets at 1pm (UTC).")
    assert scene.seat.queue[0].held_until == scene.now.replace(hour=13, minute=0, second=0)
    assert "until 2026-11-30 13:00 UTC" in note_held(scene.seat)[0]
    assert scene.give(LimitReset()) == []
    scene.now += timedelta(hours=1)
    assert isinstance(scene.give(LimitReset())[0], QueueReleased)
    assert sent(scene) == ["d-1", "d-2"]


def test_a_seat_that_was_stopped_is_not_started_by_the_end_of_a_limit() -> None:
    scene = Scene().running()
    scene.send("d-2")
    fail(scene, "limited", "It resets at 1pm (UTC).")
    scene.give(StopSeat())
    scene.give(ProcessExited(launch=scene.launch, exit_code=0))
    scene.now += timedelta(hours=2)
    assert scene.give(LimitReset()) == []
    assert held(scene) == [HeldReason.LIMITED]
    scene.give(StartSeat())
    assert held(scene) == [None]


def test_one_shot_runs_do_not_go_on_one_after_the_other_into_the_same_limit() -> None:
    scene = Scene(one_shot=True, capabilities=Capabilities(resume=ALL.resume, activity=ALL.activity))
    scene.send("d-1")
    scene.send("d-2")
    scene.connect()
    scene.report(PromptReady())
    scene.wrote("d-1")
    scene.report(MessageChunk(role="agent", text="x"))
    fail(scene, "limited", "It resets at 1pm (UTC).")
    scene.give(ProcessExited(launch=scene.launch, exit_code=1))
    assert scene.count(LaunchRequested) == 1
    assert held(scene) == [HeldReason.LIMITED]
    scene.send("d-3")
    assert scene.count(LaunchRequested) == 1
    scene.now += timedelta(hours=2)
    scene.give(LimitReset())
    assert scene.count(LaunchRequested) == 2
    assert held(scene) == [None, None]


def test_a_release_of_nothing_is_refused_with_what_else_holds() -> None:
    scene = Scene().running()
    with pytest.raises(UsageError) as refusal:
        scene.give(ReleaseQueue())
    assert (refusal.value.code, refusal.value.hint) == ("nothing_held", "")
    scene.send("d-2")
    scene.give(StopSeat())
    scene.give(ProcessExited(launch=scene.launch, exit_code=0))
    with pytest.raises(UsageError, match="No prompt of worker is held") as other:
        scene.give(ReleaseQueue())
    assert "inspan start worker" in other.value.hint


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("resets 2026-11-30T14:30:00Z", datetime(2026, 11, 30, 14, 30, tzinfo=UTC)),
        ("Try again after 2026-12-01 09:00 +02:00.", datetime(2026, 12, 1, 7, 0, tzinfo=UTC)),
        ("Weekly limit · resets 3:30pm (Europe/Berlin)", datetime(2026, 11, 30, 14, 30, tzinfo=UTC)),
        ("resets 9am (Europe/Berlin)", datetime(2026, 12, 1, 8, 0, tzinfo=UTC)),
        ("It resets at 17:05 UTC", datetime(2026, 11, 30, 17, 5, tzinfo=UTC)),
        ("It resets at 3pm.", None),
        ("try again at 3:45 PM", None),
        ("resets in 3 hours", None),
        ("resets 2026-11-29T14:30:00Z", None),
        ("resets 2036-11-30T14:30:00Z", None),
        ("resets 25:99 (Europe/Berlin)", None),
        ("resets 3pm (Nowhere/Land)", None),
        ("again 13am (UTC)", None),
        ("at 2026-11-30T14:30:00Z the model was asked", None),
        ("", None),
    ],
)
def test_a_reset_time_is_taken_only_where_it_means_one_instant(words: str, at: datetime | None) -> None:
    assert find_reset_time(words, NOW) == at
