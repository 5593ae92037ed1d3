"""Requests across real seats: kept open over a handoff, begun once by whichever daemon is there, and shown."""

from __future__ import annotations

import asyncio

import pytest

from inspan.model.delivery import DeliveryState
from inspan.model.errors import UsageError
from inspan.model.events import TurnEnded
from inspan.model.request_events import RequestHandedOff, RequestSettled
from inspan.model.request_views import HandOffRequest, RequestView
from inspan.model.turn import TurnOutcome
from inspan.model.views import SendPrompt
from inspan.seats.core import Seats
from inspan.store import open_store
from support.seat_ground import Ground, open_ground, until


async def request_until(seats: Seats, status: str, request: str = "r-1") -> RequestView:
    view = await seats.get_request(request)
    async with asyncio.timeout(20):
        while view.status != status:
            await asyncio.sleep(0.01)
            view = await seats.get_request(request)
    return view


async def add_two(ground: Ground, seats: Seats) -> None:
    await ground.add(seats, "first")
    await ground.add(seats, "second")


def refusal_of(error: pytest.ExceptionInfo[UsageError]) -> str:
    return error.value.code


@pytest.mark.requirement("H-C20", "H-N49")
def test_a_limited_attempt_settles_itself_and_the_other_seat_s_attempt_settles_the_request() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await add_two(ground, seats)
                await seats.send_prompt("first", SendPrompt(text="quota", id="d-1", request="r-1"))
                waiting = await request_until(seats, "waiting")
                assert [one.outcome for one in waiting.attempts] == [TurnOutcome.LIMITED]
                assert waiting.outcome is None
                assert "inspan handoff r-1" in waiting.hint
                wanted = HandOffRequest(seat="second", text="say 2 every 0.1")
                handed = await seats.hand_off_request("r-1", wanted)
                assert handed.status == "running"
                settled = await request_until(seats, "settled")
                assert [(one.seat, one.outcome) for one in settled.attempts] == [
                    ("first", TurnOutcome.LIMITED),
                    ("second", TurnOutcome.COMPLETED),
                ]
                assert (settled.outcome, settled.settled_by) == (
                    TurnOutcome.COMPLETED,
                    settled.attempts[1].delivery,
                )
                assert (await seats.get_delivery(settled.settled_by)).request == "r-1"
                assert await seats.list_requests() == []
            async with open_store(ground.path / "log.db", read_only=True) as store:
                events = [(one.seat, one.event) for one in store.events(limit=10_000)]
                assert (await store.check()).problems == ()
            ends = [
                (seat, type(event)) for seat, event in events if isinstance(event, TurnEnded | RequestSettled)
            ]
            assert ends == [("first", TurnEnded), ("second", TurnEnded), ("second", RequestSettled)]
            assert ground.prompts() == ["quota", "say 2 every 0.1"]

    asyncio.run(scene())


@pytest.mark.requirement("H-C20", "H-N49")
def test_a_handoff_that_was_declared_survives_a_restart_and_begins_once() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await add_two(ground, seats)
                await seats.send_prompt("first", SendPrompt(text="hang", id="d-1", request="r-1"))
                await until(
                    seats, "first", lambda one: one.in_flight is not None and one.in_flight.state == "started"
                )
                wanted = HandOffRequest(seat="second")
                declared = await seats.hand_off_request("r-1", wanted)
                assert (declared.status, len(declared.attempts)) == ("running", 1)
                assert await seats.hand_off_request("r-1", wanted) == declared
            async with ground.seats() as seats:
                seat = await seats.get_seat("first")
                assert seat.in_flight is not None
                await until(
                    seats, "first", lambda one: one.launch is not None and one.launch.status == "ready"
                )
                await seats.cancel_turn("first")
                await until(seats, "second", lambda one: one.in_flight is not None)
                view = await seats.get_request("r-1")
                assert view.attempts[0].outcome is TurnOutcome.CANCELLED
                assert (view.status, view.outcome) == ("running", None)
                await seats.cancel_turn("second")
                assert (await request_until(seats, "settled")).outcome is TurnOutcome.CANCELLED
            assert ground.prompts() == ["hang", "hang"]

    asyncio.run(scene())


@pytest.mark.requirement("H-C20")
def test_an_attempt_that_was_handed_off_and_not_begun_is_begun_by_the_next_daemon() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await add_two(ground, seats)
                await seats.send_prompt("first", SendPrompt(text="quota", id="d-1", request="r-1"))
                await request_until(seats, "waiting")

                async def dies(_: object) -> None:
                    """What a daemon does that ends between the record and the next attempt."""

                seats.pass_on = dies  # type: ignore[method-assign]
                await seats.hand_off_request("r-1", HandOffRequest(seat="second", text="say 1"))
                assert len((await seats.get_request("r-1")).attempts) == 1
            async with ground.seats() as seats:
                settled = await request_until(seats, "settled")
                assert [one.seat for one in settled.attempts] == ["first", "second"]
            assert ground.prompts() == ["quota", "say 1"]

    asyncio.run(scene())


def test_an_attempt_can_be_asked_to_stop_so_that_the_next_one_begins() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await add_two(ground, seats)
            await seats.send_prompt("first", SendPrompt(text="hang", id="d-1", request="r-1"))
            await until(
                seats, "first", lambda one: one.in_flight is not None and one.in_flight.state == "started"
            )
            await seats.hand_off_request("r-1", HandOffRequest(seat="second", text="say 1", cancel=True))
            settled = await request_until(seats, "settled")
            assert [one.outcome for one in settled.attempts] == [TurnOutcome.CANCELLED, TurnOutcome.COMPLETED]

    asyncio.run(scene())


