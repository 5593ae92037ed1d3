"""Stuck turns and held queues with real processes: the harness is another one, the conversation is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from inspan.model.events import DeliverySending, LaunchRequested, TurnEnded
from inspan.model.screen_rules import ScreenRule
from inspan.model.turn import TurnOutcome
from inspan.model.turn_events import QueueReleased, TurnStuck
from inspan.model.views import SeatView, SendPrompt
from inspan.seats.core import Seats
from inspan.store import open_store
from support.console_ground import COMPOSER_RULES, open_console_ground
from support.host_ground import HostGround, open_host_ground
from support.seat_ground import is_gone, until

PEER = """
import json, os, signal, sys, time
from pathlib import Path
state = Path(os.environ["ACME_STATE"])
running = None
def write(body):
    print(json.dumps({"jsonrpc": "2.0", **body}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method", "")
    if method == "initialize":
        write({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {
            "loadSession": True, "sessionCapabilities": {"resume": {}}}}})
    elif method == "session/new":
        write({"id": message["id"], "result": {"sessionId": "s-1"}})
    elif method in ("session/resume", "session/load"):
        (state / "resumed").open("a").write(message["params"]["sessionId"] + "\\n")
        write({"id": message["id"], "result": {}})
    elif method == "session/prompt":
        text = message["params"]["prompt"][0]["text"]
        with (state / "prompts").open("a") as file:
            file.write(text + "\\n")
        if "deaf" in text:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if running is not None:
            write({"id": message["id"], "error": {"code": -32603, "message": "agent already has an active run"}})
        elif "wedge" in text:
            running = message["id"]
            write({"method": "x/retrying", "params": {"sessionId": "s-1", "detail": "the provider hung up"}})
        elif "ghost" in text:
            running = message["id"]
            write({"id": message["id"], "result": {"stopReason": "end_turn"}})
        elif "limit" in text:
            write({"id": message["id"], "error": {"code": 429, "message": text}})
        else:
            write({"id": message["id"], "result": {"stopReason": "end_turn"}})
    elif "id" in message:
        write({"id": message["id"], "result": {}})
    if "deaf" in line:
        time.sleep(600)
"""
KEYS = "stuck_after_s = 0.3\nstop_grace_s = 0.2"
MORE = """
[modes.acp.capabilities]
resume = { support = "supported" }
activity = { support = "supported" }
permission_report = { support = "supported" }
[[modes.acp.acp.retry_notifications]]
method = "x/retrying"
reason = ["detail"]
[[modes.acp.diagnoses]]
raw_code = -32603
message_pattern = "already has an active run"
code = "active_run"
title = "A run is active"
remedy = "It is restarted."
[[modes.acp.diagnoses]]
raw_code = 429
code = "limited"
title = "The limit was reached"
remedy = "Wait."
"""

Story = Callable[[HostGround, Seats], Awaitable[None]]


def play(story: Story, *, keys: str = KEYS, more: str = MORE) -> None:
    async def run() -> None:
        async with (
            open_host_ground(program=PEER, keys=keys, more=more) as ground,
            ground.seats() as seats,
        ):
            await ground.add(seats)
            await story(ground, seats)

    asyncio.run(run())


async def events(ground: HostGround) -> list[object]:
    async with open_store(ground.path / "log.db", read_only=True) as store:
        return [one.event for one in store.events(limit=10_000)]


def prompts(ground: HostGround) -> list[str]:
    return (ground.state / "prompts").read_text().splitlines()


async def until_done(seats: Seats, delivery: str) -> SeatView:
    return await until(
        seats, "worker", lambda one: one.last_turn is not None and one.last_turn.delivery == delivery
    )


@pytest.mark.requirement("H-N14", "H-H11")
@pytest.mark.parametrize("how", ["wedge", "wedge deaf"])
def test_a_turn_that_showed_an_error_and_nothing_since_is_restarted_on_its_conversation(how: str) -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        await seats.send_prompt("worker", SendPrompt(text=how))
        first = await until(seats, "worker", lambda one: one.in_flight is not None)
        after = await seats.send_prompt("worker", SendPrompt(text="and then"))
        view = await until_done(seats, after.id)
        assert first.launch is not None
        assert view.launch is not None
        assert first.launch.id != view.launch.id
        assert first.launch.pid is not None
        assert is_gone(first.launch.pid)
        assert view.launch.attempt == "resume"
        assert prompts(ground) == [how, "and then"]
        assert (ground.state / "resumed").read_text() == "s-1\n"
        log = await events(ground)
        said = [one for one in log if isinstance(one, TurnStuck)]
        assert [(one.reason, one.action, one.after_s) for one in said] == [
            ("error_without_end", "restart", 0.3)
        ]
        assert said[0].error.message == "the provider hung up"
        ends = [one for one in log if isinstance(one, TurnEnded)]
        assert [one.outcome for one in ends] == [TurnOutcome.FAILED, TurnOutcome.COMPLETED]
        assert ends[0].error == said[0].error

    play(story)


@pytest.mark.requirement("H-N15", "H-H11")
def test_a_harness_that_answers_that_a_run_is_active_is_restarted_at_once_and_takes_the_next_prompt() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        ghost = await seats.send_prompt("worker", SendPrompt(text="ghost"))
        await until_done(seats, ghost.id)
        refused = await seats.send_prompt("worker", SendPrompt(text="one"))
        waits = await seats.send_prompt("worker", SendPrompt(text="two"))
        view = await until_done(seats, waits.id)
        assert view.last_turn is not None
        assert view.last_turn.outcome is TurnOutcome.COMPLETED
        assert prompts(ground) == ["ghost", "one", "two"]
        assert (ground.state / "resumed").read_text() == "s-1\n"
        turn = (await seats.get_delivery(refused.id)).turn
        assert turn is not None
        error = (await seats.get_turn(turn)).error
        assert error is not None
        assert error.code == "active_run"

    play(story, keys="stop_grace_s = 0.2")


@pytest.mark.requirement("H-N14")
def test_a_daemon_that_ends_in_the_middle_of_a_restart_is_followed_by_one_that_ends_it() -> None:
    async def run() -> None:
        keys = "stuck_after_s = 0.3\nstop_grace_s = 1.0"
        async with open_host_ground(program=PEER, keys=keys, more=MORE) as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                await seats.send_prompt("worker", SendPrompt(text="wedge deaf"))
                await until(seats, "worker", lambda one: one.in_flight is not None)
                after = await seats.send_prompt("worker", SendPrompt(text="and then"))
                await until(
                    seats, "worker", lambda one: one.launch is not None and one.launch.status == "stopping"
                )
            async with ground.seats() as seats:
                view = await until_done(seats, after.id)
                assert view.launch is not None
                assert view.launch.attempt == "resume"
                assert prompts(ground) == ["wedge deaf", "and then"]
            log = await events(ground)
            assert [one.by for one in log if isinstance(one, LaunchRequested)] == ["prompt", "stuck"]

    asyncio.run(run())


def test_a_harness_that_cannot_resume_is_left_as_it_is_and_that_is_said() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        await seats.send_prompt("worker", SendPrompt(text="wedge"))
        notes: tuple[str, ...] = ()
        for _ in range(2000):
            notes = (await seats.explain_seat("worker")).notes
            if any("cannot be resumed" in note for note in notes):
                break
            await asyncio.sleep(0.01)
        assert any("the provider hung up" in note and "left as it is" in note for note in notes)
        view = await seats.get_seat("worker")
        assert view.in_flight is not None
        assert view.launch is not None
        assert view.launch.status == "ready"

    play(story, more=MORE.replace('resume = { support = "supported" }', ""))


def test_a_queue_behind_a_limit_waits_until_it_is_released_across_a_restart_of_the_daemon() -> None:
    async def run() -> None:
        async with open_host_ground(program=PEER, keys=KEYS, more=MORE) as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                sent = [
                    await seats.send_prompt("worker", SendPrompt(text=text))
                    for text in ("limit", "one", "two")
                ]
                view = await until(seats, "worker", lambda one: one.status == "held")
                assert [(one.id, one.held) for one in view.queue] == [(one.id, "limited") for one in sent[1:]]
                assert "inspan release worker" in (await seats.get_delivery(sent[2].id)).hint
            async with ground.seats() as seats:
                await until(seats, "worker", lambda one: one.status == "held")
                assert prompts(ground) == ["limit"]
                await seats.release_seat("worker")
                await until_done(seats, sent[2].id)
            assert prompts(ground) == ["limit", "one", "two"]
            log = await events(ground)
            assert len([one for one in log if isinstance(one, QueueReleased)]) == 1
            assert len([one for one in log if isinstance(one, DeliverySending)]) == 3

    asyncio.run(run())


@pytest.mark.requirement("H-H11")
def test_a_wedge_that_a_rule_of_the_console_names_restarts_it_on_its_conversation() -> None:
    async def run() -> None:
        async with open_console_ground(composes=True) as ground:
            (ground.state / "script.json").write_text('[{"limit": true}]')
            rules = tuple(
                one
                if one.name != "limit"
                else ScreenRule(
                    name="wedge",
                    report="error",
                    priority=480,
                    region=one.region,
                    all=("^Usage limit reached",),
                    code="wedged",
                )
                for one in COMPOSER_RULES.rules
            )
            ground.consoles.rules = msgspec.structs.replace(COMPOSER_RULES, rules=rules)
            async with ground.seats() as seats:
                await ground.add(seats)
                await seats.start_seat("worker", session="s-1")
                first = await until(seats, "worker", lambda one: one.session.open, timeout_s=40)
                sent = [await seats.send_prompt("worker", SendPrompt(text=text)) for text in ("one", "two")]
                view = await until(
                    seats,
                    "worker",
                    lambda one: one.last_turn is not None and one.last_turn.delivery == sent[1].id,
                    timeout_s=60,
                )
                assert first.launch is not None
                assert view.launch is not None
                assert view.launch.id != first.launch.id
                assert (view.launch.attempt, view.session.id) == ("resume", "s-1")
                assert ground.submitted() == ["one", "two"]
            async with open_store(ground.path / "log.db", read_only=True) as store:
                log = [one.event for one in store.events(limit=10_000)]
            assert [one.reason for one in log if isinstance(one, TurnStuck)][:1] == ["wedged"]

    asyncio.run(run())


def test_a_queue_behind_a_limit_goes_on_by_itself_at_the_time_that_the_harness_told() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        first = await seats.send_prompt("worker", SendPrompt(text="hello"))
        await until_done(seats, first.id)
        resets = datetime.now(UTC) + timedelta(seconds=3)
        words = f"limit, it resets {resets:%Y-%m-%dT%H:%M:%S}Z"
        sent = [await seats.send_prompt("worker", SendPrompt(text=text)) for text in (words, "after")]
        view = await until_done(seats, sent[1].id)
        assert view.last_turn is not None
        assert view.last_turn.begun_at is not None
        assert view.last_turn.begun_at >= resets.replace(microsecond=0)
        log = await events(ground)
        assert [one.by for one in log if isinstance(one, QueueReleased)] == ["limit_reset"]

    play(story)
