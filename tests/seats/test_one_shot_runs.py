"""One-shot seats with real processes: each prompt once, each run followed to its end, whoever dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable

import pytest

from inspan.model.content import MessageChunk, PermissionDenied, Retrying
from inspan.model.delivery import DeliveryState
from inspan.model.turn import TurnOutcome
from inspan.model.views import SeatView, SendPrompt, TurnView
from inspan.seats.core import Seats
from inspan.store import open_store
from support.headless_ground import open_headless_ground
from support.seat_ground import Ground, finished, until, until_empty


def on_ground(story: Callable[[Ground], Awaitable[None]]) -> None:
    """Runs a story on a fresh ground."""

    async def run() -> None:
        async with open_headless_ground() as ground:
            await story(ground)

    asyncio.run(run())


async def contents(ground: Ground, kind: type[object]) -> list[object]:
    async with open_store(ground.path / "log.db", read_only=True) as store:
        return [one.event for one in store.events(limit=100_000) if isinstance(one.event, kind)]


def last_turn(view: SeatView) -> TurnView:
    assert view.last_turn is not None
    return view.last_turn


async def is_idle(seats: Seats) -> SeatView:
    return await until(seats, "worker", lambda v: v.launch is not None and v.launch.status == "ended")


@pytest.mark.requirement("H-B18", "H-N18", "H-D14")
def test_a_run_answers_its_prompt_and_the_next_one_resumes_its_conversation() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            first = await finished(seats, "worker", "say 3")
            assert last_turn(first).outcome is TurnOutcome.COMPLETED
            idle = await is_idle(seats)
            assert (idle.status, idle.session.id is not None) == ("idle", True)
            second = await finished(seats, "worker", "misleading")
            assert last_turn(second).outcome is TurnOutcome.COMPLETED
            idle = await is_idle(seats)
            assert idle.launch is not None
            assert (idle.status, idle.launch.reason, idle.launch.exit_code) == ("idle", "done", 1)
            assert idle.session.resume_outcome == "resumed"
            await until_empty(ground.launches)
        lines = [json.loads(line) for line in (ground.state / "prompts.jsonl").read_text().splitlines()]
        assert [line["text"] for line in lines] == ["say 3", "misleading"]
        assert len({line["session"] for line in lines}) == 1
        assert len({line["pid"] for line in lines}) == 2

    on_ground(story)


@pytest.mark.requirement("H-N17")
def test_prompts_sent_at_once_become_runs_one_after_the_other() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            for number in range(4):
                await seats.send_prompt("worker", SendPrompt(text=f"prompt {number}", id=f"d{number}"))
            await until(seats, "worker", lambda v: v.last_turn is not None and v.last_turn.delivery == "d3")
        assert ground.prompts() == [f"prompt {number}" for number in range(4)]

    on_ground(story)


def test_an_exit_0_having_done_nothing_fails_the_turn() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            turn = last_turn(await finished(seats, "worker", "silent"))
            assert turn.outcome is TurnOutcome.FAILED
            assert turn.error is not None
            assert "having done nothing" in turn.error.message
            assert (await is_idle(seats)).status == "exited"

    on_ground(story)


@pytest.mark.requirement("H-N55")
def test_a_missing_sign_in_is_a_typed_error_and_holds_what_waits() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="auth", id="a"))
            await seats.send_prompt("worker", SendPrompt(text="next", id="b"))
            view = await until(seats, "worker", lambda v: v.status == "held")
            turn = last_turn(view)
            assert turn.error is not None
            assert (turn.error.code, "You must set a key" in turn.error.message) == ("auth_required", True)
            assert (await seats.get_delivery("a")).state is DeliveryState.FAILED
            await seats.start_seat("worker")
            await until(seats, "worker", lambda v: last_turn(v).delivery == "b")
            assert (await seats.get_delivery("b")).state is DeliveryState.STARTED

    on_ground(story)


@pytest.mark.requirement("H-F3")
def test_a_denial_is_in_the_log_with_the_rule_that_would_allow_it() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await finished(seats, "worker", "deny")
        (denied,) = await contents(ground, PermissionDenied)
        assert isinstance(denied, PermissionDenied)
        assert (denied.rule, denied.settings, denied.is_shared) == (
            "Shell(make)",
            "~/.made-up/settings.json",
            True,
        )

    on_ground(story)


def test_a_run_that_waits_for_another_attempt_says_until_when_and_can_be_cancelled() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="retry", id="a"))
            view = await until(seats, "worker", lambda v: "try again" in v.activity.why)
            assert view.status == "running"
            await seats.cancel_turn("worker")
            view = await until(seats, "worker", lambda v: v.last_turn is not None)
            assert last_turn(view).outcome is TurnOutcome.CANCELLED
            assert (await is_idle(seats)).status == "idle"
        (said,) = await contents(ground, Retrying)
        assert isinstance(said, Retrying)
        assert (said.attempt, said.limit, said.retry_at is not None) == (1, 10, True)

    on_ground(story)


def test_a_run_killed_in_mid_turn_fails_its_turn_and_the_next_prompt_resumes() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="hang", id="a"))
            view = await until(seats, "worker", lambda v: v.session.id is not None)
            assert view.launch is not None
            assert view.launch.pid is not None
            os.kill(view.launch.pid, signal.SIGKILL)
            view = await until(seats, "worker", lambda v: v.last_turn is not None)
            assert last_turn(view).outcome is TurnOutcome.FAILED
            assert last_turn(await finished(seats, "worker", "say 1")).outcome is TurnOutcome.COMPLETED
        lines = [json.loads(line) for line in (ground.state / "prompts.jsonl").read_text().splitlines()]
        assert len({line["session"] for line in lines}) == 1

    on_ground(story)


def test_a_run_goes_on_while_no_daemon_lives_and_its_end_is_recorded_afterwards() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="say 20 every 0.05", id="a"))
            await seats.send_prompt("worker", SendPrompt(text="say 2", id="b"))
            await until(seats, "worker", lambda v: v.session.id is not None)
        for _ in range(3):
            async with ground.seats() as seats:
                await asyncio.sleep(0.1)
        async with ground.seats() as seats:
            await until(seats, "worker", lambda v: v.last_turn is not None and v.last_turn.delivery == "b")
            turns = await seats.list_turns("worker")
            assert [turn.outcome for turn in turns] == [TurnOutcome.COMPLETED] * 2
        assert ground.prompts() == ["say 20 every 0.05", "say 2"]
        words = [one.text for one in await contents(ground, MessageChunk) if isinstance(one, MessageChunk)]
        assert words == [f"n{i}" for i in range(1, 21)] + ["n1", "n2"]

    on_ground(story)


@pytest.mark.parametrize("wait_s", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_prompt_goes_in_once_whenever_the_daemon_comes_and_goes(wait_s: float) -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="say 5", id="a"))
            await asyncio.sleep(wait_s)
        async with ground.seats() as seats:
            await until(seats, "worker", lambda v: v.last_turn is not None or v.status == "held")
            delivery = await seats.get_delivery("a")
            if delivery.state is DeliveryState.HELD:
                assert ground.prompts() == []
                await seats.start_seat("worker")
                await until(seats, "worker", lambda v: v.last_turn is not None)
        assert ground.prompts() == ["say 5"]

    on_ground(story)


def test_a_conversation_that_is_gone_declines_the_prompt_and_is_not_replaced() -> None:
    async def story(ground: Ground) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            view = await finished(seats, "worker", "say 1")
            assert view.session.id is not None
            await is_idle(seats)
            (ground.state / view.session.id).unlink()
            turn = last_turn(await finished(seats, "worker", "say 2", "b"))
            assert turn.error is not None
            assert "No conversation found" in turn.error.message
            assert (await seats.get_delivery("b")).state is DeliveryState.REFUSED
            await is_idle(seats)
            await seats.send_prompt("worker", SendPrompt(text="say 3", id="c"))
            await until(seats, "worker", lambda v: v.status == "held")
            await seats.start_seat("worker", fresh=True)
            await until(seats, "worker", lambda v: last_turn(v).delivery == "c")
        assert ground.prompts() == ["say 1", "say 3"]

    on_ground(story)
