"""The effort that a seat asks for: told to its harness at every launch, shown, and kept by its forks."""

from __future__ import annotations

import asyncio

from inspan.model.session_views import ForkSeat
from support.host_ground import open_host_ground
from support.seat_ground import until

AGENT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"resume": {}, "fork": {}}}}
    if message["method"] != "initialize":
        result = {"sessionId": "s-1"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
CLAIMS = """
[modes.acp.capabilities]
resume = { support = "supported" }
fork = { support = "supported" }
"""
LAUNCH = """
model_args = ["--model", "{model}"]
effort_args = ["--effort={effort}"]
"""


def test_the_effort_is_told_at_every_launch_shown_and_kept_by_a_fork() -> None:
    async def run() -> None:
        async with open_host_ground(program=AGENT, launch=LAUNCH, more=CLAIMS) as ground:
            async with ground.seats() as seats:
                added = await ground.add(seats, effort="high", model="m")
                assert (added.effort, added.problem) == ("high", None)
                await seats.start_seat("worker")
                view = await until(seats, "worker", lambda one: one.session.open)
                assert view.launch is not None
                assert view.launch.arguments == ("acp", "--model", "m", "--effort=high")
                await seats.stop_seat("worker")
                await until(seats, "worker", lambda one: one.status == "stopped")
            async with ground.seats() as seats:
                assert (await seats.get_seat("worker")).effort == "high"
                await seats.start_seat("worker")
                view = await until(seats, "worker", lambda one: one.session.open)
                assert view.launch is not None
                assert "--effort=high" in view.launch.arguments
                assert (await seats.fork_seat("worker", ForkSeat(name="branch"))).effort == "high"

    asyncio.run(run())


def test_an_effort_that_the_mode_cannot_be_told_is_a_problem_from_the_start() -> None:
    async def run() -> None:
        async with open_host_ground(program=AGENT) as ground, ground.seats() as seats:
            added = await ground.add(seats, effort="high")
            assert added.problem is not None
            assert added.problem.code == "invalid_argument"
            assert "cannot be told an effort" in added.problem.message
            await seats.start_seat("worker")
            view = await until(seats, "worker", lambda one: one.status == "failed")
            assert view.launch is not None
            assert view.launch.error is not None
            assert "cannot be told an effort" in view.launch.error.message

    asyncio.run(run())
