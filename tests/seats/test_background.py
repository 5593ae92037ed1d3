"""A harness's own background processes: stopped with their launch, by the launch's mark, never by a name alone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from inspan.holder import stop_background
from support.host_ground import HostGround
from support.isolation_ground import open_isolation_ground, ran
from support.seat_ground import is_gone, until

HUB = """
[[background]]
name = "its hub"
pattern = '--acme-hub-daemon\\b'
"""
_WAITS = [sys.executable, "-c", "import time; time.sleep(600)", "--acme-hub-daemon"]


@contextmanager
def started(**environ: str) -> Generator[subprocess.Popen[bytes]]:
    """A process that is called like the hub, in a group of its own."""
    process = subprocess.Popen(_WAITS, env={**os.environ, **environ}, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def left_of(ground: HostGround, name: str) -> int:
    return int((ground.state / f"{name}.pid").read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the mark of a process is hidden")
@pytest.mark.parametrize(("fate", "is_stopped"), [("", True), ('at_end = "leave"', False)])
def test_what_a_harness_leaves_is_stopped_where_it_is_declared_and_bears_the_mark(
    fate: str, is_stopped: bool
) -> None:
    async def story() -> None:
        async with open_isolation_ground(HUB + fate) as ground, ground.seats() as seats:
            pids: list[int] = []
            try:
                with started() as stranger:
                    await ground.add(seats)
                    await ran(ground, seats, text="daemons")
                    pids += [left_of(ground, "hub"), left_of(ground, "other")]
                    await until(
                        seats,
                        "worker",
                        lambda view: view.launch is not None and view.launch.status == "ended",
                    )
                    assert is_gone(pids[0]) is is_stopped
                    assert not is_gone(pids[1])
                    assert stranger.poll() is None
            finally:
                for pid in pids:
                    if not is_gone(pid):
                        os.kill(pid, signal.SIGKILL)

    asyncio.run(story())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the mark of a process is hidden")
def test_another_launch_s_process_of_the_same_name_is_not_touched() -> None:
    with started(INSPAN_LAUNCH="l_other") as other, started(INSPAN_LAUNCH="l_mine") as mine:
        done = asyncio.run(stop_background("l_mine", [r"--acme-hub-daemon\b"]))
        assert [one.pid for one in done.stopped] == [mine.pid]
        assert mine.wait() == -signal.SIGTERM
        assert other.poll() is None
        assert asyncio.run(stop_background("l_mine", [r"--acme-hub-daemon\b"])).stopped == ()
        assert asyncio.run(stop_background("l_other", [])).stopped == ()
        assert other.poll() is None
