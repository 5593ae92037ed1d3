"""A harness in a terminal of its own: what it gets, what is typed into it, and who has its foreground."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from inspan.holder import LaunchDisk, start_holder
from inspan.holder.program.processes import read_process
from inspan.model.errors import HolderError
from support.holders import Launches, Output, connect, identity_of, members, pss_kib, scenario, script, until
from support.terminals import ECHO_RAW, RAW, SAYS_SIZE, SIZE, follow, size, start_in_terminal

BIG = bytes(range(256)) * 4096  # 1 MiB: far more than a terminal takes at once
DIGEST = hashlib.sha256(BIG).hexdigest().encode()

TELLS = (
    "import json, os, sys, termios\n"
    "modes = termios.tcgetattr(0)\n"
    "print(json.dumps({\n"
    "    'ttys': [os.ttyname(n) for n in range(3)],\n"
    "    'controlling': os.ttyname(os.open('/dev/tty', os.O_RDWR)) != '',\n"
    "    'leader': os.getsid(0) == os.getpgid(0) == os.getpid(),\n"
    "    'foreground': os.tcgetpgrp(0) == os.getpid(),\n"
    "    'size': list(os.get_terminal_size()),\n"
    "    'utf8': bool(modes[0] & 0x4000),\n"
    "    'cooked': all(modes[3] & flag for flag in (termios.ECHO, termios.ICANON, termios.ISIG)),\n"
    "    'blocking': [os.get_blocking(n) for n in range(3)],\n"
    "}))\n"
)
"""Tells, as JSON, what kind of terminal it is in."""


def in_front(text: str) -> str:
    """A program that waits for a line, so that it can be looked at."""
    return text + "input()\n"


def terminal_of(pid: int) -> str:
    """The number of the terminal that controls a process; 0 for none."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat[stat.rindex(")") :].split()[5]


@pytest.mark.requirement("H-H9")
@scenario
async def test_the_terminal_is_there_with_its_size_before_the_program_starts(launches: Launches) -> None:
    spec = await start_in_terminal(launches, TELLS, columns=132, rows=43)
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder leaves by itself")
    told = json.loads(b"".join(data for _, data in disk.read_journal(0)))
    (tty,) = set(told.pop("ttys"))
    assert tty.startswith("/dev/")
    assert told == {
        "controlling": True,
        "leader": True,
        "foreground": True,
        "size": [132, 43],
        "utf8": True,
        "cooked": True,
        "blocking": [True, True, True],
    }


@pytest.mark.requirement("H-H9")
@scenario
async def test_the_program_itself_has_the_foreground_and_nothing_stands_in_front_of_it(
    launches: Launches,
) -> None:
    spec = await launches.start("cat", terminal=SIZE)
    identity = identity_of(spec)
    async with await connect(spec) as connection:
        found = await connection.foreground()
        assert (found.group, found.leader, found.is_harness) == (
            identity.harness.pid,
            identity.harness,
            True,
        )
        assert (found.name, found.argv0) == ("cat", "cat")
    row = read_process(identity.harness.pid)
    assert row is not None
    assert row.parent == identity.holder.pid
    assert members(spec) == [identity.harness.pid]


@pytest.mark.requirement("H-A48")
@scenario
async def test_a_wrapper_that_executes_another_program_keeps_its_identity_and_not_its_name(
    launches: Launches,
) -> None:
    wrapper = launches.root / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S -c "$1" very-secret\n')
    wrapper.chmod(0o755)
    spec = await launches.start(str(wrapper), RAW + "signal.pause()", terminal=SIZE)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"ready ")
        found = await connection.foreground()
    assert found.is_harness
    assert found.leader == identity_of(spec).harness
    assert found.argv0 == sys.executable
    assert "wrapper" not in found.name
    assert "very-secret" not in repr(found)


