"""Guidance: the first turn of a conversation where a harness reads no file of it, within a budget, once."""

from __future__ import annotations

import asyncio

import pytest

from inspan.model.errors import UsageError
from inspan.model.resource import GuidanceBudget, ResourceKind, ResourceMode, ResourcePlace
from inspan.model.views import AddSeat, SendPrompt
from inspan.seats.core import Seats
from support.seat_ground import Ground, finished, open_ground, until

GUIDANCE = "say 1 every 0.1 guidance"


async def add(ground: Ground, seats: Seats, name: str = "worker", guidance: str = GUIDANCE) -> None:
    await seats.add_seat(
        AddSeat(name=name, harness="made-up", workspace=str(ground.workspace), guidance=guidance)
    )


async def sent_in_order(seats: Seats, name: str = "worker") -> list[str]:
    return [one.text for one in await seats.list_deliveries(name)]


@pytest.mark.requirement("H-I2")
def test_guidance_is_the_first_turn_of_a_conversation_and_only_that() -> None:
    async def story() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await add(ground, seats)
                assert ground.prompts() == []  # adding a seat starts nothing
                await finished(seats, "worker", "say 1 every 0.1 one")
                await finished(seats, "worker", "say 1 every 0.1 two")
                assert ground.prompts() == [GUIDANCE, "say 1 every 0.1 one", "say 1 every 0.1 two"]
                await seats.stop_seat("worker")
                await until(seats, "worker", lambda one: one.status == "stopped")
            async with ground.seats() as seats:
                await finished(seats, "worker", "say 1 every 0.1 three")
                assert ground.prompts()[3:] == ["say 1 every 0.1 three"]
                await seats.stop_seat("worker")
                await until(seats, "worker", lambda one: one.status == "stopped")
                await seats.start_seat("worker", fresh=True)
                await until(seats, "worker", lambda one: one.session.open)
                await finished(seats, "worker", "say 1 every 0.1 four")
                assert ground.prompts()[4:] == [GUIDANCE, "say 1 every 0.1 four"]

    asyncio.run(story())


@pytest.mark.requirement("H-I2")
def test_several_prompts_at_once_come_after_one_guidance() -> None:
    async def story() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await add(ground, seats)
            for text in ("say 1 every 0.1 one", "say 1 every 0.1 two"):
                await seats.send_prompt("worker", SendPrompt(text=text))
            await until(seats, "worker", lambda one: one.turns == 3 and one.in_flight is None)
            assert await sent_in_order(seats) == [GUIDANCE, "say 1 every 0.1 one", "say 1 every 0.1 two"]
            await add(ground, seats, "plain", guidance=" \n")
            await finished(seats, "plain", "say 1 every 0.1 one")
            assert await sent_in_order(seats, "plain") == ["say 1 every 0.1 one"]

    asyncio.run(story())


@pytest.mark.requirement("H-A37")
def test_guidance_over_the_harness_s_own_budget_is_refused_before_there_is_a_seat() -> None:
    async def story() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            ground.harnesses.change(guidance=GuidanceBudget(budget_chars=30))
            with pytest.raises(UsageError) as refused:
                await add(ground, seats, guidance="x" * 31)
            assert refused.value.code == "guidance_too_large"
            assert refused.value.detail == {"characters": 31, "budget": 30}
            assert await seats.list_seats() == []
            await add(ground, seats, guidance="x" * 30)
            assert (await seats.get_seat("worker")).guidance_chars == 30
            ground.harnesses.change(guidance=GuidanceBudget())
            with pytest.raises(UsageError):
                await add(ground, seats, "generic", guidance="x" * 17_500)

    asyncio.run(story())


@pytest.mark.requirement("H-A37")
def test_a_harness_that_reads_a_file_of_guidance_is_not_told_twice() -> None:
    async def story() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            place = ResourcePlace(
                kind=ResourceKind.GUIDANCE, target="{projectRoot}/AGENTS.md", mode=ResourceMode.APPEND_BLOCK
            )
            ground.harnesses.change(resources=(place,))
            with pytest.raises(UsageError, match=r"AGENTS\.md") as refused:
                await add(ground, seats)
            assert refused.value.code == "guidance_has_place"

    asyncio.run(story())
