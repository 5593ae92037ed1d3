"""How long a start may take: longer for a program's first start on this machine, where its manifest says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from inspan.model.plan import LaunchPlan, TransportSettings
from inspan.model.views import LaunchView, SeatView
from inspan.seats.core import Seats
from inspan.seats.start_budget import Start, StartMemory, budget_s
from support.host_ground import HostGround, open_host_ground
from support.seat_ground import until

SLOW = """
import json, sys, time
time.sleep(1.5)
for line in sys.stdin:
    message = json.loads(line)
    result = {"protocolVersion": 1, "agentCapabilities": {}} if message["method"] == "initialize" else {"sessionId": "s-1"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
MUTE = "import sys\nsys.stdin.read()\n"


async def start(seats: Seats, name: str) -> LaunchView:
    """Starts a seat of its own, and gives its launch once that is ready or over."""

    def is_settled(view: SeatView) -> bool:
        return view.launch is not None and view.launch.status in ("ready", "ended")

    await seats.start_seat(name)
    launch = (await until(seats, name, is_settled)).launch
    assert launch is not None
    return launch


@pytest.mark.requirement("L12")
def test_the_first_start_of_a_program_has_its_own_budget_and_a_new_version_begins_anew() -> None:
    async def run() -> None:
        keys = "handshake_timeout_s = 0.5\ncold_start_timeout_s = 60"
        async with open_host_ground(program=SLOW, keys=keys) as ground:
            async with ground.seats() as seats:
                for name in ("first", "second", "third"):
                    await ground.add(seats, name)
                assert (await start(seats, "first")).status == "ready"
                remembered = ground.path / "starts.json"
                while not remembered.exists():  # noqa: ASYNC110 - a file sets no event
                    await asyncio.sleep(0.01)
            async with ground.seats() as seats:
                warm = await start(seats, "second")
                assert warm.error is not None
                assert (warm.status, warm.error.code) == ("ended", "handshake_timeout")
                assert warm.error.message == "No session was open after 0.5 seconds."
                change(ground)
                assert (await start(seats, "third")).status == "ready"

    asyncio.run(run())


def change(ground: HostGround) -> None:
    """Puts another version of the program in the place of this one."""
    program = ground.path / "bin" / "acme-agent"
    program.write_text(program.read_text() + "# another version\n")


@pytest.mark.requirement("L12")
def test_a_first_start_that_takes_too_long_says_so_and_is_no_start_that_counts() -> None:
    async def run() -> None:
        keys = "handshake_timeout_s = 60\ncold_start_timeout_s = 0.5"
        async with open_host_ground(program=MUTE, keys=keys) as ground, ground.seats() as seats:
            for name in ("first", "second"):
                await ground.add(seats, name)
                launch = await start(seats, name)
                assert launch.error is not None
                assert launch.error.code == "handshake_timeout"
                assert "the time of a first start" in launch.error.message

    asyncio.run(run())


def plan(cold_s: float | None) -> LaunchPlan:
    return LaunchPlan(
        program="/bin/sh",
        arguments=(),
        cwd="/",
        settings=TransportSettings(workspace="/"),
        handshake_timeout_s=60,
        cold_start_timeout_s=cold_s,
    )


def test_a_mode_without_a_budget_for_first_starts_gives_every_start_the_same() -> None:
    cold, warm = (Start(of="acme/acp", stamp="x", is_cold=is_cold) for is_cold in (True, False))

    assert [budget_s(plan(None), one) for one in (cold, warm)] == [60, 60]
    assert [budget_s(plan(300), one) for one in (cold, warm)] == [300, 60]


def test_modes_are_remembered_apart_and_a_damaged_memory_is_none(tmp_path: Path) -> None:
    memory = StartMemory(tmp_path / "starts.json")
    memory.note_ready(memory.look_up("acme", "acp", "/bin/sh"))
    assert not StartMemory(tmp_path / "starts.json").look_up("acme", "acp", "/bin/sh").is_cold
    assert memory.look_up("acme", "headless", "/bin/sh").is_cold
    assert memory.look_up("acme", "acp", str(tmp_path / "gone")).is_cold

    (tmp_path / "starts.json").write_bytes(b"{")
    assert memory.look_up("acme", "acp", "/bin/sh").is_cold
