"""Whole seats: a real log, real holders, a scripted harness; closed and opened again as a daemon would be."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from inspan.model.content import MessageChunk
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import HarnessError, UsageError
from inspan.model.posture import Posture, Unattended
from inspan.model.turn import TurnOutcome
from inspan.model.views import AddSeat, AnswerPermission, SendPrompt
from inspan.seats.core import Seats
from inspan.store import open_store
from inspan.transports.acp.machine import AcpMachine
from inspan.transports.machine import Step
from support.seat_ground import Ground, finished, is_gone, open_ground, until, until_empty


async def said(ground: Ground) -> list[str]:
    async with open_store(ground.path / "log.db") as store:
        return [e.event.text for e in store.events(limit=100_000) if isinstance(e.event, MessageChunk)]


async def harness_pid(seats: Seats, name: str = "worker") -> int:
    view = await until(seats, name, lambda v: v.launch is not None and v.launch.pid is not None)
    assert view.launch is not None
    assert view.launch.pid is not None
    return view.launch.pid


def test_a_prompt_starts_the_harness_and_its_turn_is_followed_to_the_end() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                view = await finished(seats, "worker", "say 3")
                assert view.last_turn is not None
                assert view.last_turn.outcome is TurnOutcome.COMPLETED
                assert (view.status, view.turns) == ("idle", 1)
                delivery = await seats.get_delivery(view.last_turn.delivery)
                assert delivery.state is DeliveryState.STARTED
                assert delivery.turn_outcome is TurnOutcome.COMPLETED
            assert await said(ground) == ["n1", "n2", "n3"]
            assert ground.prompts() == ["say 3"]

    asyncio.run(scene())


def test_the_same_delivery_id_reads_the_outcome_back_and_other_text_is_a_conflict() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await ground.add(seats, "other")
            await finished(seats, "worker", "once", delivery="d-1")
            again = await asyncio.gather(
                *(seats.send_prompt("worker", SendPrompt(text="once", id="d-1")) for _ in range(5))
            )
            assert {view.turn_outcome for view in again} == {TurnOutcome.COMPLETED}
            for name, text in (("worker", "twice"), ("other", "once")):
                with pytest.raises(UsageError) as refusal:
                    await seats.send_prompt(name, SendPrompt(text=text, id="d-1"))
                assert refusal.value.code == "delivery_conflict"
            assert ground.prompts() == ["once"]

    asyncio.run(scene())


@pytest.mark.parametrize(("decision", "word"), [("allow", "allowed"), ("deny", "refused")])
def test_an_operator_answers_what_the_harness_asks(decision: str, word: str) -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                await seats.send_prompt("worker", SendPrompt(text="ask", id="d-1"))
                view = await until(seats, "worker", lambda v: bool(v.needs_input))
                request = view.needs_input[0].request
                assert request is not None
                with pytest.raises(UsageError) as refusal:
                    await seats.answer_permission(request, AnswerPermission(decision="allow", seat="else"))
                assert refusal.value.code == "permission_of_other_seat"
                answer = AnswerPermission(decision=decision)  # pyright: ignore[reportArgumentType]
                closed = await seats.answer_permission(request, answer)
                assert str(closed.decision) == decision
                with pytest.raises(UsageError) as late:
                    await seats.answer_permission(request, answer)
                assert late.value.code == "permission_closed"
                await until(seats, "worker", lambda v: v.last_turn is not None)
            assert await said(ground) == [word, "n1"]

    asyncio.run(scene())


def test_a_cancel_ends_the_turn_when_the_harness_says_so() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="hang"))
            queued = await seats.send_prompt("worker", SendPrompt(text="next", id="d-2"))
            assert queued.state is DeliveryState.QUEUED
            await until(
                seats,
                "worker",
                lambda v: v.in_flight is not None and v.in_flight.state is DeliveryState.STARTED,
            )
            view = await seats.cancel_turn("worker")
            assert [one.id for one in view.queue] == ["d-2"]
            await until(seats, "worker", lambda v: v.turns == 2 and v.in_flight is None)
            turns = await seats.list_turns("worker")
            assert [turn.outcome for turn in turns] == [TurnOutcome.CANCELLED, TurnOutcome.COMPLETED]

    asyncio.run(scene())


def test_a_turn_that_runs_while_nobody_follows_it_is_recorded_to_its_end_afterwards() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                await seats.send_prompt("worker", SendPrompt(text="say 40 every 0.01", id="d-1"))
                await seats.send_prompt("worker", SendPrompt(text="after", id="d-2"))
                await until(seats, "worker", lambda v: v.in_flight is not None)
            async with ground.seats() as seats:
                await until(seats, "worker", lambda v: v.turns == 2 and v.in_flight is None)
                outcomes = [turn.outcome for turn in await seats.list_turns("worker")]
                assert outcomes == [TurnOutcome.COMPLETED] * 2
            assert await said(ground) == [f"n{i}" for i in range(1, 42)]
            assert ground.prompts() == ["say 40 every 0.01", "after"]

    asyncio.run(scene())


def test_a_permission_that_was_asked_before_the_restart_is_answered_after_it() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                await seats.send_prompt("worker", SendPrompt(text="ask"))
                await until(seats, "worker", lambda v: bool(v.needs_input))
            async with ground.seats() as seats:
                request = (await seats.list_permissions())[0]
                await seats.answer_permission(request.id, AnswerPermission(decision="allow"))
                await until(seats, "worker", lambda v: v.last_turn is not None)
            assert await said(ground) == ["allowed", "n1"]

    asyncio.run(scene())


def test_a_harness_that_is_killed_in_mid_turn_fails_the_turn_and_the_next_prompt_resumes() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="hang"))
            await until(
                seats,
                "worker",
                lambda v: v.in_flight is not None and v.in_flight.state is DeliveryState.STARTED,
            )
            before = (await seats.get_seat("worker")).session.id
            os.kill(await harness_pid(seats), signal.SIGKILL)
            view = await until(seats, "worker", lambda v: v.status == "exited")
            assert view.last_turn is not None
            assert view.last_turn.outcome is TurnOutcome.FAILED
            assert view.launch is not None
            assert view.launch.signal == signal.SIGKILL
            view = await finished(seats, "worker", "go on")
            assert view.session.id == before
            assert str(view.session.resume_outcome) == "resumed"

    asyncio.run(scene())


def test_a_harness_that_crashes_leaves_its_last_words() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="say 2 crash", id="d-1"))
            await seats.send_prompt("worker", SendPrompt(text="later", id="d-2"))
            view = await until(seats, "worker", lambda v: v.status == "held")
            assert view.launch is not None
            assert (view.launch.exit_code, view.launch.stderr_tail) == (3, "the scripted crash\n")
            assert view.queue[0].held is HeldReason.HARNESS_EXITED
            assert "inspan start worker" in view.queue[0].hint

    asyncio.run(scene())


def test_a_holder_that_is_killed_loses_the_turn_and_leaves_no_process() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="hang"))
            await until(
                seats,
                "worker",
                lambda v: v.in_flight is not None and v.in_flight.state is DeliveryState.STARTED,
            )
            pid = await harness_pid(seats)
            async with open_store(ground.path / "log.db", read_only=True) as store:
                state = store.seat_state("worker")
            assert state is not None
            assert state.launch is not None
            assert state.launch.holder_pid is not None
            os.kill(state.launch.holder_pid, signal.SIGKILL)
            view = await until(seats, "worker", lambda v: v.status == "exited")
            assert view.last_turn is not None
            assert view.last_turn.outcome is TurnOutcome.LOST
            assert is_gone(pid)
            view = await finished(seats, "worker", "go on")
            assert str(view.session.resume_outcome) == "resumed"

    asyncio.run(scene())


def test_a_program_that_is_not_there_holds_the_prompt_with_the_reason() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            ground.harnesses.refusal = HarnessError(
                "It was not found.", code="not_installed", hint="Install it."
            )
            await seats.send_prompt("worker", SendPrompt(text="hello", id="d-1"))
            view = await until(seats, "worker", lambda v: v.status == "held")
            delivery = await seats.get_delivery("d-1")
            assert delivery.state is DeliveryState.HELD
            assert delivery.error is not None
            assert delivery.error.code == "not_installed"
            assert view.launch is not None
            assert view.launch.reason == "failed"
            ground.harnesses.refusal = None
            await seats.start_seat("worker")
            await until(seats, "worker", lambda v: v.last_turn is not None)
            assert ground.prompts() == ["hello"]

    asyncio.run(scene())


def test_a_program_that_cannot_be_executed_fails_the_launch_and_leaves_no_folder() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            ground.harnesses.program = "/nonexistent/program"
            await seats.send_prompt("worker", SendPrompt(text="hello"))
            view = await until(seats, "worker", lambda v: v.status == "held")
            assert view.launch is not None
            assert view.launch.error is not None
            assert view.launch.error.code == "launch_failed"
            await until_empty(ground.launches)

    asyncio.run(scene())


def test_a_stop_ends_the_harness_and_keeps_the_queue() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await seats.send_prompt("worker", SendPrompt(text="hang"))
            await seats.send_prompt("worker", SendPrompt(text="later", id="d-2"))
            pid = await harness_pid(seats)
            await seats.stop_seat("worker")
            await seats.stop_seat("worker")
            await until(seats, "worker", lambda v: v.status == "held")
            assert is_gone(pid)
            await until_empty(ground.launches)
            withdrawn = await seats.withdraw_delivery("d-2")
            assert withdrawn.state is DeliveryState.REFUSED

    asyncio.run(scene())


def test_seats_that_close_right_after_a_launch_ended_leave_nothing_of_it() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                await finished(seats, "worker", "say 1")
                (folder,) = ground.launches.iterdir()
                ended = seats.actor("worker").wait_until(lambda s: s is None or s.live_launch is None, 20)
                waiting = asyncio.create_task(ended)
                await seats.stop_seat("worker")
                assert await waiting
            assert not folder.exists()

    asyncio.run(scene())


def test_a_posture_answers_by_itself() -> None:
    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await ground.add(seats, posture=Posture(unattended=Unattended.REJECT))
                view = await finished(seats, "worker", "ask")
                assert view.last_turn is not None
                assert view.last_turn.outcome is TurnOutcome.COMPLETED
                closed = await seats.list_permissions(include_closed=True)
                assert [(str(p.by), p.option) for p in closed] == [("posture", "no")]
            assert await said(ground) == ["refused", "n1"]

    asyncio.run(scene())


def test_a_request_that_nobody_answers_expires() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats, posture=Posture(permission_timeout_s=0.1))
            await finished(seats, "worker", "ask")
            closed = await seats.list_permissions(include_closed=True)
            assert [str(p.by) for p in closed] == ["expiry"]

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (AddSeat(name="Bad Name", harness="made-up", workspace="/"), "invalid_argument"),
        (AddSeat(name="a", harness="nobody", workspace="/"), "unknown_harness"),
        (AddSeat(name="a", harness="made-up", workspace="/", mode="steam"), "unknown_mode"),
        (AddSeat(name="a", harness="made-up", workspace="/no/such/folder"), "workspace_missing"),
        (AddSeat(name="a", harness="made-up", workspace="/etc/passwd"), "workspace_not_a_folder"),
        (AddSeat(name="a", harness="made-up", workspace="relative"), "invalid_argument"),
        (AddSeat(name="worker", harness="made-up", workspace="/"), "seat_exists"),
    ],
)
def test_a_seat_that_cannot_be_made_is_refused_with_a_stable_code(request_: AddSeat, code: str) -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            with pytest.raises(UsageError) as refusal:
                await seats.add_seat(request_)
            assert refusal.value.code == code
            assert [seat.name for seat in await seats.list_seats()] == ["worker"]

    asyncio.run(scene())


def test_a_removed_seat_is_gone_and_its_name_is_free_again() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await finished(seats, "worker", "one")
            with pytest.raises(UsageError) as refusal:
                await seats.remove_seat("worker")
            assert refusal.value.code == "seat_running"
            await seats.remove_seat("worker", stop=True)
            with pytest.raises(UsageError) as gone:
                await seats.get_seat("worker")
            assert gone.value.code == "unknown_seat"
            await ground.add(seats)
            view = await finished(seats, "worker", "two")
            assert view.turns == 1

    asyncio.run(scene())


def test_a_fault_of_ours_is_shown_and_the_launch_is_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = AcpMachine.feed
    faults = 2

    def feed(machine: AcpMachine, data: bytes) -> Step:
        nonlocal faults
        if faults and b"n2" in data:
            faults -= 1
            raise RuntimeError("a fault of ours")
        return whole(machine, data)

    monkeypatch.setattr(AcpMachine, "feed", feed)

    async def scene() -> None:
        async with open_ground() as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                await seats.send_prompt("worker", SendPrompt(text="say 5 every 0.05"))
                view = await until(seats, "worker", lambda v: v.problem is not None)
                assert view.problem is not None
                assert (view.status, view.problem.code) == ("unknown", "internal")
                assert "RuntimeError" in view.problem.message
                view = await until(seats, "worker", lambda v: v.last_turn is not None)
                assert view.last_turn is not None
                assert view.last_turn.outcome is TurnOutcome.COMPLETED
                await until(seats, "worker", lambda v: v.problem is None)
            assert await said(ground) == [f"n{i}" for i in range(1, 6)]

    asyncio.run(scene())


def test_the_history_of_a_removed_seat_stays_readable() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await finished(seats, "worker", "one")
            await seats.remove_seat("worker", stop=True)
            assert len(await seats.list_turns("worker")) == 1
            assert len(await seats.list_deliveries("worker")) == 1
            with pytest.raises(UsageError) as never:
                await seats.list_turns("nobody")
            assert never.value.code == "unknown_seat"

    asyncio.run(scene())


def test_a_fault_of_ours_before_anything_runs_gives_the_launch_up_and_holds_the_prompt() -> None:
    async def scene() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            ground.harnesses.refusal = RuntimeError("a fault of ours")
            await seats.send_prompt("worker", SendPrompt(text="hello", id="d-1"))
            view = await until(seats, "worker", lambda v: v.status == "held")
            assert view.problem is None
            delivery = await seats.get_delivery("d-1")
            assert delivery.error is not None
            assert delivery.error.code == "internal"

    asyncio.run(scene())
