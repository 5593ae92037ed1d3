"""Requests on paper: an attempt's end settles the attempt, and the request only where its work is done."""

from __future__ import annotations

import pytest

from inspan.model.delivery import DeliveryState
from inspan.model.events import (
    DeliveryHeld,
    DeliveryQueued,
    DeliveryRefused,
    Event,
    TurnEnded,
)
from inspan.model.request_events import HandoffDeclared, HandoffFailed, RequestHandedOff, RequestSettled
from inspan.model.turn import CallError, TurnOutcome
from inspan.seats.inputs import (
    CancelTurn,
    LaunchRefused,
    ProcessExited,
    QueuePrompt,
    RemoveSeat,
    StopSeat,
    WithdrawDelivery,
)
from inspan.seats.request_inputs import HandOff, NoteHandoffFailed, SettleRequest
from support.seat_scene import Scene


def requested(*, is_running: bool = True) -> Scene:
    """A seat with an attempt at a request, in the middle of its turn or still in the queue."""
    scene = Scene()
    scene.give(QueuePrompt(delivery="d-1", text="hello", request="r-1"))
    if is_running:
        scene.open_session()
        scene.wrote()
    return scene


def hand_off(scene: Scene, *, to: str = "second", next_delivery: str = "d-2") -> list[Event]:
    return scene.give(HandOff(request="r-1", delivery="d-1", to_seat=to, next_delivery=next_delivery))


