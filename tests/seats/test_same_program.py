"""Two harnesses whose processes look the same are told apart by what was launched, never by what a process is called."""

from __future__ import annotations

import asyncio
import os
import signal

import psutil
import pytest

from inspan.model.views import SeatView, SendPrompt
from inspan.seats.core import Seats
from support.harness_folders import add_harness, add_program, manifest_text
from support.host_ground import open_host_ground
from support.seat_ground import is_gone, until

PEER = """
import json, os, sys
from pathlib import Path
if "--shown" not in sys.argv:
    os.execv(sys.executable, [sys.executable, __file__, "--shown"])
name = Path(__file__).name
state = Path(os.environ["ACME_STATE"])
for line in sys.stdin:
    message = json.loads(line)
    method, result = message.get("method", ""), {}
    with (state / name).open("a") as file:
        file.write(json.dumps([method, message.get("params", {}).get("sessionId", "")]) + "\\n")
    if method == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}}}
    elif method == "session/new":
        result = {"sessionId": f"of-{name}"}
    elif method == "session/prompt":
        result = {"stopReason": "end_turn"}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
CLAIMS = """
[modes.acp.capabilities]
resume = { support = "supported" }
activity = { support = "supported" }
permission_report = { support = "supported" }
"""
SEATS = {"worker": ("acme", "of-acme-agent"), "other": ("bravo", "of-bravo-agent")}


async def finish(seats: Seats, name: str) -> SeatView:
    sent = await seats.send_prompt(name, SendPrompt(text="hello"))
    return await until(
        seats, name, lambda one: one.last_turn is not None and one.last_turn.delivery == sent.id
    )


def identity(view: SeatView) -> tuple[str, str | None]:
    return view.harness, view.session.id


@pytest.mark.requirement("H-H10")
def test_two_harnesses_that_run_in_the_same_interpreter_keep_harness_and_reference() -> None:
    async def run() -> None:
        async with open_host_ground(program=PEER, more=CLAIMS) as ground:
            text = manifest_text(more=CLAIMS).replace("acme", "bravo").replace("Acme", "Bravo")
            add_harness(ground.path / "harnesses", "bravo", text)
            add_program(ground.path / "bin", "bravo-agent", PEER)
            pids: dict[str, int] = {}
            async with ground.seats() as seats:
                await ground.add(seats)
                await ground.add(seats, "other", harness="bravo")
                for name, expected in SEATS.items():
                    view = await finish(seats, name)
                    assert identity(view) == expected
                    assert view.launch is not None
                    assert view.launch.pid is not None
                    pids[name] = view.launch.pid
            shown = {(psutil.Process(pid).name(), psutil.Process(pid).exe()) for pid in pids.values()}
            assert len(shown) == 1
            # The daemon comes back to both while they run.
            async with ground.seats() as seats:
                for name, expected in SEATS.items():
                    view = await finish(seats, name)
                    assert identity(view) == expected
                    assert view.launch is not None
                    assert view.launch.pid == pids[name]
            # Both are gone, as after a restart of the machine, and each conversation is resumed by its own harness.
            for pid in pids.values():
                os.kill(pid, signal.SIGKILL)
            async with ground.seats() as seats:
                for name, expected in SEATS.items():
                    await until(seats, name, lambda one: one.status == "exited")
                    assert is_gone(pids[name])
                    view = await finish(seats, name)
                    assert identity(view) == expected
                    assert view.launch is not None
                    assert view.launch.attempt == "resume"
            for harness, session in SEATS.values():
                log = (ground.state / f"{harness}-agent").read_text()
                assert f'["session/resume", "{session}"]' in log
                assert all(other == session or other not in log for _, other in SEATS.values())

    asyncio.run(run())
