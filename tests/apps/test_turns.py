"""The lock of writers: one at a time, in order, for loops and threads alike, and never lost by who gives up."""

from __future__ import annotations

import asyncio
import threading

import pytest

from inspan.apps.server.turns import Turns


def test_a_free_turn_is_taken_at_once_and_a_taken_one_is_waited_for_no_longer_than_said() -> None:
    turns = Turns()

    assert turns.take(0)
    assert not turns.take(0)
    assert not asyncio.run(turns.take_async(0.001))
    turns.give_back()
    assert asyncio.run(turns.take_async(0))


def test_those_who_wait_have_their_turn_in_the_order_in_which_they_came() -> None:
    async def play() -> list[int]:
        turns, seen = Turns(), list[int]()
        assert turns.take(0)

        async def wait(number: int) -> None:
            assert await turns.take_async(20)
            seen.append(number)
            turns.give_back()

        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(wait(number))
                await asyncio.sleep(0)
            turns.give_back()
        assert turns.take(0)
        return seen

    assert asyncio.run(play()) == list(range(20))


def test_who_is_cancelled_while_waiting_or_as_the_turn_comes_leaves_it_to_the_next() -> None:
    async def play() -> None:
        for steps in range(6):
            turns = Turns()
            assert turns.take(0)
            waiting = asyncio.create_task(turns.take_async(20))
            await asyncio.sleep(0)
            turns.give_back()
            for _ in range(steps):
                await asyncio.sleep(0)
            waiting.cancel()
            try:
                got_it = await waiting
            except asyncio.CancelledError:
                got_it = False
            assert turns.take(0) is not got_it

    asyncio.run(play())


def test_threads_and_a_loop_share_the_turns_and_no_two_have_one() -> None:
    turns = Turns()
    inside, most, rounds = 0, 0, 0
    guard = threading.Lock()

    def enter() -> None:
        nonlocal inside, most, rounds
        with guard:
            inside += 1
            most = max(most, inside)
            rounds += 1

    def leave() -> None:
        nonlocal inside
        with guard:
            inside -= 1
        turns.give_back()

    def in_thread() -> None:
        for _ in range(100):
            assert turns.take(20)
            enter()
            leave()

    async def on_loop() -> None:
        for _ in range(100):
            assert await turns.take_async(20)
            enter()
            await asyncio.sleep(0)
            leave()

    async def play() -> None:
        await asyncio.gather(
            *(asyncio.to_thread(in_thread) for _ in range(4)), *(on_loop() for _ in range(10))
        )

    asyncio.run(play())
    assert (most, rounds) == (1, 1400)


@pytest.mark.parametrize("others", [0, 3])
def test_a_thread_that_gives_up_is_passed_over(others: int) -> None:
    turns = Turns()
    assert turns.take(0)
    assert not turns.take(0.001)
    waiting = [threading.Thread(target=lambda: turns.take(20) and turns.give_back()) for _ in range(others)]
    for thread in waiting:
        thread.start()
    turns.give_back()
    for thread in waiting:
        thread.join()
    assert turns.take(20)
