"""The queue, the prompt that is with the harness, and how its turn ends."""

from __future__ import annotations

import pytest

from inspan.model.capability import Claim, Support
from inspan.model.content import MessageChunk, ProtocolFault
from inspan.model.delivery import DeliveryState
from inspan.model.errors import UsageError
from inspan.model.events import (
    CancelRequested,
    DeliveryFailed,
    DeliveryRefused,
    DeliverySending,
    DeliveryStarted,
    LaunchEnded,
    PermissionAnswered,
    StopRequested,
    TurnEnded,
    TurnWentQuiet,
)
from inspan.model.permission import AnsweredBy, Decision
from inspan.model.reports import PromptAnswered, PromptStarted
from inspan.model.turn import CallError, TurnOutcome
from inspan.seats.inputs import (
    AnswerPermission,
    CancelTurn,
    ProcessExited,
    QueuePrompt,
    TurnFellQuiet,
    WithdrawDelivery,
)
from inspan.seats.view import show_activity
from support.seat_scene import ALL, Scene, claims


@pytest.mark.requirement("H-B15", "H-B16", "H-N24")
def test_one_prompt_is_in_flight_and_the_rest_is_a_visible_queue() -> None:
    scene = Scene().running()
    scene.send("d-2")
    scene.send("d-3")
    assert [p.delivery for p in scene.seat.queue] == ["d-2", "d-3"]
    assert scene.count(DeliverySending) == 1
    scene.answered("d-1")
    assert scene.last(DeliverySending).delivery == "d-2"
    assert [p.delivery for p in scene.seat.queue] == ["d-3"]


@pytest.mark.requirement("H-E4", "H-C9")
def test_accepted_started_and_completed_are_three_facts() -> None:
    scene = Scene()
    scene.send()
    scene.open_session()
    flight = scene.seat.in_flight
    assert flight is not None
    assert flight.state is DeliveryState.SENDING
    scene.wrote()
    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.state is DeliveryState.SENT
    scene.report(PromptStarted(delivery="d-1"))
    assert scene.seat.in_flight.state is DeliveryState.STARTED
    assert scene.count(TurnEnded) == 0
    scene.answered()
    assert scene.seat.in_flight is None
    assert scene.seat.last_turn is not None
    assert scene.seat.last_turn.outcome is TurnOutcome.COMPLETED


def test_a_witness_that_comes_before_the_holders_answer_is_not_undone_by_it() -> None:
    scene = Scene()
    scene.send()
    scene.open_session()
    scene.report(PromptStarted(delivery="d-1"))
    assert scene.wrote() == []
    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.state is DeliveryState.STARTED


@pytest.mark.requirement("H-C7", "H-C2", "H-N12")
def test_a_turn_that_ends_in_an_error_leaves_the_seat_idle_with_the_error_kept() -> None:
    scene = Scene().running()
    error = CallError(code="limited", message="quota", raw_code=429)
    scene.report(
        PromptAnswered(delivery="d-1", outcome=TurnOutcome.LIMITED, raw_reason="error 429", error=error)
    )
    assert scene.seat.activity.value == "idle"
    assert scene.seat.last_turn is not None
    assert scene.seat.last_turn.error == error
    scene.send("d-2")
    assert scene.last(DeliverySending).delivery == "d-2"


def test_an_error_without_a_witness_fails_the_delivery_and_a_declined_call_refuses_it() -> None:
    error = CallError(code="call_failed", message="x")
    for declined, kind in ((False, DeliveryFailed), (True, DeliveryRefused)):
        scene = Scene()
        scene.send()
        scene.open_session()
        scene.wrote()
        scene.report(
            PromptAnswered(
                delivery="d-1", outcome=TurnOutcome.FAILED, raw_reason="", error=error, declined=declined
            )
        )
        assert scene.last(kind).delivery == "d-1"
        assert scene.count(DeliveryStarted) == 0


@pytest.mark.requirement("H-N42", "H-N45", "L12")
def test_a_cancel_is_neither_an_approval_nor_an_outcome() -> None:
    scene = Scene().running()
    scene.ask()
    scene.send("d-2")
    scene.give(CancelTurn())
    settled = scene.last(PermissionAnswered)
    assert (settled.decision, settled.by, settled.option) == (Decision.CANCELLED, AnsweredBy.CANCEL, None)
    assert scene.count(TurnEnded) == 0
    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.cancel_requested
    assert [p.delivery for p in scene.seat.queue] == ["d-2"]
    scene.answered("d-1", TurnOutcome.CANCELLED, "cancelled")
    assert scene.last(TurnEnded).outcome is TurnOutcome.CANCELLED
    assert scene.last(DeliverySending).delivery == "d-2"