@scenario
async def test_a_child_in_the_foreground_is_told_apart_from_the_harness_until_it_has_gone(
    launches: Launches,
) -> None:
    spec = await launches.start("sh", "-i", terminal=SIZE, env={"PATH": os.defpath, "PS1": "> "})
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"> ")
        await connection.type_keys(b"sleep 600\r")
        while (found := await connection.foreground()).name != "sleep":  # noqa: ASYNC110 - asked of a process
            await asyncio.sleep(0.01)
        assert not found.is_harness
        assert found.leader is not None
        assert found.leader.pid == found.group != identity_of(spec).harness.pid
        await connection.type_keys(b"\x03")
        while not (await connection.foreground()).is_harness:  # noqa: ASYNC110 - asked of a process
            await asyncio.sleep(0.01)


@scenario
async def test_a_guarded_write_goes_to_the_harness_alone_and_is_else_done_without_a_byte(
    launches: Launches,
) -> None:
    spec = await launches.start("sh", "-i", terminal=SIZE, env={"PATH": os.defpath, "PS1": "> "})
    async with await connect(spec) as connection:
        assert connection.can_guard
        shown = await follow(connection)
        await shown.saw(b"> ")
        result = await connection.write(1, b"cat\r", is_guarded=True)
        assert (result.outcome, result.written, result.length) == ("done", 4, 4)
        while (await connection.foreground()).name != "cat":  # noqa: ASYNC110 - asked of a process
            await asyncio.sleep(0.01)
        result = await connection.write(2, b"not for cat\r", is_guarded=True)
        assert (result.outcome, result.written, result.length) == ("done", 0, 0)
    # Who takes over asks what became of it with all of its bytes, and they are not written then either.
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await connection.type_keys(b"\x03")
        while not (await connection.foreground()).is_harness:  # noqa: ASYNC110 - asked of a process
            await asyncio.sleep(0.01)
        result = await connection.write(2, b"not for cat\r", is_guarded=True)
        assert (result.outcome, result.written, result.length, result.duplicate) == ("done", 0, 0, True)
        await connection.write(3, b"echo then this\r", is_guarded=True)
        await shown.saw(b"then this\r\nthen this")
    assert b"not for cat" not in shown.data


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@scenario
async def test_the_harness_in_a_terminal_inherits_no_descriptor_and_the_holder_no_terminal(
    launches: Launches,
) -> None:
    text = "import os\nos.write(1, repr(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:4]).encode())\n"
    spec = await start_in_terminal(launches, in_front(text))
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"[0, 1, 2, 3]")  # the last one lists the folder
        assert terminal_of(identity_of(spec).holder.pid) == "0"


@scenario
async def test_keys_come_between_operations_and_never_in_the_middle_of_one(launches: Launches) -> None:
    text = (
        RAW + "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
        "os.write(1, b'waiting ')\n"
        "signal.sigwait([signal.SIGUSR1])\n"
        "import hashlib\n"
        f"data = sys.stdin.buffer.read({len(BIG)})\n"
        "os.write(1, hashlib.sha256(data).hexdigest().encode())\n"
        "os.write(1, b'[' + sys.stdin.buffer.read(11) + b']')\n"
    )
    spec = await start_in_terminal(launches, text)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"waiting ")
        writing = asyncio.create_task(connection.write(1, BIG, timeout_s=20))
        await until(lambda: LaunchDisk(spec.directory).operations().state == "begun", "the write is begun")
        after = asyncio.create_task(connection.write(2, b"second", timeout_s=20))
        await asyncio.sleep(0)  # the task sends its frame
        await connection.type_keys(b"ke")
        await connection.type_keys(b"ys")
        assert await connection.reply(1, b"!")
        await connection.signal(10)
        assert (await writing).outcome == "done"
        assert (await after).outcome == "done"
        await shown.saw(DIGEST + b"[keys!second]")


@scenario
async def test_an_operation_is_typed_once_however_often_it_is_sent(launches: Launches) -> None:
    spec = await start_in_terminal(launches, ECHO_RAW)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"ready ")
        assert (await connection.write(1, "é\x1b[A\r".encode())).outcome == "done"
    async with await connect(spec) as connection:
        shown = await follow(connection)
        again = await connection.write(1, "é\x1b[A\r".encode())
        assert (again.outcome, again.duplicate) == ("done", True)
        assert (await connection.write(2, b".")).outcome == "done"
        await shown.saw(b".")
        assert bytes(shown.data) == "ready é\x1b[A\r.".encode()


