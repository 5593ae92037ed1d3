"""Whole seats against a harness that breaks its protocol in one way: what is recorded, and what stays true."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from inspan.model.content import MessageChunk, Noise, ProtocolFault, ToolCallUpdated, UnknownMessage
from inspan.model.events import Envelope, LaunchEnded, PermissionAnswered, PermissionOpened, TurnEnded
from inspan.model.permission import Decision
from inspan.model.turn import TurnOutcome
from inspan.model.views import AnswerPermission, SeatView, SendPrompt
from inspan.seats.core import Seats
from inspan.store import open_store
from support.seat_ground import Ground, finished, is_gone, open_ground, until

AGENT = Path(__file__).parents[1] / "support" / "scripted_faults.py"

Story = Callable[[Ground, Seats], Awaitable[None]]
E = TypeVar("E")


class Log:
    """What was recorded."""

    def __init__(self, envelopes: list[Envelope], ground: Ground) -> None:
        self.envelopes = envelopes
        answers = ground.state / "answers.jsonl"
        lines = answers.read_text().splitlines() if answers.exists() else []
        self.answers = [json.loads(line) for line in lines]

    def all(self, kind: type[E]) -> list[E]:
        return [one.event for one in self.envelopes if isinstance(one.event, kind)]

    def faults(self) -> list[str]:
        return [one.code for one in self.all(ProtocolFault)]


def play(fault: str, story: Story, *, handshake_timeout_s: float = 20) -> Log:
    """Runs a story against the harness with this fault, and reads the log afterwards."""

    async def run() -> Log:
        async with open_ground() as ground:
            ground.harnesses.agent = AGENT
            ground.harnesses.handshake_timeout_s = handshake_timeout_s
            (ground.state / "fault").write_text(fault)
            async with ground.seats() as seats:
                await ground.add(seats)
                await story(ground, seats)
            async with open_store(ground.path / "log.db") as store:
                return Log(list(store.events(limit=100_000)), ground)

    return asyncio.run(run())


async def completes(_: Ground, seats: Seats) -> None:
    view = await finished(seats, "worker", "hello")
    assert view.last_turn is not None
    assert view.last_turn.outcome is TurnOutcome.COMPLETED
    assert view.status == "idle"


async def fails(seats: Seats) -> SeatView:
    """Sends a prompt that comes to nothing, and returns once the harness is proven to be gone."""
    await seats.send_prompt("worker", SendPrompt(text="hello"))
    view = await until(seats, "worker", lambda view: view.status == "held")
    assert view.launch is not None
    assert view.launch.pid is not None
    assert is_gone(view.launch.pid)
    return view


@pytest.mark.requirement("L14")
def test_a_banner_on_standard_output_is_noise_and_the_session_opens() -> None:
    log = play("banner", completes)

    (noise,) = log.all(Noise)
    assert (noise.lines, "Welcome" in noise.sample) == (3, True)
    assert log.faults() == []


@pytest.mark.parametrize("fault", ["mute", "stranger"])
def test_a_harness_that_never_answers_the_handshake_is_stopped_with_a_typed_error(fault: str) -> None:
    async def story(_: Ground, seats: Seats) -> None:
        view = await fails(seats)
        assert view.launch is not None
        assert view.launch.error is not None
        assert view.launch.error.code == "handshake_timeout"
        assert view.activity.value == "unknown"

    log = play(fault, story, handshake_timeout_s=1)

    assert log.faults() == (["unmatched_answer"] if fault == "stranger" else [])
    assert [one.reason for one in log.all(LaunchEnded)] == ["failed"]


def test_an_exit_with_status_0_that_did_nothing_is_no_success() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        view = await fails(seats)
        assert view.launch is not None
        assert (view.launch.exit_code, view.launch.reason) == (0, "exit")
        assert view.launch.error is not None
        assert view.launch.error.code == "harness_exited"
        assert [one.held for one in view.queue] == ["harness_exited"]

    log = play("exit", story)

    assert log.all(TurnEnded) == []


def test_an_answer_that_comes_twice_counts_once() -> None:
    log = play("twice", completes)

    assert len(log.all(TurnEnded)) == 1
    assert set(log.faults()) == {"unmatched_answer"}


def test_an_answer_under_another_id_ends_no_turn() -> None:
    log = play("other_id", completes)

    assert [one.outcome for one in log.all(TurnEnded)] == [TurnOutcome.COMPLETED]
    assert log.faults() == ["unmatched_answer"]


def test_a_permission_for_a_session_that_is_not_there_is_cancelled_and_asked_of_nobody() -> None:
    log = play("foreign_permission", completes)

    assert log.all(PermissionOpened) == []
    (kept,) = log.all(UnknownMessage)
    assert (kept.method, kept.answered) == ("session/request_permission", True)
    assert log.answers[0]["result"] == {"outcome": {"outcome": "cancelled"}}


async def answer(seats: Seats, decision: str) -> SeatView:
    await seats.send_prompt("worker", SendPrompt(text="hello"))
    view = await until(seats, "worker", lambda view: view.status == "needs_input")
    request = view.needs_input[0].request
    assert request is not None
    wanted = AnswerPermission(decision="allow" if decision == "allow" else "deny")
    await seats.answer_permission(request, wanted)
    return await until(seats, "worker", lambda view: view.last_turn is not None)


@pytest.mark.parametrize("fault", ["early_permission", "bare_permission"])
def test_a_permission_is_asked_whether_it_comes_before_its_tool_call_or_carries_only_its_id(
    fault: str,
) -> None:
    async def story(_: Ground, seats: Seats) -> None:
        view = await answer(seats, "allow")
        assert view.last_turn is not None
        assert view.last_turn.outcome is TurnOutcome.COMPLETED

    log = play(fault, story)

    (opened,) = log.all(PermissionOpened)
    assert (opened.tool_call.id, opened.tool_call.title) == ("c-1", "Remove the file")
    assert len(log.all(ToolCallUpdated)) == 1
    assert log.answers[0]["result"]["outcome"] == {"outcome": "selected", "optionId": "yes"}


@pytest.mark.parametrize(("fault", "said"), [("reject_ends", []), ("reject_goes_on", ["goes on"])])
def test_a_rejected_permission_may_end_the_turn_or_not(fault: str, said: list[str]) -> None:
    async def story(_: Ground, seats: Seats) -> None:
        view = await answer(seats, "deny")
        assert view.last_turn is not None
        assert view.last_turn.outcome is TurnOutcome.COMPLETED
        assert view.status == "idle"

    log = play(fault, story)

    (answered,) = log.all(PermissionAnswered)
    assert (answered.decision, answered.option) == (Decision.DENY, "no")
    assert [one.text for one in log.all(MessageChunk)] == said


def test_what_is_said_after_the_answer_is_kept_outside_the_turn_and_the_next_turn_is_whole() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        await completes(ground, seats)
        await finished(seats, "worker", "again")

    log = play("late", story)

    late = [one for one in log.envelopes if isinstance(one.event, MessageChunk) and one.event.text == "late "]
    assert late[0].turn is None
    assert [one.outcome for one in log.all(TurnEnded)] == [TurnOutcome.COMPLETED] * 2
    assert log.faults() == []


@pytest.mark.requirement("L14")
def test_a_line_of_40_mb_is_read_whole() -> None:
    log = play("line 40", completes)

    (chunk,) = log.all(MessageChunk)
    assert len(chunk.text) == 40 * 1024 * 1024
    assert log.faults() == []


@pytest.mark.requirement("H-N36", "H-H5")
def test_a_line_of_64_mb_ends_the_launch_with_a_typed_error() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        await seats.send_prompt("worker", SendPrompt(text="hello"))
        view = await until(
            seats, "worker", lambda view: view.launch is not None and view.launch.status == "ended", 60
        )
        assert view.launch is not None
        assert view.launch.error is not None
        assert view.launch.error.code == "frame_too_large"
        assert view.launch.pid is not None
        assert is_gone(view.launch.pid)
        assert view.last_turn is not None
        assert view.last_turn.outcome is TurnOutcome.FAILED
        assert view.last_turn.error is not None
        assert view.last_turn.error.code == "frame_too_large"

    log = play("line 64 silent", story)

    assert log.faults() == ["frame_too_large"]
    assert log.all(MessageChunk) == []
