"""Wakes: where a start is expensive, core starts a harness only because somebody asked; its watches can be off."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec
import pytest

from inspan.model.capability import Capabilities
from inspan.model.content import ErrorReported, MessageChunk
from inspan.model.delivery import HeldReason
from inspan.model.events import LaunchRequested, StopRequested
from inspan.model.reports import PromptAnswered, PromptReady
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.turn_events import TurnStuck
from inspan.model.views import SendPrompt
from inspan.seats.decision import Context
from inspan.seats.inputs import LimitReset, ProcessExited, ReleaseQueue, TurnFellStuck
from support.host_ground import open_host_ground
from support.seat_ground import until
from support.seat_scene import ALL, Scene

BROKEN = CallError(code="call_failed", message="broken")
LIMITED = CallError(code="limited", message="It resets at 1pm (UTC).")
SILENT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/prompt":
        continue
    result = {"sessionId": "s-1"}
    if message["method"] == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
CLAIMS = """
[modes.acp.wake]
cost = "expensive"
note = "it reads its whole memory."
[modes.acp.capabilities]
activity = { support = "supported" }
permission_report = { support = "supported" }
"""


class DearScene(Scene):
    """A seat whose harness is expensive to start."""

    def context(self) -> Context:
        return msgspec.structs.replace(super().context(), is_wake_expensive=True)


@pytest.mark.requirement("H-A38")
def test_a_stuck_turn_of_a_harness_that_is_expensive_to_start_is_said_and_not_restarted() -> None:
    scene = DearScene().running()
    scene.report(ErrorReported(error=BROKEN))
    assert scene.seat.in_flight is not None
    scene.give(TurnFellStuck(turn=scene.seat.in_flight.turn, after_s=60))
    stuck = scene.last(TurnStuck)
    assert stuck.action == "none"
    assert "expensive" in stuck.why_not
    assert scene.count(StopRequested) == 0


@pytest.mark.requirement("H-A38")
@pytest.mark.parametrize(("kind", "starts"), [(Scene, 2), (DearScene, 1)])
def test_the_end_of_a_limit_starts_no_harness_that_is_expensive_to_start(
    kind: type[Scene], starts: int
) -> None:
    scene = kind(one_shot=True, capabilities=Capabilities(resume=ALL.resume, activity=ALL.activity))
    scene.send("d-1")
    scene.send("d-2")
    scene.connect()
    scene.report(PromptReady())
    scene.wrote("d-1")
    scene.report(MessageChunk(role="agent", text="x"))
    scene.report(
        PromptAnswered(delivery="d-1", outcome=TurnOutcome.LIMITED, raw_reason="error", error=LIMITED)
    )
    scene.give(ProcessExited(launch=scene.launch, exit_code=1))
    assert [one.held for one in scene.seat.queue] == [HeldReason.LIMITED]
    scene.now += timedelta(hours=2)
    scene.give(LimitReset())
    assert scene.count(LaunchRequested) == starts
    if starts == 1:
        scene.give(ReleaseQueue())
        assert scene.count(LaunchRequested) == 2


@pytest.mark.requirement("H-A38")
def test_a_manifest_says_what_a_start_costs_and_may_switch_the_watches_off() -> None:
    keys = "inactivity_limit_s = 0\nstuck_after_s = 0"

    async def story() -> None:
        async with (
            open_host_ground(program=SILENT, keys=keys, more=CLAIMS) as ground,
            ground.seats() as seats,
        ):
            view = await ground.add(seats)
            assert "is expensive: it reads its whole memory." in view.caution
            await seats.send_prompt("worker", SendPrompt(text="hello"))
            await until(seats, "worker", lambda one: one.in_flight is not None and one.session.open)
            with pytest.raises(AssertionError):
                await until(seats, "worker", lambda one: "nothing was heard" in one.activity.why, timeout_s=2)

    asyncio.run(story())
