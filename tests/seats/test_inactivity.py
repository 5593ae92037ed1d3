"""A turn that falls silent is said to be quiet after its mode's limit, and is not ended by that."""

from __future__ import annotations

import asyncio

import pytest

from inspan.model.events import TurnEnded, TurnWentQuiet
from inspan.model.turn import TurnOutcome
from inspan.model.views import SendPrompt
from inspan.store import open_store
from support.host_ground import open_host_ground
from support.seat_ground import until

SILENT = """
import json, sys
open_prompt = None
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/prompt":
        open_prompt = message["id"]
        continue
    if message["method"] == "session/cancel":
        body = {"id": open_prompt, "result": {"stopReason": "cancelled"}}
    elif message["method"] == "initialize":
        body = {"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}}
    else:
        body = {"id": message["id"], "result": {"sessionId": "s-1"}}
    print(json.dumps({"jsonrpc": "2.0", **body}), flush=True)
"""
CLAIMS = """
[modes.acp.capabilities]
activity = { support = "supported" }
cancel = { support = "supported" }
permission_report = { support = "supported" }
"""


@pytest.mark.requirement("L12")
def test_a_silent_turn_is_said_to_be_quiet_and_a_cancel_of_it_has_an_outcome_of_its_own() -> None:
    async def run() -> None:
        async with open_host_ground(program=SILENT, keys="inactivity_limit_s = 0.2", more=CLAIMS) as ground:
            async with ground.seats() as seats:
                await ground.add(seats)
                await seats.send_prompt("worker", SendPrompt(text="hello"))
                quiet = await until(seats, "worker", lambda one: "nothing was heard" in one.activity.why)
                assert quiet.activity.value == "unknown"
                assert quiet.in_flight is not None
                assert quiet.last_turn is None
                await seats.cancel_turn("worker")
                ended = await until(seats, "worker", lambda one: one.last_turn is not None)
                assert ended.last_turn is not None
                assert ended.last_turn.outcome is TurnOutcome.CANCELLED
            async with open_store(ground.path / "log.db", read_only=True) as store:
                events = [one.event for one in store.events(limit=1000)]
        assert [one.limit_s for one in events if isinstance(one, TurnWentQuiet)] == [0.2]
        assert [one.outcome for one in events if isinstance(one, TurnEnded)] == [TurnOutcome.CANCELLED]

    asyncio.run(run())
