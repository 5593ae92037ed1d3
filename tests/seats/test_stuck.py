"""A turn that cannot end is ended with its harness, which goes on with the same conversation, on paper."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inspan.model.capability import Claim, Support
from inspan.model.console import ConsoleJudged, KeptError
from inspan.model.content import ErrorReported, MessageChunk
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.events import (
    DeliverySending,
    Event,
    LaunchEnded,
    LaunchRequested,
    StopRequested,
    TurnEnded,
)
from inspan.model.reports import PromptAnswered, PromptStarted, SessionFailed, WillRetry
from inspan.model.session import ResumeOutcome
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.turn_events import TurnStuck
from inspan.seats.inputs import (
    HolderLost,
    ProcessExited,
    ReleaseQueue,
    Resumed,
    StopSeat,
    TurnFellQuiet,
    TurnFellStuck,
)
from inspan.seats.stuck import RESTARTS_IN_A_ROW, silent_s
from inspan.seats.stuck_view import note_stuck_turn
from support.seat_scene import Scene, claims

BROKEN = CallError(code="call_failed", message="the provider hung up")
ACTIVE = CallError(code="active_run", message="agent already has an active run", raw_code=-32603)


def kinds(events: list[Event]) -> list[str]:
    return [type(one).__name__ for one in events]


def erred() -> Scene:
    """A turn that showed an error, with another prompt behind it."""
    scene = Scene().running()
    scene.send("d-2")
    scene.report(ErrorReported(error=BROKEN))
    return scene


def fall_stuck(scene: Scene) -> list[Event]:
    assert scene.seat.in_flight is not None
    return scene.give(TurnFellStuck(turn=scene.seat.in_flight.turn, after_s=60))


def refuse(scene: Scene, delivery: str = "d-1") -> list[Event]:
    return scene.report(
        PromptAnswered(delivery=delivery, outcome=TurnOutcome.FAILED, raw_reason="error", error=ACTIVE)
    )


@pytest.mark.requirement("H-N14", "H-H11")
def test_an_error_without_an_end_restarts_the_harness_on_its_conversation_and_keeps_the_queue() -> None:
    scene = erred()
    old = scene.launch
    assert kinds(fall_stuck(scene)) == ["TurnStuck", "StopRequested"]
    assert scene.last(StopRequested).by == "core"
    assert scene.seat.in_flight is not None  # until its process is gone
    events = scene.give(ProcessExited(launch=old, signal=9))
    assert kinds(events) == ["TurnEnded", "LaunchEnded", "LaunchRequested"]
    ended, asked = scene.last(TurnEnded), scene.last(LaunchRequested)
    assert (ended.outcome, ended.error) == (TurnOutcome.FAILED, BROKEN)
    assert asked.reference is not None
    assert (asked.attempt, asked.by, asked.reference.id) == ("resume", "stuck", "s-1")
    assert [(one.delivery, one.held) for one in scene.seat.queue] == [("d-2", None)]
    scene.open_session()
    assert scene.last(DeliverySending).delivery == "d-2"
    sent = [one.event.delivery for one in scene.log if isinstance(one.event, DeliverySending)]
    assert sent == ["d-1", "d-2"]  # the prompt of the stuck turn is not repeated


@pytest.mark.requirement("H-N15", "H-H11")
def test_a_harness_that_says_that_a_run_is_active_is_restarted_at_once() -> None:
    scene = Scene().running()
    scene.send("d-2")
    events = refuse(scene)
    assert kinds(events) == ["TurnEnded", "TurnStuck", "StopRequested"]
    assert scene.seat.in_flight is None
    assert [one.held for one in scene.seat.queue] == [None]
    scene.give(ProcessExited(launch=scene.launch, exit_code=0))
    assert scene.last(LaunchRequested).by == "stuck"
    scene.open_session()
    assert scene.last(DeliverySending).delivery == "d-2"


def test_a_prompt_that_was_never_written_returns_to_the_queue_and_is_sent_after_the_restart() -> None:
    scene = Scene()
    scene.send("d-1")
    scene.open_session()
    scene.report(ErrorReported(error=BROKEN))
    fall_stuck(scene)
    scene.give(ProcessExited(launch=scene.launch, signal=9))
    scene.open_session()
    assert scene.last(DeliverySending).delivery == "d-1"


def test_a_wedge_that_a_console_names_restarts_it_and_one_from_before_the_turn_does_not() -> None:
    wedge = ConsoleJudged(activity="running", error=KeptError(code="wedged", message="stuck", rule="wedge"))
    scene = Scene().running()
    assert "TurnStuck" in kinds(scene.report(wedge))
    before = Scene()
    before.send()
    before.connect()
    before.report(wedge)
    before.open_session()
    before.wrote()
    assert before.count(TurnStuck) == 0
    assert kinds(before.report(wedge)) == ["ConsoleJudged"]


def test_a_console_is_stuck_by_an_error_only_while_nothing_else_is_seen_of_it() -> None:
    scene = Scene().running()
    error = KeptError(message="connection lost", rule="error")
    scene.report(ConsoleJudged(activity="running", error=error))
    assert silent_s(scene.seat, scene.now, 0) is None
    scene.report(ConsoleJudged(activity="unknown", error=error))
    assert silent_s(scene.seat, scene.now + timedelta(seconds=70), 0) == 70
    scene.report(ConsoleJudged(activity="needs_input", error=error))
    assert silent_s(scene.seat, scene.now + timedelta(seconds=70), 0) is None
    assert fall_stuck(scene) == []


def test_quiet_alone_restarts_nothing() -> None:
    scene = Scene().running()
    assert scene.seat.in_flight is not None
    assert kinds(scene.give(TurnFellQuiet(turn=scene.seat.in_flight.turn, limit_s=600))) == ["TurnWentQuiet"]
    assert silent_s(scene.seat, scene.now + timedelta(hours=1), 3600) is None
    assert fall_stuck(scene) == []


def test_work_after_an_error_and_a_turn_that_waits_for_a_person_are_not_stuck() -> None:
    scene = erred()
    assert silent_s(scene.seat, scene.now + timedelta(seconds=90), 80) == 80
    scene.report(MessageChunk(role="agent", text="and on"))
    assert silent_s(scene.seat, scene.now + timedelta(seconds=90), 80) is None
    assert fall_stuck(scene) == []
    scene.report(ErrorReported(error=BROKEN))
    scene.ask()
    assert silent_s(scene.seat, scene.now + timedelta(seconds=90), 80) is None
    assert fall_stuck(scene) == []


def test_a_harness_that_said_when_it_tries_again_has_until_then() -> None:
    scene = Scene().running()
    scene.report(WillRetry(reason="busy", delay_s=300))
    assert silent_s(scene.seat, scene.now + timedelta(seconds=290), 290) == -10
    assert silent_s(scene.seat, scene.now + timedelta(seconds=361), 361) == 61


def test_a_harness_that_cannot_resume_is_not_restarted_and_that_is_said_once() -> None:
    scene = Scene(capabilities=claims(resume=Claim(support=Support.UNSUPPORTED, note="It keeps nothing.")))
    scene.running()
    scene.report(ErrorReported(error=BROKEN))
    assert kinds(fall_stuck(scene)) == ["TurnStuck"]
    assert fall_stuck(scene) == []
    said = scene.last(TurnStuck)
    assert (said.action, said.restarts) == ("none", 0)
    assert "It keeps nothing." in said.why_not
    assert "left as it is" in note_stuck_turn(scene.seat)[0]
    assert scene.seat.live_launch is not None
    assert scene.seat.live_launch.status == "ready"


def test_restarts_in_a_row_are_bounded_and_then_the_queue_waits_for_a_person() -> None:
    scene = Scene().running()
    for number in range(1, RESTARTS_IN_A_ROW + 2):
        scene.send(f"n-{number}")
        delivery = scene.seat.in_flight.delivery if scene.seat.in_flight else ""
        refuse(scene, delivery)
        scene.give(ProcessExited(launch=scene.launch, signal=9))
        if number <= RESTARTS_IN_A_ROW:
            assert scene.last(TurnStuck).restarts == number
            scene.open_session()
    assert scene.last(TurnStuck).action == "stop"
    assert scene.seat.live_launch is None
    assert [one.held for one in scene.seat.queue] == [HeldReason.STUCK]
    scene.send("late")
    assert [one.held for one in scene.seat.queue] == [HeldReason.STUCK] * 2
    assert scene.seat.live_launch is None
    scene.give(ReleaseQueue())
    assert scene.last(LaunchRequested).attempt == "resume"
    assert scene.seat.stuck is None
    assert [one.held for one in scene.seat.queue] == [None, None]


def test_a_turn_that_ends_well_begins_the_count_anew() -> None:
    scene = Scene().running()
    refuse(scene)
    scene.give(ProcessExited(launch=scene.launch, signal=9))
    scene.send("d-2")
    scene.open_session()
    assert scene.seat.stuck is not None
    scene.report(PromptStarted(delivery="d-2"))
    scene.answered("d-2")
    assert scene.seat.stuck is None


def test_a_daemon_that_comes_back_in_the_middle_goes_on_with_the_restart() -> None:
    scene = erred()
    fall_stuck(scene)
    assert scene.give(Resumed()) == []
    scene.give(HolderLost(launch=scene.launch))
    assert scene.last(LaunchRequested).by == "stuck"


def test_a_stop_of_the_operator_in_the_middle_is_the_end() -> None:
    scene = erred()
    fall_stuck(scene)
    scene.give(StopSeat())
    scene.give(ProcessExited(launch=scene.launch, signal=9))
    assert scene.last(LaunchEnded).reason == "stopped"
    assert scene.count(LaunchRequested) == 1
    assert [one.held for one in scene.seat.queue] == [HeldReason.STOPPED]


def test_a_conversation_that_does_not_come_back_is_not_replaced() -> None:
    scene = erred()
    fall_stuck(scene)
    scene.give(ProcessExited(launch=scene.launch, signal=9))
    scene.connect()
    scene.report(SessionFailed(outcome=ResumeOutcome.MISSING, error=BROKEN))
    scene.give(ProcessExited(launch=scene.launch, exit_code=0))
    assert scene.seat.live_launch is None
    assert [one.held for one in scene.seat.queue] == [HeldReason.AWAITING_DECISION]


def test_a_one_shot_run_that_is_stuck_is_ended_and_the_next_prompt_has_its_own() -> None:
    scene = Scene(one_shot=True)
    scene.running()
    scene.report(ErrorReported(error=BROKEN))
    fall_stuck(scene)
    assert kinds(scene.give(ProcessExited(launch=scene.launch, signal=9))) == ["TurnEnded", "LaunchEnded"]
    scene.send("d-2")
    assert scene.last(LaunchRequested).attempt == "resume"
    assert scene.seat.last_turn is not None
    assert scene.seat.last_turn.outcome is TurnOutcome.FAILED
    assert DeliveryState.UNKNOWN not in {one.held for one in scene.seat.queue}