def test_a_second_cancel_is_not_recorded_again() -> None:
    scene = Scene().running()
    scene.give(CancelTurn())
    scene.give(CancelTurn())
    assert scene.count(CancelRequested) == 1


def test_a_request_that_comes_after_the_cancel_is_answered_cancelled_at_once() -> None:
    scene = Scene().running()
    scene.give(CancelTurn())
    scene.ask("late")
    settled = scene.last(PermissionAnswered)
    assert (settled.wire_id, settled.decision) == ("late", Decision.CANCELLED)


def test_a_cancel_without_a_turn_is_refused() -> None:
    scene = Scene()
    with pytest.raises(UsageError) as refusal:
        scene.give(CancelTurn())
    assert refusal.value.code == "no_turn"


def test_a_mode_that_cannot_cancel_refuses_the_cancel() -> None:
    scene = Scene(capabilities=claims(cancel=Claim(support=Support.UNSUPPORTED, note="Not in this mode.")))
    scene.running()
    with pytest.raises(UsageError) as refusal:
        scene.give(CancelTurn())
    assert refusal.value.code == "unsupported_capability"
    assert scene.count(CancelRequested) == 0


def test_a_seat_that_needs_input_gets_no_prompt_by_itself() -> None:
    scene = Scene()
    scene.send()
    scene.open_session()
    scene.wrote()
    scene.answered()
    request = scene.ask()
    scene.send("d-2")
    assert scene.count(DeliverySending) == 1
    scene.give(AnswerPermission(request=request, decision="allow"))
    assert scene.last(DeliverySending).delivery == "d-2"


@pytest.mark.requirement("L12")
def test_a_quiet_turn_is_said_to_be_quiet_and_ends_nothing() -> None:
    scene = Scene().running()
    assert scene.seat.in_flight is not None
    turn = scene.seat.in_flight.turn
    scene.give(TurnFellQuiet(turn=turn, limit_s=600))
    scene.give(TurnFellQuiet(turn=turn, limit_s=600))
    assert scene.count(TurnWentQuiet) == 1
    assert scene.count(TurnEnded) == 0
    assert scene.seat.in_flight is not None
    assert show_activity(scene.seat, ALL, scene.now).value == "unknown"
    scene.report(MessageChunk(role="agent", text="still here"))
    assert show_activity(scene.seat, ALL, scene.now).value == "running"
    scene.answered()
    assert scene.last(TurnEnded).outcome is TurnOutcome.COMPLETED


def test_a_turn_that_waits_for_a_person_is_not_quiet() -> None:
    scene = Scene().running()
    scene.ask()
    assert scene.seat.in_flight is not None
    assert scene.give(TurnFellQuiet(turn=scene.seat.in_flight.turn, limit_s=600)) == []


def test_a_queued_prompt_can_be_withdrawn_and_a_sent_one_cannot() -> None:
    scene = Scene().running()
    scene.send("d-2")
    scene.give(WithdrawDelivery(delivery="d-2"))
    assert scene.seat.queue == ()
    with pytest.raises(UsageError) as refusal:
        scene.give(WithdrawDelivery(delivery="d-1"))
    assert refusal.value.code == "delivery_final"


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_prompt_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Scene().give(QueuePrompt(delivery="d", text=text))


def test_a_prompt_over_the_cap_is_refused_before_it_is_queued() -> None:
    scene = Scene()
    with pytest.raises(UsageError) as refusal:
        scene.give(QueuePrompt(delivery="d", text="é" * (8 * 1024 * 1024 + 1)))
    assert refusal.value.code == "prompt_too_large"
    assert scene.seat.queue == ()


def test_content_belongs_to_the_turn_and_replay_does_not() -> None:
    scene = Scene().running()
    scene.report(MessageChunk(role="agent", text="new"))
    assert scene.log[-1].turn is not None
    scene.report(MessageChunk(role="agent", text="old", replay=True))
    assert scene.log[-1].turn is None


def test_a_fatal_protocol_fault_stops_the_launch_and_fails_the_turn() -> None:
    scene = Scene().running()
    scene.report(ProtocolFault(code="frame_too_large", message="a line of 80 MB", fatal=True))
    stop = scene.last(StopRequested)
    assert stop.by == "core"
    assert stop.error is not None
    assert stop.error.code == "frame_too_large"
    scene.give(ProcessExited(launch=scene.launch, signal=15))
    assert scene.last(TurnEnded).outcome is TurnOutcome.FAILED
    assert scene.last(LaunchEnded).reason == "failed"
    assert scene.last(LaunchEnded).error == stop.error
