"""An advisory is good to know and nothing more: it is never read as a prompt that did not arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from inspan.model.delivery import DeliveryState
from inspan.model.plan import LaunchRequest, Problem
from inspan.model.turn import TurnOutcome
from support.host_ground import open_host_ground
from support.seat_ground import Ground, finished, open_ground, until

ADVISORY = Problem(code="version_untested", message="Its version was not tried.", is_fatal=False)
FATAL = Problem(code="not_installed", message="It is not there.")


def advise(ground: Ground, *problems: Problem) -> None:
    async def preflight(request: LaunchRequest) -> Sequence[Problem]:
        return problems

    ground.harnesses.preflight = preflight


@pytest.mark.requirement("H-E7")
def test_an_advisory_before_a_launch_holds_no_prompt_back_and_is_no_problem_of_the_seat() -> None:
    async def story() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            advise(ground, ADVISORY)
            assert (await ground.add(seats)).problem is None
            view = await finished(seats, "worker", "say 2 every 0.1", "d-1")
            assert view.last_turn is not None
            assert view.last_turn.outcome is TurnOutcome.COMPLETED
            delivery = await seats.get_delivery("d-1")
            assert (delivery.state, delivery.held, delivery.error) == (DeliveryState.STARTED, None, None)
            advise(ground, ADVISORY, FATAL)
            assert (await ground.add(seats, "other")).problem == FATAL

    asyncio.run(story())


RUNS = """
import sys
sys.stdin.read()
sys.stderr.write("warning: your link is stale; update available\\n")
print("done")
"""
MODE = """
[modes.once]
transport = "headless"
[modes.once.launch]
args = ["run"]
[modes.once.headless]
output = "text"
[modes.once.capabilities]
activity = { support = "supported" }
permission_report = { support = "supported" }
[[modes.once.postures]]
approvals = "ask"
"""


@pytest.mark.requirement("H-E7")
def test_a_warning_of_the_harness_leaves_a_delivery_what_it_is() -> None:
    async def story() -> None:
        async with open_host_ground(program=RUNS, more=MODE, mode="once") as ground, ground.seats() as seats:
            await ground.add(seats)
            view = await finished(seats, "worker", "go", "d-1")
            assert view.last_turn is not None
            assert view.last_turn.outcome is TurnOutcome.COMPLETED
            await until(seats, "worker", lambda one: one.launch is not None and one.launch.status == "ended")
            delivery = await seats.get_delivery("d-1")
            assert (delivery.state, delivery.error) == (DeliveryState.STARTED, None)

    asyncio.run(story())
