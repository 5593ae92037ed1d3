"""What the harness writes: journalled first, read from any offset, never in the way of the harness."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.holder import LaunchDisk, this_process
from inspan.holder.program import PROTOCOL
from inspan.holder.program.frames import encode_json
from inspan.model.errors import HolderError
from support.holders import ECHO, Launches, Output, connect, identity_of, scenario, script, until

FLOOD = "import os\nfor n in range({lines}): os.write(1, b'%09d\\n' % n)\n"
"""Writes numbered lines of ten bytes."""


def numbered(lines: int, *, first: int = 0) -> bytes:
    return b"".join(b"%09d\n" % n for n in range(first, lines))


@settings(max_examples=10)
@given(
    pieces=st.lists(
        st.binary(min_size=1, max_size=3000).map(lambda raw: raw.replace(b"\n", b" ")), max_size=8
    ),
    wheres=st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
def test_whatever_was_written_is_read_back_from_any_offset(pieces: list[bytes], wheres: list[float]) -> None:
    model = b"".join(piece + b"\n" for piece in pieces)

    @scenario
    async def check(launches: Launches) -> None:
        spec = await launches.start(*script(ECHO), segment_bytes=1000)
        async with await connect(spec) as connection:
            for op, piece in enumerate(pieces, 1):
                assert (await connection.write(op, piece + b"\n")).outcome == "done"
            await until(lambda: LaunchDisk(spec.directory).journal().end == len(model), "all was echoed")
            for where in wheres:
                output = Output(int(where * len(model)))
                await connection.attach(output.start, output.take)
                await until(lambda output=output: output.end == len(model), "all has come")
                assert bytes(output.data) == model[output.start :]
            first = await connection.ack(len(model) // 2)
            assert first <= len(model) // 2
            output = Output(first)
            await connection.attach(first, output.take)
            await until(lambda: output.end == len(model), "what was not acknowledged comes again")
            assert bytes(output.data) == model[first:]

    launches = Launches()
    try:
        check(launches)
    finally:
        asyncio.run(launches.stop_all())


@scenario
async def test_acknowledged_segments_are_removed_and_gone_for_good(launches: Launches) -> None:
    spec = await launches.start(*script(FLOOD.format(lines=1000) + "input()"), segment_bytes=1000)
    async with await connect(spec) as connection:
        output = Output()
        await connection.attach(0, output.take)
        await until(lambda: output.end == 10_000, "all has come")
        assert await connection.ack(5_500) == 5_000
        assert len(list((spec.directory / "journal").iterdir())) == 5
        with pytest.raises(HolderError) as caught:
            await connection.attach(4_999, output.take)
        assert caught.value.detail == {
            "reason": "offset_gone",
            "first": 5_000,
            "end": 10_000,
            "acknowledged": 5_500,
        }
        with pytest.raises(HolderError) as caught:
            await connection.attach(10_001, output.take)
        assert caught.value.detail["reason"] == "offset_ahead"
        with pytest.raises(HolderError) as caught:
            await connection.ack(10_001)
        assert caught.value.detail["reason"] == "offset_ahead"
        assert (await connection.status()).journal.first == 5_000


@scenario
async def test_an_attach_that_is_refused_leaves_the_one_before_in_force(launches: Launches) -> None:
    spec = await launches.start(*script(ECHO))
    async with await connect(spec) as connection:
        output, other = Output(), Output(99)
        await connection.attach(0, output.take)
        with pytest.raises(HolderError):
            await connection.attach(99, other.take)
        await connection.write(1, b"to the first\n")
        await until(lambda: bytes(output.data) == b"to the first\n", "the line comes")
        assert not other.data


@scenario
async def test_a_slow_reader_holds_up_neither_the_harness_nor_the_answers_and_memory_stays_bounded(
    launches: Launches,
) -> None:
    lines = 400_000
    text = f"import sys\nfor n in range({lines}): print('%09d' % n)\nsys.stdout.flush(); sys.stdin.read()"
    spec = await launches.start(*script(text))
    async with await connect(spec) as connection:
        chunks = await connection.chunks(0, window_bytes=50_000)
        await until(
            lambda: LaunchDisk(spec.directory).journal().end == lines * 10, "the harness has written all"
        )
        assert (await connection.status()).harness.running
        assert sum(len(data) for _, data in chunks.waiting) <= 50_000
        await connection.close_stdin()
        received = bytearray()
        async for offset, data in chunks:
            assert offset == len(received)
            received += data
            assert sum(len(data) for _, data in chunks.waiting) <= 50_000
        assert received == numbered(lines)
        await connection.release()


@scenario
async def test_an_owner_that_does_not_read_at_all_does_not_hold_up_the_harness(launches: Launches) -> None:
    spec = await launches.start(*script("import os\n" + "os.write(1, b'x' * 1000000)\n" * 20 + "input()"))
    with socket.socket(socket.AF_UNIX) as owner:
        owner.connect(str(spec.socket))
        hello = {"protocol": PROTOCOL, "nonce": spec.nonce, "owner": msgspec.to_builtins(this_process())}
        owner.sendall(
            encode_json({"type": "hello", **hello}) + encode_json({"type": "attach", "id": 1, "from": 0})
        )
        await until(
            lambda: LaunchDisk(spec.directory).journal().end == 20_000_000, "the harness has written all"
        )


@scenario
async def test_beyond_the_limit_of_unacknowledged_output_the_harness_waits_and_an_ack_lets_it_go_on(
    launches: Launches,
) -> None:
    limit = 100_000
    spec = await launches.start(
        *script(FLOOD.format(lines=100_000)), max_unacknowledged_bytes=limit, segment_bytes=10_000
    )
    disk = LaunchDisk(spec.directory)
    await until(lambda: disk.journal().end >= limit, "the limit is reached")
    async with await connect(spec) as connection:
        assert not connection.welcome.reading
        end = (await connection.status()).journal.end
        assert limit <= end < limit + 128 * 1024
        assert (await connection.status()).journal.end == end
        received = bytearray()
        async for offset, data in await connection.chunks(0):
            assert offset == len(received)
            received += data
            assert len(received) - (await connection.ack(len(received))) <= 10_000 + 1
        assert received == numbered(100_000)
        await connection.release()


@scenario
async def test_standard_error_is_kept_in_two_bounded_files_and_its_tail_can_be_read(
    launches: Launches,
) -> None:
    text = "import os, sys\nfor n in range(100000): os.write(2, b'%09d\\n' % n)\nprint('done', flush=True)\ninput()"
    spec = await launches.start(*script(text))
    disk = LaunchDisk(spec.directory)
    await until(lambda: disk.stderr_tail(10) == b"000099999\n", "all of it was written")
    sizes = [(spec.directory / name).stat().st_size for name in ("stderr.0", "stderr.1")]
    assert sizes[0] <= 256 * 1024
    assert sizes[1] == 256 * 1024
    assert disk.stderr_tail(200_000) == numbered(100_000)[-200_000:]
    async with await connect(spec) as connection:
        assert connection.welcome.stderr_bytes == 1_000_000
        assert connection.welcome.journal.end == 5


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="mounting a small tmpfs needs root and unshare",
)
def test_a_full_disk_stops_the_journal_and_nothing_else_and_room_lets_it_go_on(tmp_path: Path) -> None:
    story = Path(__file__).parents[1] / "support" / "full_disk_story.py"
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", sys.executable, str(story)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told == {
        "stalled": "ENOSPC",
        "stalled_in_status": True,
        "harness_running": True,
        "write_while_full": "done",
        "resumed": True,
        "is_whole_and_in_order": True,
        "exit_code": 0,
        "left": [],
    }


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="mounting a small tmpfs needs root and unshare",
)
def test_a_terminal_is_resized_on_a_full_disk_and_its_size_recorded_when_there_is_room() -> None:
    story = Path(__file__).parents[1] / "support" / "full_disk_terminal_story.py"
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", sys.executable, str(story)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == {
        "stalled": "ENOSPC",
        "terminal": [100, 30],
        "keys": "taken",
        "reply": True,
        "resumed": True,
        "is_whole_and_in_order": True,
        "sizes": [[80, 24], [100, 30]],
        "resized_after_stall": True,
        "recorded": True,
        "exit_code": 0,
    }


@scenario
async def test_output_after_the_last_byte_read_is_not_lost_when_the_harness_ends_at_once(
    launches: Launches,
) -> None:
    spec = await launches.start(*script(FLOOD.format(lines=5000) + "os._exit(3)"))
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder leaves by itself")
    found = disk.exit()
    assert found is not None
    assert (found.exit_code, found.end) == (3, 50_000)
    assert b"".join(data for _, data in disk.read_journal(0)) == numbered(5000)
    assert b"".join(data for _, data in disk.read_journal(49_990)) == b"000004999\n"
    with pytest.raises(HolderError) as caught:
        disk.read_journal(50_001)
    assert caught.value.detail["reason"] == "offset_ahead"
    assert identity_of(spec).launch == spec.launch
