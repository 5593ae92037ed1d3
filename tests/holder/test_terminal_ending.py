"""How a harness in a terminal ends: asked by a hang-up, killed, by itself, and with its holder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inspan.holder import LaunchDisk, stop_orphans
from inspan.model.errors import HolderError
from support.holders import Launches, connect, identity_of, kill_holder, members, scenario, until
from support.terminals import ECHO_RAW, RAW, SIZE, follow, start_in_terminal

SAYS_SIGNALS = (
    RAW + "def say(number, _):\n"
    "    os.write(1, signal.Signals(number).name.encode() + b' ')\n"
    "    if number in ends: os._exit(7)\n"
    "ends = [{ends}]\n"
    "signal.signal(signal.SIGHUP, say)\n"
    "signal.signal(signal.SIGTERM, say)\n"
    "os.write(1, b'armed ')\n"
    "while True: signal.pause()\n"
)
"""Says which signals come, and ends at some of them."""


@pytest.mark.parametrize(
    ("ends", "said", "exit_code", "number"),
    [
        ("signal.SIGHUP", [b"SIGHUP"], 7, None),
        ("signal.SIGTERM", [b"SIGHUP", b"SIGTERM"], 7, None),
        ("", [b"SIGHUP", b"SIGTERM"], None, 9),
    ],
)
@pytest.mark.requirement("L13")
@scenario
async def test_stop_hangs_up_then_terminates_then_kills(
    launches: Launches, ends: str, said: list[bytes], exit_code: int | None, number: int | None
) -> None:
    spec = await start_in_terminal(launches, SAYS_SIGNALS.format(ends=ends))
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"armed ")
        # There is no end of input to wait for, so its grace does not count.
        await connection.stop(eof_grace_s=3600, term_grace_s=0.5 if number else 20)
        found = await connection.wait_exited()
        assert (found.exit_code, found.signal) == (exit_code, number)
        assert found.end == shown.end
        assert bytes(shown.data).split()[2:] == said
        await connection.release()
    await until(LaunchDisk(spec.directory).is_holder_dead, "the holder leaves")
    assert members(spec) == []


@scenario
async def test_a_program_that_heeds_the_hang_up_is_not_terminated_meanwhile(launches: Launches) -> None:
    text = (
        RAW + "def save(number, _):\n"
        "    for _ in range(50): os.write(1, b'.')\n"
        "    os._exit(7)\n"
        "signal.signal(signal.SIGHUP, save)\n"
        "os.write(1, b'armed ')\n"
        "while True: signal.pause()\n"
    )
    spec = await start_in_terminal(launches, text)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"armed ")
        await connection.stop(eof_grace_s=0, term_grace_s=20)
        found = await connection.wait_exited()
        assert (found.exit_code, found.signal) == (7, None)
        assert bytes(shown.data).endswith(b"." * 50)
        await connection.release()


@scenario
async def test_the_input_of_a_terminal_has_no_end_and_nothing_is_typed_instead(launches: Launches) -> None:
    spec = await start_in_terminal(launches, ECHO_RAW)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"ready ")
        with pytest.raises(HolderError) as caught:
            await connection.close_stdin()
        assert (caught.value.code, caught.value.detail["reason"]) == ("holder_refused", "terminal_endless")
        assert (await connection.status()).stdin_open
        assert (await connection.write(1, b"still open.")).outcome == "done"
        await shown.saw(b".")
        assert bytes(shown.data) == b"ready still open."


@scenario
async def test_after_a_stop_nothing_can_be_typed_and_after_the_end_no_size_be_set(launches: Launches) -> None:
    spec = await start_in_terminal(launches, SAYS_SIGNALS.format(ends=""))
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"armed ")
        await connection.stop(eof_grace_s=0, term_grace_s=0.2)
        assert (await connection.write(1, b"late")).outcome == "failed_clean"
        with pytest.raises(HolderError) as caught:
            await connection.type_keys(b"late")
        assert caught.value.detail["reason"] == "input_closed"
        assert not await connection.reply(1, b"late")
        await connection.wait_exited()
        with pytest.raises(HolderError) as caught:
            await connection.resize(100, 30)
        assert caught.value.detail["reason"] == "harness_ended"
        found = await connection.foreground()
        assert (found.group, found.leader, found.name, found.is_harness) == (None, None, "", False)
        await connection.release()


@scenario
async def test_a_child_that_keeps_the_terminal_open_does_not_keep_the_holder(launches: Launches) -> None:
    text = (
        RAW + "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.write(1, b'child ')\n"
        "        while True: time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait(); os.read(0, 1); os._exit(5)\n"
    )
    spec = await start_in_terminal(launches, text)
    try:
        async with await connect(spec) as connection:
            shown = await follow(connection)
            await shown.saw(b"child ")
            await connection.type_keys(b".")
            found = await connection.wait_exited()
            assert (found.exit_code, found.end) == (5, len(b"ready child "))
            await connection.release()
        await until(LaunchDisk(spec.directory).is_holder_dead, "the holder leaves")
    finally:
        for pid in members(spec):  # it went its own way, which is its right
            os.kill(pid, signal.SIGKILL)
        await until(lambda: not members(spec), "the child is gone")


@scenario
async def test_a_program_that_closes_its_terminal_for_a_moment_opens_it_again(launches: Launches) -> None:
    text = (
        RAW + "os.closerange(0, 3)\n"
        "time.sleep(0.05)\n"
        "os.open('/dev/tty', os.O_RDWR); os.dup(0); os.dup(0)\n"
        "os.write(1, b'back '); os.write(1, os.read(0, 3)); os._exit(0)\n"
    )
    spec = await start_in_terminal(launches, text)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"back ")
        assert (await connection.write(1, b"yes")).outcome == "done"
        assert (await connection.wait_exited()).exit_code == 0
        assert bytes(shown.data) == b"ready back yes"
        await connection.release()


@scenario
async def test_what_holds_the_foreground_of_a_shell_ends_with_it(launches: Launches) -> None:
    spec = await launches.start("sh", "-i", terminal=SIZE, env={"PATH": os.defpath, "PS1": "> "})
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"> ")
        await connection.type_keys(b"sleep 600\r")
        await until(lambda: len(members(spec)) == 2, "the child runs")
        os.kill(identity_of(spec).harness.pid, signal.SIGKILL)
        assert (await connection.wait_exited()).signal == signal.SIGKILL
        await until(lambda: not members(spec), "the hang-up ended the child")
        await connection.release()


@pytest.mark.requirement("L13")
@scenario
async def test_a_holder_that_is_killed_hangs_up_and_who_ignores_that_is_stopped_as_an_orphan(
    launches: Launches,
) -> None:
    spec = await start_in_terminal(launches, SAYS_SIGNALS.format(ends="signal.SIGHUP"))
    deaf = await start_in_terminal(
        launches, RAW + "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nwhile True: time.sleep(60)"
    )
    for one in (spec, deaf):
        await until(lambda one=one: LaunchDisk(one.directory).journal().end > 5, "it runs")
    async with await connect(spec) as connection:
        await (await follow(connection)).saw(b"armed ")
    for one in (spec, deaf):
        kill_holder(one)
    await until(lambda: not members(spec), "the hang-up ended it")
    done = await stop_orphans(deaf.directory, term_grace_s=0.1)
    assert [one.pid for one in done.stopped] == [identity_of(deaf).harness.pid]
    assert members(deaf) == []


@scenario
async def test_sigterm_to_the_holder_of_a_terminal_stops_the_harness_and_records_its_exit(
    launches: Launches,
) -> None:
    spec = await start_in_terminal(launches, SAYS_SIGNALS.format(ends="signal.SIGTERM"))
    await until(
        lambda: b"armed " in b"".join(data for _, data in LaunchDisk(spec.directory).read_journal(0)),
        "it listens",
    )
    os.kill(identity_of(spec).holder.pid, signal.SIGTERM)
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder leaves")
    found = disk.exit()
    assert found is not None
    assert found.exit_code == 7


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="a small devpts needs root and unshare",
)
def test_a_system_without_a_free_terminal_is_told_and_nothing_runs() -> None:
    story = Path(__file__).parents[1] / "support" / "no_terminal_story.py"
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", sys.executable, str(story)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split() == [b"holder_failed", b"terminal_failed", b"[]"]
