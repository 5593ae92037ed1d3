"""Seats that speak records of their own, with real processes: each prompt once, each turn followed to its end, whoever dies."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import pytest

from inspan.model.content import Noise, ProtocolFault, UnknownMessage, UnknownUpdate
from inspan.model.delivery import DeliveryState
from inspan.model.errors import UsageError
from inspan.model.events import PermissionAnswered, PermissionOpened
from inspan.model.permission import AnsweredBy, Decision
from inspan.model.turn import TurnOutcome
from inspan.model.views import AnswerPermission, SeatView, SendPrompt, TurnView
from inspan.seats.core import Seats
from inspan.store import open_store
from support.seat_ground import finished, is_gone, until, until_empty
from support.stream_ground import DIALECTS, StreamGround, open_stream_ground

every_dialect = pytest.mark.parametrize("dialect", sorted(DIALECTS))


def on_ground(dialect: str, story: Callable[[StreamGround], Awaitable[None]]) -> None:
    """Runs a story on a fresh ground."""

    async def run() -> None:
        async with open_stream_ground(dialect) as ground:
            await story(ground)

    asyncio.run(run())


async def contents(ground: StreamGround, *kinds: type[object]) -> list[object]:
    async with open_store(ground.path / "log.db", read_only=True) as store:
        return [one.event for one in store.events(limit=100_000) if isinstance(one.event, kinds)]


def last_turn(view: SeatView) -> TurnView:
    assert view.last_turn is not None
    return view.last_turn


def ended(delivery: str) -> Callable[[SeatView], bool]:
    return lambda view: view.last_turn is not None and view.last_turn.delivery == delivery


async def asked(seats: Seats) -> str:
    view = await until(seats, "worker", lambda v: bool(v.needs_input))
    assert view.needs_input[0].request is not None
    return view.needs_input[0].request


@every_dialect
def test_one_process_answers_prompt_after_prompt_and_another_goes_on_with_its_session(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            first = await finished(seats, "worker", "say 3")
            assert last_turn(first).outcome is TurnOutcome.COMPLETED
            second = await finished(seats, "worker", "say 2")
            assert (second.session.id, second.launch) == (first.session.id, first.launch)
            await seats.stop_seat("worker")
            await until(seats, "worker", lambda v: v.launch is not None and v.launch.status == "ended")
            third = await finished(seats, "worker", "say 1")
            assert third.session.id == first.session.id
            assert third.session.resume_outcome == "resumed"
        assert ground.prompts() == ["say 3", "say 2", "say 1"]

    on_ground(dialect, story)


@pytest.mark.requirement("H-N17")
@every_dialect
def test_prompts_sent_at_once_are_worked_on_one_after_the_other(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            for number in range(5):
                await seats.send_prompt("worker", SendPrompt(text=f"prompt {number}", id=f"d{number}"))
            await until(seats, "worker", ended("d4"))
        assert ground.prompts() == [f"prompt {number}" for number in range(5)]

    on_ground(dialect, story)


@pytest.mark.parametrize("is_allowed", [True, False])
@every_dialect
def test_a_permission_is_answered_by_a_person_and_the_turn_goes_on(dialect: str, is_allowed: bool) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="ask", id="a"))
            request = await asked(seats)
            decision = "allow" if is_allowed else "deny"
            await seats.answer_permission(request, AnswerPermission(decision=decision))
            turn = last_turn(await until(seats, "worker", ended("a")))
            assert turn.outcome is TurnOutcome.COMPLETED
            with pytest.raises(UsageError) as refused:
                await seats.answer_permission(request, AnswerPermission(decision="allow"))
            assert refused.value.code == "permission_closed"
        assert [one["command"] for one in ground.ran()] == (["echo asked"] if is_allowed else [])
        (opened,) = await contents(ground, PermissionOpened)
        assert isinstance(opened, PermissionOpened)
        assert "echo asked" in opened.tool_call.title

    on_ground(dialect, story)


@every_dialect
def test_a_cancel_closes_what_was_asked_and_ends_the_turn(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="ask", id="a"))
            await asked(seats)
            await seats.cancel_turn("worker")
            view = await until(seats, "worker", ended("a"))
            assert (last_turn(view).outcome, view.needs_input) == (TurnOutcome.CANCELLED, ())
            again = await finished(seats, "worker", "say 1")
            assert last_turn(again).outcome is TurnOutcome.COMPLETED
        assert ground.ran() == []

    on_ground(dialect, story)


@every_dialect
def test_a_cancel_ends_a_turn_that_never_would(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="hang", id="a"))
            await until(seats, "worker", lambda v: v.status == "running")
            await seats.cancel_turn("worker")
            turn = last_turn(await until(seats, "worker", ended("a")))
            assert turn.outcome is TurnOutcome.CANCELLED

    on_ground(dialect, story)


@pytest.mark.requirement("H-C7")
@every_dialect
def test_a_usage_limit_is_one_and_the_process_goes_on(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            view = await finished(seats, "worker", "quota")
            turn = last_turn(view)
            assert turn.error is not None
            assert (turn.outcome, turn.error.code) == (TurnOutcome.LIMITED, "limited")
            assert last_turn(await finished(seats, "worker", "say 1")).outcome is TurnOutcome.COMPLETED

    on_ground(dialect, story)


@pytest.mark.parametrize("dialect", ["rpc", "command"])
def test_a_prompt_that_the_harness_declines_was_refused_and_not_worked_on(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="decline", id="a"))
            await until(seats, "worker", ended("a"))
            delivery = await seats.get_delivery("a")
            assert delivery.state is DeliveryState.REFUSED
            assert delivery.error is not None
            assert delivery.error.message == "I do not take this."

    on_ground(dialect, story)


@every_dialect
def test_bad_output_is_told_and_changes_nothing(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            view = await finished(seats, "worker", "banner wild double strange say 2")
            assert last_turn(view).outcome is TurnOutcome.COMPLETED
            assert view.needs_input == ()
            assert last_turn(await finished(seats, "worker", "say 1")).outcome is TurnOutcome.COMPLETED
        said = await contents(ground, Noise, ProtocolFault, UnknownMessage, UnknownUpdate)
        codes = {one.code for one in said if isinstance(one, ProtocolFault)}
        assert codes == {"unmatched_answer"}
        assert any(isinstance(one, Noise) and "Welcome" in one.sample for one in said)
        (unknown,) = [one for one in said if isinstance(one, UnknownMessage)]
        assert unknown.answered

    on_ground(dialect, story)


@every_dialect
def test_a_line_over_the_cap_fails_the_turn_and_the_next_prompt_resumes(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            first = await finished(seats, "worker", "say 1")
            turn = last_turn(await finished(seats, "worker", "huge hang"))
            assert turn.error is not None
            assert (turn.outcome, turn.error.code) == (TurnOutcome.FAILED, "frame_too_large")
            after = await finished(seats, "worker", "say 3")
            assert last_turn(after).outcome is TurnOutcome.COMPLETED
            assert after.session.id == first.session.id

    on_ground(dialect, story)


@pytest.mark.parametrize("dialect", ["rpc", "control"])
def test_a_request_that_is_withdrawn_is_closed_by_the_harness(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await finished(seats, "worker", "withdraw say 1")
        (answered,) = await contents(ground, PermissionAnswered)
        assert isinstance(answered, PermissionAnswered)
        assert (answered.by, answered.decision) == (AnsweredBy.HARNESS, Decision.CANCELLED)

    on_ground(dialect, story)


@pytest.mark.requirement("H-B17")
@every_dialect
def test_a_killed_harness_fails_its_turn_and_the_next_prompt_resumes(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            first = await finished(seats, "worker", "say 1")
            view = await finished(seats, "worker", "say 2 die")
            assert last_turn(view).outcome is TurnOutcome.FAILED
            after = await finished(seats, "worker", "say 3")
            assert last_turn(after).outcome is TurnOutcome.COMPLETED
            assert after.session.id == first.session.id
        assert ground.prompts() == ["say 1", "say 2 die", "say 3"]

    on_ground(dialect, story)


@pytest.mark.parametrize("word", ["torn", "leave"])
@every_dialect
def test_a_harness_that_leaves_in_mid_turn_fails_it(dialect: str, word: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            turn = last_turn(await finished(seats, "worker", word))
            assert turn.outcome in (TurnOutcome.FAILED, TurnOutcome.LOST)

    on_ground(dialect, story)


@every_dialect
def test_a_turn_and_an_open_permission_outlive_the_daemon(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="say 2 ask", id="a"))
            request = await asked(seats)
        async with ground.seats() as seats:
            assert await asked(seats) == request
            await seats.answer_permission(request, AnswerPermission(decision="allow"))
            turn = last_turn(await until(seats, "worker", ended("a")))
            assert turn.outcome is TurnOutcome.COMPLETED
            assert last_turn(await finished(seats, "worker", "say 1")).outcome is TurnOutcome.COMPLETED
        assert ground.prompts() == ["say 2 ask", "say 1"]
        assert len(ground.ran()) == 1

    on_ground(dialect, story)


@every_dialect
def test_a_harness_that_is_killed_while_it_asks_leaves_nothing_open(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="ask", id="a"))
            await asked(seats)
            view = await seats.get_seat("worker")
            assert view.launch is not None
            assert view.launch.pid is not None
            os.kill(view.launch.pid, signal.SIGKILL)
            view = await until(seats, "worker", ended("a"))
            assert (last_turn(view).outcome, view.needs_input) == (TurnOutcome.FAILED, ())
            await seats.stop_seat("worker")
            await until_empty(ground.launches)
            assert view.launch is not None
            assert view.launch.pid is None or is_gone(view.launch.pid)

    on_ground(dialect, story)


@every_dialect
def test_a_session_that_is_gone_is_missing_and_nothing_replaces_it_silently(dialect: str) -> None:
    async def story(ground: StreamGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            first = await finished(seats, "worker", "say 1")
            assert first.session.id is not None
            await seats.stop_seat("worker")
            await until(seats, "worker", lambda v: v.launch is not None and v.launch.status == "ended")
            (ground.state / first.session.id).unlink()
            await seats.send_prompt("worker", SendPrompt(text="say 2", id="b"))
            view = await until(seats, "worker", lambda v: v.status == "held")
            assert (view.session.id, view.session.resume_outcome) == (first.session.id, "missing")
            await seats.start_seat("worker", fresh=True)
            await until(seats, "worker", ended("b"))
        assert ground.prompts() == ["say 1", "say 2"]

    on_ground(dialect, story)