@pytest.mark.requirement("L15")
@scenario
async def test_what_is_typed_is_nowhere_on_the_disk_unless_the_program_shows_it(launches: Launches) -> None:
    text = "import getpass\nprint(len(getpass.getpass('secret: ')), flush=True)\ninput()\n"
    spec = await start_in_terminal(launches, text)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"secret: ")
        await connection.type_keys(b"very-secret\r")
        await shown.saw(b"11\r\n")
    for path in spec.directory.rglob("*"):
        assert not path.is_file() or b"very-secret" not in path.read_bytes(), path


@scenario
async def test_keys_that_nobody_reads_are_refused_as_busy_and_answers_dropped(launches: Launches) -> None:
    spec = await start_in_terminal(launches, RAW + "signal.pause()")
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"ready ")

        async def type_on() -> None:
            for _ in range(100):
                await connection.type_keys(bytes(16 * 1024))

        with pytest.raises(HolderError) as caught:
            await type_on()
        assert (caught.value.code, caught.value.detail["reason"]) == ("holder_refused", "busy")
        assert await connection.reply(1, bytes(64 * 1024))
        assert not await connection.reply(2, bytes(64 * 1024))
        assert (await connection.status()).answered_offset == 2
        assert (await connection.foreground()).is_harness


@scenario
async def test_a_program_that_ends_at_once_is_read_to_its_last_byte(launches: Launches) -> None:
    spec = await launches.start("printf", "%s", "x" * 5000, terminal=SIZE)
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder leaves by itself")
    assert b"".join(data for _, data in disk.read_journal(0)) == b"x" * 5000
    found = disk.exit()
    assert found is not None
    assert (found.exit_code, found.end) == (0, 5000)


@pytest.mark.parametrize("terminal", [size(0, 24), size(80, 0), size(70_000, 24), size(80, -1)])
@scenario
async def test_a_terminal_of_no_size_is_refused_before_anything_runs(
    launches: Launches, terminal: object
) -> None:
    spec = launches.spec("cat", terminal=terminal)
    with pytest.raises(HolderError) as caught:
        await start_holder(spec)
    assert (caught.value.code, caught.value.detail["reason"]) == ("holder_failed", "size_invalid")
    assert members(spec) == []


@scenario
async def test_a_program_that_cannot_be_executed_in_a_terminal_is_told_with_its_reason(
    launches: Launches,
) -> None:
    spec = launches.spec("no-such-program", terminal=SIZE)
    with pytest.raises(HolderError) as caught:
        await start_holder(spec)
    assert (caught.value.code, caught.value.detail["reason"]) == ("launch_failed", "exec_failed")
    assert members(spec) == []
    assert LaunchDisk(spec.directory).identity() is None


@scenario
async def test_a_harness_on_pipes_has_no_terminal(launches: Launches) -> None:
    spec = await launches.start(*script(SAYS_SIZE.replace("say()\nwhile", "while")))
    async with await connect(spec) as connection:
        assert connection.welcome.terminal is None
        await connection.attach(0, Output().take)
        for asked in (
            connection.type_keys(b"x"),
            connection.reply(0, b""),
            connection.resize(80, 24),
            connection.foreground(),
            connection.terminal_pieces(0),
            connection.write(1, b"x", is_guarded=True),
        ):
            with pytest.raises(HolderError) as caught:
                await asked
            assert caught.value.detail["reason"] == "no_terminal"
        assert not connection.can_guard
        assert (await connection.write(1, b"")).outcome == "done"
    assert LaunchDisk(spec.directory).sizes() == []
    with pytest.raises(HolderError) as caught:
        LaunchDisk(spec.directory).terminal_pieces(0)
    assert caught.value.detail["reason"] == "no_terminal"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@scenario
async def test_the_holder_of_a_terminal_stays_small(launches: Launches) -> None:
    spec = await start_in_terminal(launches, ECHO_RAW)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        for op in range(1, 200):
            await connection.write(op, bytes(1000))
            await connection.resize(op, op)
            await connection.foreground()
        await until(lambda: shown.end > 199_000, "all comes back")
        assert pss_kib(identity_of(spec).holder.pid) < 12 * 1024