def kinds(events: list[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


@pytest.mark.requirement("H-C20", "H-N49")
@pytest.mark.parametrize(
    "outcome", [TurnOutcome.LIMITED, TurnOutcome.FAILED, TurnOutcome.CANCELLED, TurnOutcome.LOST]
)
def test_an_attempt_that_ends_short_of_it_settles_itself_and_the_request_goes_on(
    outcome: TurnOutcome,
) -> None:
    scene = requested()
    assert kinds(hand_off(scene)) == [HandoffDeclared]
    scene.answered("d-1", outcome)

    assert scene.last(TurnEnded).outcome is outcome
    handed = scene.last(RequestHandedOff)
    assert (handed.request, handed.to_seat, handed.next_delivery) == ("r-1", "second", "d-2")
    assert handed.outcome is outcome
    assert scene.count(RequestSettled) == 0
    assert scene.seat.handoffs == ()


@pytest.mark.requirement("H-C20")
@pytest.mark.parametrize("outcome", [TurnOutcome.COMPLETED, TurnOutcome.REFUSED])
def test_an_attempt_that_answers_the_request_settles_it_whatever_was_declared(outcome: TurnOutcome) -> None:
    scene = requested()
    hand_off(scene)
    scene.answered("d-1", outcome)

    settled = scene.last(RequestSettled)
    assert (settled.request, settled.delivery, settled.outcome) == ("r-1", "d-1", outcome)
    assert settled.by == "attempt"
    assert scene.count(RequestHandedOff) == 0
    assert scene.seat.handoffs == ()


@pytest.mark.requirement("H-C20")
@pytest.mark.parametrize("outcome", [TurnOutcome.LIMITED, TurnOutcome.FAILED])
def test_without_a_handoff_a_failed_attempt_leaves_the_request_open(outcome: TurnOutcome) -> None:
    scene = requested()
    scene.answered("d-1", outcome)
    assert scene.count(RequestSettled) == 0

    assert kinds(hand_off(scene)) == [HandoffDeclared, RequestHandedOff]


def test_a_cancel_without_a_handoff_takes_the_whole_request_back() -> None:
    scene = requested()
    scene.give(CancelTurn())
    scene.answered("d-1", TurnOutcome.CANCELLED, "cancelled")

    assert scene.last(RequestSettled).outcome is TurnOutcome.CANCELLED


@pytest.mark.requirement("H-C20", "H-N49")
def test_a_seat_that_is_stopped_or_whose_harness_dies_in_mid_turn_hands_off_all_the_same() -> None:
    for stop in (False, True):
        scene = requested()
        hand_off(scene)
        if stop:
            scene.give(StopSeat())
        scene.give(ProcessExited(launch=scene.launch, exit_code=1))

        assert scene.last(RequestHandedOff).to_seat == "second"
        assert scene.count(RequestSettled) == 0


@pytest.mark.requirement("H-C20")
def test_a_prompt_that_was_not_sent_is_taken_out_of_the_queue_and_handed_off_at_once() -> None:
    scene = requested(is_running=False)

    assert kinds(hand_off(scene)) == [HandoffDeclared, DeliveryRefused, RequestHandedOff]
    assert scene.last(DeliveryRefused).error.code == "handed_off"
    assert scene.last(RequestHandedOff).outcome is None
    assert scene.seat.queue == ()


@pytest.mark.requirement("H-C20")
def test_a_prompt_that_comes_to_be_held_goes_on_where_it_was_declared() -> None:
    scene = requested(is_running=False)
    scene.open_session()
    scene.give(QueuePrompt(delivery="d-9", text="another", request="r-9"))
    assert kinds(hand_off(scene)) == [HandoffDeclared]
    scene.give(ProcessExited(launch=scene.launch, exit_code=1))

    assert scene.last(DeliveryHeld).delivery == "d-9"
    assert scene.last(DeliveryRefused).delivery == "d-1"
    assert scene.last(RequestHandedOff).request == "r-1"
    assert [one.delivery for one in scene.seat.queue] == ["d-9"]


@pytest.mark.requirement("H-C20")
def test_a_prompt_that_is_held_already_is_handed_off_from_the_queue() -> None:
    scene = requested(is_running=False)
    error = CallError(code="auth_required", message="no")
    scene.give(LaunchRefused(launch=scene.launch, error=error))
    assert scene.seat.queue[0].held is not None
    assert scene.count(RequestHandedOff) == 0

    assert kinds(hand_off(scene)) == [HandoffDeclared, DeliveryRefused, RequestHandedOff]


def test_a_handoff_can_be_declared_anew_and_the_last_word_counts() -> None:
    scene = requested()
    hand_off(scene, to="second", next_delivery="d-2")
    hand_off(scene, to="third", next_delivery="d-3")
    scene.answered("d-1", TurnOutcome.LIMITED)

    assert [scene.last(RequestHandedOff).to_seat, scene.count(RequestHandedOff)] == ["third", 1]


def test_a_prompt_that_is_withdrawn_takes_its_request_back_and_one_of_no_request_says_nothing() -> None:
    scene = requested(is_running=False)
    scene.give(WithdrawDelivery(delivery="d-1"))
    assert scene.last(RequestSettled).outcome is TurnOutcome.CANCELLED

    plain = Scene().running()
    plain.answered()
    assert plain.count(RequestSettled) == 0


def test_a_prompt_that_returns_to_the_queue_still_belongs_to_its_request() -> None:
    scene = requested(is_running=False)
    scene.open_session()
    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.state is DeliveryState.SENDING
    scene.give(ProcessExited(launch=scene.launch, exit_code=1))

    assert [one.request for one in scene.seat.queue] == ["r-1"]


def test_a_seat_that_was_removed_still_says_what_became_of_its_requests() -> None:
    scene = requested()
    scene.answered("d-1", TurnOutcome.LIMITED)
    scene.give(StopSeat())
    scene.give(ProcessExited(launch=scene.launch, exit_code=0))
    scene.give(RemoveSeat())
    hand_off(scene)
    error = CallError(code="unknown_seat", message="gone")
    scene.give(NoteHandoffFailed(request="r-1", next_delivery="d-2", to_seat="second", error=error))
    scene.give(SettleRequest(request="r-1", delivery="d-1", outcome=TurnOutcome.LIMITED))

    assert scene.count(RequestHandedOff) == 1
    assert scene.last(HandoffFailed).error == error
    assert scene.last(RequestSettled).by == "operator"
    assert scene.count(DeliveryQueued) == 1
