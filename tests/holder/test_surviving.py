"""Owners and holders are killed for real; nothing is lost, nothing comes twice, nothing stays behind."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from inspan.holder import LaunchDisk, StoppedOrphans, connect_holder, start_time, stop_orphans
from inspan.model.errors import HolderError
from support.holders import (
    COUNTER,
    STUBBORN,
    Launches,
    Output,
    connect,
    identity_of,
    kill_holder,
    members,
    scenario,
    script,
    until,
)

OWNER = Path(__file__).parents[1] / "support" / "owner_story.py"

TALKER = (
    "import os, sys, time\n"
    "n = 0\n"
    "while n % 500 or not os.path.exists(sys.argv[1]):\n"
    "    os.write(1, b'%09d\\n' % n)\n"
    "    n += 1\n"
    "    if n % 500 == 0: time.sleep(0.005)\n"
)
"""Numbers lines until a file is there."""

KILLS = 6


@scenario
async def test_an_owner_killed_again_and_again_loses_no_byte_and_gets_none_twice(launches: Launches) -> None:
    enough, received = launches.root / "enough", launches.root / "received"
    received.touch()
    limits = {"segment_bytes": 16 * 1024, "max_unacknowledged_bytes": 100_000}
    spec = await launches.start(*script(TALKER), str(enough), **limits)
    for kill in range(KILLS + 1):
        owner = await asyncio.create_subprocess_exec(
            *(sys.executable, str(OWNER), str(spec.directory), spec.nonce, str(received)),
            stdout=asyncio.subprocess.PIPE,
        )
        said = asyncio.create_task(owner.communicate())
        if kill < KILLS:
            target = received.stat().st_size + random.randrange(1, 60_000)
            await until(lambda target=target: received.stat().st_size >= target, "more output")
            owner.kill()
        else:
            enough.touch()
        assert (await said)[0] == (b"" if kill < KILLS else b"ended\n")
    await until(LaunchDisk(spec.directory).is_holder_dead, "the holder leaves")
    found = LaunchDisk(spec.directory).exit()
    assert found is not None
    assert received.stat().st_size == found.end
    assert received.read_bytes() == b"".join(b"%09d\n" % n for n in range(received.stat().st_size // 10))


@scenario
async def test_the_harness_and_its_holder_do_not_notice_that_no_owner_is_there(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    async with await connect(spec) as connection:
        await connection.write(1, b"before\n")
    harness = identity_of(spec).harness
    assert start_time(harness.pid) == harness.start_time
    async with await connect(spec) as connection:
        assert connection.welcome.last_op == 1
        output = Output()
        await connection.attach(0, output.take)
        await connection.write(2, b"after\n")
        await until(lambda: bytes(output.data) == b"1 before\n2 after\n", "both lines are there")


@scenario
async def test_a_killed_holder_ends_the_connection_and_what_is_on_disk_is_read_on(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER), segment_bytes=8)
    async with await connect(spec) as connection:
        chunks = await connection.chunks(0)
        for op in range(1, 6):
            await connection.write(op, b"line\n")
        received = b""
        while received.count(b"\n") < 5:
            received += (await anext(chunks))[1]
        await connection.ack(14)
        kill_holder(spec)
        with pytest.raises(HolderError) as caught:
            await anext(chunks)
        assert caught.value.code == "holder_lost"
        with pytest.raises(HolderError) as caught:
            await connection.wait_exited()
        assert caught.value.code == "holder_lost"
        with pytest.raises(HolderError) as caught:
            await connection.write(6, b"line\n")
        assert caught.value.code == "holder_lost"
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder is dead")
    assert (disk.journal().first, disk.journal().end) == (8, 35)
    assert b"".join(data for _, data in disk.read_journal(14)) == received[14:]
    assert disk.operations().outcome(5) == "done"
    assert disk.operations().outcome(6) == "not_begun"
    assert disk.exit() is None
    with pytest.raises(HolderError) as caught:
        await connect(spec)
    assert caught.value.code == "holder_lost"
    await until(lambda: members(spec) == [], "end of input ended the harness")


@pytest.mark.requirement("L13")
@scenario
async def test_a_dead_holder_s_harness_is_stopped_with_all_that_it_started(launches: Launches) -> None:
    spec = await launches.start(*script(STUBBORN))
    disk = LaunchDisk(spec.directory)
    await until(lambda: disk.journal().end > 0 and len(members(spec)) == 3, "both grandchildren run")
    await until(
        lambda: b"".join(data for _, data in disk.read_journal(0)).count(b"\n") == 2, "they ignore SIGTERM"
    )
    kill_holder(spec)
    expected = set(members(spec))
    done = await stop_orphans(spec.directory, term_grace_s=0.1)
    assert {one.pid for one in done.stopped} == expected
    assert done.remaining == ()
    assert members(spec) == []
    assert not spec.socket.exists()
    assert await stop_orphans(spec.directory) == StoppedOrphans()


@pytest.mark.requirement("L13")
@scenario
async def test_a_group_member_that_outlived_both_holder_and_harness_proves_itself_by_its_environment(
    launches: Launches,
) -> None:
    text = (
        "import os, time\nif os.fork() == 0:\n    os.write(1, b'here')\n    time.sleep(600)\ntime.sleep(600)"
    )
    spec = await launches.start(*script(text))
    await until(lambda: LaunchDisk(spec.directory).journal().end == 4, "the grandchild runs")
    kill_holder(spec)
    harness = identity_of(spec).harness
    os.kill(harness.pid, signal.SIGKILL)
    await until(
        lambda: members(spec) not in ([], [harness.pid]) and harness.pid not in members(spec), "one is left"
    )
    done = await stop_orphans(spec.directory)
    assert len(done.stopped) == 1
    assert members(spec) == []


@pytest.mark.requirement("H-H1", "H-N32")
@scenario
async def test_a_later_user_of_the_harness_s_pid_is_never_stopped(launches: Launches) -> None:
    spec = await launches.start("cat")
    kill_holder(spec)
    await until(lambda: members(spec) == [], "the harness is gone")
    innocent = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
    try:
        path = spec.directory / "holder.json"
        record = json.loads(path.read_bytes())
        path.write_text(json.dumps({**record, "harness_pid": innocent.pid}))
        assert await stop_orphans(spec.directory, term_grace_s=0.1) == StoppedOrphans()
        assert innocent.returncode is None
        assert start_time(innocent.pid) is not None
    finally:
        innocent.kill()
        await innocent.wait()


@pytest.mark.requirement("H-H2")
@scenario
async def test_orphans_are_not_stopped_while_the_holder_is_not_proven_dead(launches: Launches) -> None:
    spec = await launches.start("cat")
    os.kill(identity_of(spec).holder.pid, signal.SIGSTOP)
    with pytest.raises(HolderError) as caught:
        await stop_orphans(spec.directory, death_wait_s=0.1)
    assert (caught.value.code, caught.value.detail["reason"]) == ("holder_refused", "holder_alive")
    assert len(members(spec)) == 1


@scenario
async def test_a_harness_killed_in_the_middle_is_told_with_its_signal_and_its_last_words(
    launches: Launches,
) -> None:
    text = "import os, sys\nprint('half', end='', flush=True)\nprint('why', file=sys.stderr, flush=True)\nos.kill(os.getpid(), 11)"
    spec = await launches.start(*script("input()\n" + text))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        await connection.write(1, b"go\n")
        found = await connection.wait_exited()
        assert found.signal == signal.SIGSEGV
        assert bytes(output.data) == b"half"
        assert LaunchDisk(spec.directory).stderr_tail() == b"why\n"
        await connection.release()


@scenario
async def test_an_owner_that_starts_while_the_harness_runs_need_not_be_the_one_that_started_it(
    launches: Launches,
) -> None:
    spec = await launches.start(*script(COUNTER))
    text = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from inspan.holder import connect_holder\n"
        "async def main():\n"
        "    async with await connect_holder(Path(sys.argv[1]), nonce=sys.argv[2]) as connection:\n"
        "        print((await connection.write(1, b'other\\n')).outcome)\n"
        "asyncio.run(main())\n"
    )
    other = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", text, str(spec.directory), spec.nonce), stdout=asyncio.subprocess.PIPE
    )
    assert (await other.communicate())[0] == b"done\n"
    async with await connect_holder(spec.directory, nonce=spec.nonce) as connection:
        assert connection.welcome.last_op == 1