def test_a_seat_that_does_not_take_the_request_leaves_it_open_with_the_reason() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await add_two(ground, seats)
                await seats.send_prompt("first", SendPrompt(text="hang", id="d-1", request="r-1"))
                await until(
                    seats, "first", lambda one: one.in_flight is not None and one.in_flight.state == "started"
                )
                await seats.hand_off_request("r-1", HandOffRequest(seat="second"))
                await seats.remove_seat("second")
                await seats.cancel_turn("first")
                view = await request_until(seats, "waiting")
                (handoff,) = view.handoffs
                assert handoff.error is not None
                assert handoff.error.code == "unknown_seat"
                closed = await seats.settle_request("r-1")
                assert (closed.status, closed.outcome) == ("settled", TurnOutcome.CANCELLED)
                assert await seats.settle_request("r-1") == closed
            async with open_store(ground.path / "log.db", read_only=True) as store:
                events = [one.event for one in store.events(limit=10_000)]
            assert [one.by for one in events if isinstance(one, RequestSettled)] == ["operator"]
            assert len([one for one in events if isinstance(one, RequestHandedOff)]) == 1

    asyncio.run(scene())


def test_a_held_prompt_is_withdrawn_by_a_handoff_and_by_closing_its_request() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await add_two(ground, seats)
            ground.harnesses.refusal = UsageError("Not now.")
            await seats.send_prompt("first", SendPrompt(text="say 1", id="d-1", request="r-1"))
            await seats.send_prompt("first", SendPrompt(text="say 2", id="d-8", request="r-8"))
            await until(seats, "first", lambda one: [p.held is not None for p in one.queue] == [True, True])
            assert (await seats.get_request("r-1")).status == "waiting"
            ground.harnesses.refusal = None
            await seats.hand_off_request("r-1", HandOffRequest(seat="second"))
            assert (await request_until(seats, "settled")).outcome is TurnOutcome.COMPLETED
            refused = await seats.get_delivery("d-1")
            assert refused.error is not None
            assert (refused.state, refused.error.code) == (DeliveryState.REFUSED, "handed_off")
            assert (await seats.settle_request("r-8")).outcome is TurnOutcome.CANCELLED
            assert (await seats.get_seat("first")).queue == ()
            assert ground.prompts() == ["say 1"]

    asyncio.run(scene())


def test_what_cannot_be_asked_of_a_request_is_refused_and_changes_nothing() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await add_two(ground, seats)
            for call in (
                seats.get_request("r-1"),
                seats.settle_request("r-1"),
                seats.hand_off_request("r-1", HandOffRequest(seat="second")),
            ):
                with pytest.raises(UsageError) as error:
                    await call
                assert refusal_of(error) == "unknown_request"
            with pytest.raises(UsageError, match="cannot be a request's id"):
                await seats.send_prompt("first", SendPrompt(text="x", request="no spaces"))
            await seats.send_prompt("first", SendPrompt(text="hang", id="d-1", request="r-1"))
            with pytest.raises(UsageError) as error:
                await seats.send_prompt("first", SendPrompt(text="hang", id="d-1", request="r-2"))
            assert refusal_of(error) == "delivery_conflict"
            with pytest.raises(UsageError) as error:
                await seats.hand_off_request("r-1", HandOffRequest(seat="third"))
            assert refusal_of(error) == "unknown_seat"
            with pytest.raises(UsageError, match="is with first already"):
                await seats.hand_off_request("r-1", HandOffRequest(seat="first"))
            with pytest.raises(UsageError) as error:
                await seats.settle_request("r-1")
            assert refusal_of(error) == "request_open"
            await until(
                seats, "first", lambda one: one.in_flight is not None and one.in_flight.state == "started"
            )
            await seats.cancel_turn("first")
            await request_until(seats, "settled")
            for call in (
                seats.hand_off_request("r-1", HandOffRequest(seat="second")),
                seats.send_prompt("second", SendPrompt(text="x", request="r-1")),
            ):
                with pytest.raises(UsageError) as error:
                    await call
                assert refusal_of(error) == "request_settled"
            assert len((await seats.get_request("r-1")).attempts) == 1

    asyncio.run(scene())


@pytest.mark.requirement("H-A40")
def test_a_harness_that_needs_context_is_handed_no_bare_prompt() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await add_two(ground, seats)
            await seats.send_prompt("first", SendPrompt(text="quota", id="d-1", request="r-1"))
            await request_until(seats, "waiting")
            ground.harnesses.change(takes_over="needs_context")
            for bare in ("", "  "):
                with pytest.raises(UsageError) as refused:
                    await seats.hand_off_request("r-1", HandOffRequest(seat="second", text=bare))
                assert refusal_of(refused) == "handoff_needs_context"
            assert (await seats.get_request("r-1")).handoffs == ()
            told = HandOffRequest(seat="second", text="say 2 every 0.1")
            assert (await seats.hand_off_request("r-1", told)).status == "running"
            await request_until(seats, "settled")

            for number, known in enumerate(("yes", "unknown"), start=2):
                ground.harnesses.change(takes_over=known)
                name = f"r-{number}"
                await seats.send_prompt("first", SendPrompt(text="quota", id=f"d-{number}", request=name))
                await request_until(seats, "waiting", name)
                await seats.hand_off_request(name, HandOffRequest(seat="second"))
                assert len((await seats.get_request(name)).attempts) == 2

    asyncio.run(scene())
