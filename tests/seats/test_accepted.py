"""Accepted: the harness's own API took a prompt. That is more than written, and says nothing of a turn."""

from __future__ import annotations

import asyncio

import pytest

from inspan.model.delivery import DeliveryState
from inspan.model.events import DeliveryAccepted, DeliveryStarted, DeliveryUnknown, TurnEnded
from inspan.model.evidence import Source
from inspan.model.reports import PromptAccepted, PromptAnswered, PromptStarted, Reported
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.views import DeliveryView, SeatView
from inspan.seats.inputs import HolderLost, ProcessExited, TransportReported
from inspan.store import open_store
from support.headless_ground import open_headless_ground
from support.seat_ground import finished
from support.seat_scene import Scene


def taken() -> Scene:
    """A seat whose harness took the prompt and said no more."""
    scene = Scene()
    scene.send()
    scene.open_session()
    scene.wrote()
    scene.report(PromptAccepted(delivery="d-1"))
    return scene


@pytest.mark.requirement("H-E2", "H-N31")
def test_a_prompt_that_was_taken_is_accepted_and_neither_begun_nor_sent_again() -> None:
    scene = taken()

    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.state is DeliveryState.ACCEPTED
    assert scene.count(DeliveryStarted) == 0
    scene.report(PromptAccepted(delivery="d-1"))
    assert scene.count(DeliveryAccepted) == 1


@pytest.mark.requirement("H-E2", "H-N31")
def test_a_harness_that_dies_without_a_witness_leaves_an_accepted_prompt_unknown() -> None:
    for end in (ProcessExited(launch="l-1", exit_code=0), HolderLost(launch="l-1")):
        scene = taken()
        assert scene.launch == end.launch
        scene.give(end)

        assert scene.last(DeliveryUnknown).delivery == "d-1"
        assert scene.last(TurnEnded).outcome in (TurnOutcome.FAILED, TurnOutcome.LOST)
        assert scene.count(DeliveryStarted) == 0
        assert scene.seat.queue == ()


@pytest.mark.requirement("H-E2", "H-N31")
@pytest.mark.parametrize("error", [None, CallError(code="harness_exited", message="It exited.")])
def test_a_result_that_is_only_the_process_s_end_is_no_witness(error: CallError | None) -> None:
    scene = taken()
    outcome = TurnOutcome.CANCELLED if error is None else TurnOutcome.FAILED
    body = PromptAnswered(delivery="d-1", outcome=outcome, raw_reason="exit 0", error=error)
    reported = Reported(body=body, source=Source.PROCESS, rule="headless.exit")
    scene.give(TransportReported(launch=scene.launch, reported=reported))

    assert scene.count(DeliveryStarted) == 0
    assert scene.last(DeliveryUnknown).error.code == "harness_exited"
    assert scene.last(TurnEnded).outcome is outcome


@pytest.mark.requirement("H-E2", "H-N31")
def test_a_witness_and_a_result_settle_it_as_ever() -> None:
    scene = taken()
    scene.report(PromptStarted(delivery="d-1"))
    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.state is DeliveryState.STARTED
    scene.report(PromptAccepted(delivery="d-1"))
    assert scene.seat.in_flight.state is DeliveryState.STARTED

    answered = taken()
    answered.answered()
    assert answered.count(DeliveryStarted) == 1
    assert answered.last(TurnEnded).outcome is TurnOutcome.COMPLETED


def run_of(text: str) -> tuple[SeatView, DeliveryView, list[str]]:
    """What becomes of a prompt with a real process and a real log: the seat, the delivery, the events of it."""

    async def run() -> tuple[SeatView, DeliveryView, list[str]]:
        async with open_headless_ground() as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                view = await finished(seats, "worker", text, "d-1")
                delivery = await seats.get_delivery("d-1")
            async with open_store(ground.path / "log.db", read_only=True) as store:
                types = [one.type for one in store.events(limit=1000) if one.type.startswith("delivery_")]
            assert ground.prompts() == [text]
            return view, delivery, types

    return asyncio.run(run())


@pytest.mark.requirement("H-E2", "H-N31")
@pytest.mark.parametrize("way", ["die", "leave"])
def test_a_real_harness_that_took_the_prompt_and_ended_leaves_it_unknown_and_is_not_asked_again(
    way: str,
) -> None:
    view, delivery, types = run_of(f"take {way}")

    assert delivery.state is DeliveryState.UNKNOWN
    assert delivery.error is not None
    assert view.last_turn is not None
    assert view.last_turn.outcome in (TurnOutcome.FAILED, TurnOutcome.LOST)
    assert types == ["delivery_queued", "delivery_sending", *types[2:]]
    assert types[-2:] == ["delivery_accepted", "delivery_unknown"]


def test_a_real_harness_that_took_the_prompt_and_works_on_it_starts_it() -> None:
    view, delivery, types = run_of("take it")

    assert delivery.state is DeliveryState.STARTED
    assert view.last_turn is not None
    assert view.last_turn.outcome is TurnOutcome.COMPLETED
    assert types[-2:] == ["delivery_accepted", "delivery_started"]
