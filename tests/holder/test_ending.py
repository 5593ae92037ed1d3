"""Stopping in steps, exits, and what a harness leaves behind."""

from __future__ import annotations

import os
import signal

import pytest

from inspan.holder import LaunchDisk
from inspan.model.errors import HolderError
from support.holders import STUBBORN, Launches, Output, connect, identity_of, members, scenario, script, until

SAYS_HOW = (
    "import os, signal, sys\n"
    "def term(*_): os.write(1, b'TERM'); os._exit(4)\n"
    "signal.signal(signal.SIGTERM, term)\n"
    "os.write(1, b'ready ')\n"
    "sys.stdin.read()\n"
    "os.write(1, b'EOF ')\n"
    "{then}\n"
)


@pytest.mark.parametrize(
    ("then", "said", "exit_code", "number"),
    [
        ("sys.exit(3)", b"ready EOF ", 3, None),
        ("signal.pause()", b"ready EOF TERM", 4, None),
        (
            "signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(1, b'deaf'); signal.pause()",
            b"ready EOF deaf",
            None,
            9,
        ),
    ],
)
@pytest.mark.requirement("L13")
@scenario
async def test_stop_ends_the_input_then_terminates_then_kills(
    launches: Launches, then: str, said: bytes, exit_code: int | None, number: int | None
) -> None:
    spec = await launches.start(*script(SAYS_HOW.format(then=then)))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        await until(lambda: b"ready" in output.data, "the harness is ready")
        # Long enough for the harness to say what it saw, and not at all for the next step.
        grace_s = 10.0 if exit_code == 3 else 0.5
        await connection.stop(eof_grace_s=grace_s, term_grace_s=0.5 if number else 10.0)
        found = await connection.wait_exited()
        assert (found.exit_code, found.signal) == (exit_code, number)
        assert bytes(output.data) == said
        assert found.end == len(said)
        assert connection.exit == found
        await connection.release()
        await connection.wait_closed()
    await until(LaunchDisk(spec.directory).is_holder_dead, "the holder leaves")
    assert LaunchDisk(spec.directory).exit() == found


@pytest.mark.requirement("L13")
@scenario
async def test_a_harness_that_ignores_all_is_killed_with_its_grandchildren_in_its_group_and_out_of_it(
    launches: Launches,
) -> None:
    spec = await launches.start(*script(STUBBORN))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        await until(lambda: output.data.count(b"\n") == 2, "both grandchildren run")
        assert len(members(spec)) == 3
        await connection.stop(eof_grace_s=0.05, term_grace_s=0.05)
        found = await connection.wait_exited()
        assert found.signal == signal.SIGKILL
        assert members(spec) == []
        await connection.release()


@pytest.mark.requirement("L13")
@scenario
async def test_what_a_harness_leaves_in_its_group_when_it_ends_by_itself_is_stopped_too(
    launches: Launches,
) -> None:
    text = "import os, time\nif os.fork() == 0: time.sleep(600)\nos.write(1, b'leaving'); os._exit(5)"
    spec = await launches.start(*script(text))
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder leaves")
    assert members(spec) == []
    found = disk.exit()
    assert found is not None
    assert (found.exit_code, found.end) == (5, 7)


@scenario
async def test_a_second_stop_may_hurry_the_first(launches: Launches) -> None:
    spec = await launches.start(*script(STUBBORN))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        await until(lambda: output.data.count(b"\n") == 2, "both grandchildren run")
        await connection.stop(eof_grace_s=3600, term_grace_s=3600)
        await connection.stop(eof_grace_s=0, term_grace_s=0)
        assert (await connection.wait_exited()).signal == signal.SIGKILL
        await connection.stop(eof_grace_s=0, term_grace_s=0)
        await connection.release()


@scenario
async def test_a_stop_cuts_a_write_that_the_harness_does_not_read(launches: Launches) -> None:
    spec = await launches.start("sleep", "600")
    async with await connect(spec) as connection:
        await connection.attach(0, Output().take)
        with pytest.raises(HolderError):
            await connection.write(1, bytes(1024 * 1024), timeout_s=0.05)
        await connection.stop(eof_grace_s=0.05, term_grace_s=5)
        assert (await connection.write(1, bytes(1024 * 1024))).outcome == "cut"
        assert (await connection.wait_exited()).signal == signal.SIGTERM
        await connection.release()


@scenario
async def test_a_signal_goes_to_the_harness_or_to_its_group(launches: Launches) -> None:
    text = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGUSR1, lambda *_: os.write(1, who))\n"
        "who = b'leader '\n"
        "child = os.fork()\n"
        "if child == 0: who = b'child '\n"
        "os.write(1, b'. ')\n"
        "while True: signal.pause()\n"
    )
    spec = await launches.start(*script(text))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        await until(lambda: bytes(output.data) == b". . ", "both are ready")
        await connection.signal(signal.SIGUSR1)
        await until(lambda: bytes(output.data) == b". . leader ", "the leader got it")
        await connection.signal(signal.SIGUSR1, group=True)
        await until(
            lambda: sorted(output.data.split()) == sorted(b". . leader leader child".split()), "both got it"
        )


@scenario
async def test_the_exit_is_told_after_all_output_and_the_holder_waits_for_its_release(
    launches: Launches,
) -> None:
    spec = await launches.start(
        *script("import os, sys\nsys.stdin.read()\nos.write(1, b'x' * 50000)\nos.kill(0, 9)")
    )
    async with await connect(spec) as connection:
        with pytest.raises(HolderError) as caught:
            await connection.release()
        assert caught.value.detail["reason"] == "harness_running"
        await connection.close_stdin()
        received = 0
        async for _, data in await connection.chunks(0, window_bytes=1000):
            received += len(data)
        assert received == 50_000
        assert connection.exit is not None
        assert (connection.exit.signal, connection.exit.end) == (9, 50_000)
        with pytest.raises(HolderError) as caught:
            await connection.signal(1)
        assert caught.value.detail["reason"] == "harness_ended"
        assert not LaunchDisk(spec.directory).is_holder_dead()
        await connection.release()
        await connection.wait_closed()
    await until(LaunchDisk(spec.directory).is_holder_dead, "the holder leaves")


@scenario
async def test_a_holder_without_a_folder_does_not_outlive_its_harness(launches: Launches) -> None:
    spec = await launches.start("cat")
    identity = identity_of(spec)
    moved = launches.root / "moved"
    spec.directory.rename(moved)
    os.kill(identity.harness.pid, signal.SIGKILL)
    await until(LaunchDisk(moved).is_holder_dead, "the holder gives up")
    moved.rename(spec.directory)
    spec.socket.unlink(missing_ok=True)
