"""Operations: each reaches the harness exactly once, or is told as failed, clean or cut."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from inspan.holder import LaunchDisk
from inspan.model.errors import HolderError
from support.holders import COUNTER, Launches, Output, connect, kill_holder, scenario, script, until

BIG = bytes(range(256)) * 4096  # 1 MiB: more than a pipe takes at once
DIGEST = hashlib.sha256(BIG).hexdigest()

READS_WHEN_TOLD = (
    "import hashlib, signal, sys\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
    "print('waiting', flush=True)\n"
    "signal.sigwait([signal.SIGUSR1])\n"
    "data = sys.stdin.buffer.read()\n"
    "print(len(data), hashlib.sha256(data).hexdigest(), flush=True)\n"
)
"""Reads nothing before SIGUSR1, then all, and tells what it got."""

READS_A_LITTLE = "import os\nos.read(0, 10)\n"


@scenario
async def test_an_operation_that_is_sent_again_is_answered_and_not_written_again(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        first = await connection.write(1, b"one\n")
        assert (first.outcome, first.written, first.length, first.duplicate) == ("done", 4, 4, False)
        await connection.write(2, b"two\n")
        for op in (1, 2, 2, 1):
            again = await connection.write(op, b"again\n")
            assert (again.outcome, again.duplicate) == ("done", True)
        await connection.write(3, b"three\n")
        await until(lambda: output.data.count(b"\n") == 3, "all lines come")
        assert bytes(output.data) == b"1 one\n2 two\n3 three\n"
        assert (await connection.status()).last_op == 3


@pytest.mark.parametrize("op", [0, 2, 7, 2**63])
@scenario
async def test_an_operation_out_of_turn_is_refused_and_its_number_stays_free(
    launches: Launches, op: int
) -> None:
    spec = await launches.start(*script(COUNTER))
    async with await connect(spec) as connection:
        with pytest.raises(HolderError) as caught:
            await connection.write(op, b"too early\n")
        assert caught.value.code == "holder_refused"
        assert caught.value.detail["reason"] in ("op_gap", "op_invalid")
        assert (await connection.write(1, b"now\n")).outcome == "done"


@scenario
async def test_operations_sent_together_are_written_in_their_order(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(connection.write(op, b"%d\n" % op)) for op in range(1, 51)]
        assert {task.result().outcome for task in tasks} == {"done"}
        await until(lambda: output.data.count(b"\n") == 50, "all lines come")
        assert bytes(output.data) == b"".join(b"%d %d\n" % (op, op) for op in range(1, 51))


@scenario
async def test_a_write_goes_on_when_its_owner_leaves_in_the_middle_and_the_next_owner_joins_it(
    launches: Launches,
) -> None:
    spec = await launches.start(*script(READS_WHEN_TOLD))
    output = Output()
    async with await connect(spec) as first:
        with pytest.raises(HolderError) as caught:
            await first.write(1, BIG, timeout_s=0.1)
        assert caught.value.code == "holder_timeout"
        waiting = asyncio.create_task(first.write(2, b"", timeout_s=20))
        await asyncio.sleep(0)  # the task sends its frame
        assert (await first.status()).accepted_op == 2
        assert LaunchDisk(spec.directory).operations().state == "begun"
    with pytest.raises(HolderError) as caught:
        await waiting
    assert caught.value.code == "holder_lost"
    async with await connect(spec) as second:
        await second.attach(0, output.take)
        await until(lambda: b"waiting\n" in output.data, "the harness waits")
        assert (second.welcome.last_op, second.welcome.op_in_progress, second.welcome.accepted_op) == (
            0,
            1,
            2,
        )
        joined = asyncio.create_task(second.write(1, BIG, timeout_s=20))
        await asyncio.sleep(0)  # the task sends its frame
        await second.signal(10)
        result = await joined
        assert (result.outcome, result.written, result.duplicate) == ("done", len(BIG), False)
        assert (await second.write(2, b"")).outcome == "done"
        await second.close_stdin()
        assert (await second.wait_exited()).exit_code == 0
        assert output.data.decode().split() == ["waiting", str(len(BIG)), DIGEST]
        await second.release()


@scenario
async def test_end_of_input_comes_after_what_was_written_before(launches: Launches) -> None:
    spec = await launches.start(*script(READS_WHEN_TOLD))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        writing = asyncio.create_task(connection.write(1, BIG, timeout_s=20))
        await until(lambda: b"waiting\n" in output.data, "the harness waits")
        await connection.close_stdin()
        assert not (await connection.status()).stdin_open
        assert (await connection.write(2, b"too late")).outcome == "failed_clean"
        await connection.signal(10)
        assert (await writing).outcome == "done"
        await connection.wait_exited()
        assert DIGEST.encode() in output.data
        await connection.release()


@scenario
async def test_a_write_that_the_harness_cuts_short_is_told_as_cut_and_stays_so(launches: Launches) -> None:
    spec = await launches.start(*script(READS_A_LITTLE))
    async with await connect(spec) as connection:
        result = await connection.write(1, BIG)
        assert result.outcome == "cut"
        assert 10 <= result.written < len(BIG)
        again = await connection.write(1, BIG)
        assert (again.outcome, again.written, again.duplicate) == ("cut", result.written, True)
        assert (await connection.write(2, b"more")).outcome == "failed_clean"
        assert (await connection.status()).last_op_state == "failed"
    await until(LaunchDisk(spec.directory).is_holder_dead, "the holder leaves")
    record = LaunchDisk(spec.directory).operations()
    assert [record.outcome(op) for op in (1, 2)] == ["cut", "not_begun"]


@scenario
async def test_a_write_of_which_nothing_went_out_is_told_as_failed_clean(launches: Launches) -> None:
    spec = await launches.start(
        *script("import os, time\nos.close(0)\nprint('closed', flush=True)\ntime.sleep(600)")
    )
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        await until(lambda: b"closed\n" in output.data, "the harness has closed its input")
        result = await connection.write(1, b"nobody reads this\n")
        assert (result.outcome, result.written) == ("failed_clean", 0)
        assert (await connection.write(1, b"nobody reads this\n")).outcome == "failed_clean"
        assert LaunchDisk(spec.directory).operations().outcome(1) == "failed_clean"


@scenario
async def test_an_operation_in_the_middle_of_which_the_holder_dies_is_in_doubt(launches: Launches) -> None:
    spec = await launches.start(*script(READS_WHEN_TOLD))
    async with await connect(spec) as connection:
        writing = asyncio.create_task(connection.write(1, BIG, timeout_s=20))
        disk = LaunchDisk(spec.directory)
        await until(lambda: disk.operations().state == "begun", "the write is begun")
        kill_holder(spec)
        with pytest.raises(HolderError) as caught:
            await writing
        assert caught.value.code == "holder_lost"
        await connection.wait_closed()
    await until(disk.is_holder_dead, "the holder is dead")
    assert [disk.operations().outcome(op) for op in (1, 2)] == ["in_doubt", "not_begun"]


@scenario
async def test_a_write_that_cannot_fit_into_a_frame_is_refused_here_and_the_connection_goes_on(
    launches: Launches,
) -> None:
    spec = await launches.start(*script(COUNTER), frame_cap=100_000)
    async with await connect(spec) as connection:
        with pytest.raises(HolderError) as caught:
            await connection.write(1, bytes(100_000 - 8))
        assert caught.value.code == "frame_too_large"
        assert (await connection.write(1, bytes(100_000 - 10) + b"\n")).outcome == "done"


@scenario
async def test_too_many_waiting_operations_are_refused_as_busy_and_may_come_again(launches: Launches) -> None:
    spec = await launches.start(*script(READS_WHEN_TOLD))
    output = Output()
    async with await connect(spec) as connection:
        await connection.attach(0, output.take)
        await until(lambda: b"waiting\n" in output.data, "the harness waits")
        writing = [asyncio.create_task(connection.write(1, BIG, timeout_s=20))]
        writing += [asyncio.create_task(connection.write(op, b"x", timeout_s=20)) for op in range(2, 65)]
        await until(lambda: LaunchDisk(spec.directory).operations().op == 1, "the first is begun")
        with pytest.raises(HolderError) as caught:
            await connection.write(65, b"x")
        assert caught.value.detail["reason"] == "busy"
        await connection.signal(10)
        assert {(await one).outcome for one in writing} == {"done"}
        assert (await connection.write(65, b"x")).outcome == "done"
