"""Owners of a terminal come and go: each query is answered once, and a screen is rebuilt as it was."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.holder import LaunchDisk, TerminalPiece, TerminalSize, connect_holder
from inspan.holder.program.output import Log
from inspan.holder.program.sizes import MAX_SIZES, Sizes
from inspan.model.errors import HolderError
from support.holders import Launches, connect, identity_of, kill_holder, scenario, until
from support.terminals import ECHO_RAW, RAW, SAYS_SIZE, SIZE, follow, size, start_in_terminal

OWNER = Path(__file__).parents[1] / "support" / "terminal_story.py"

ASKS = (
    RAW + "n = 0\n"
    "while n < {queries}:\n"
    "    os.write(1, b'text %d \\x1b[%dn' % (n, n))\n"
    "    answer = b''\n"
    "    while not answer.endswith(b'R'): answer += os.read(0, 1)\n"
    "    os.write(1, b'got ' + answer + b'\\r\\n')\n"
    "    n += 1\n"
    "import select\n"
    "time.sleep(0.2)\n"
    "os.write(1, b'more' if select.select([0], [], [], 0)[0] else b'no more')\n"
)
"""Asks again and again, waits for each answer, and says at last whether more of them came."""


@scenario
async def test_an_answer_is_written_once_whoever_gives_it_again(launches: Launches) -> None:
    spec = await start_in_terminal(launches, ECHO_RAW)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"ready ")
        assert connection.welcome.answered_offset == 0
        assert await connection.reply(3, b"one")
        assert not await connection.reply(3, b"one")
        assert not await connection.reply(2, b"one")
        assert await connection.reply(4, b"")
        assert not await connection.reply(4, b"one")
        assert (await connection.status()).answered_offset == 4
        with pytest.raises(HolderError) as caught:
            await connection.reply(10_000, b"too early")
        assert caught.value.detail["reason"] == "offset_ahead"
    async with await connect(spec) as connection:
        assert connection.welcome.answered_offset == 4
        assert not await connection.reply(4, b"one")
        assert await connection.reply(5, b"two.")
        shown = await follow(connection)
        await shown.saw(b".")
        assert bytes(shown.data) == b"ready onetwo."


@scenario
async def test_no_piece_lies_on_both_sides_of_what_was_answered(launches: Launches) -> None:
    spec = await start_in_terminal(launches, RAW + "os.write(1, b'x' * 5000); signal.pause()")
    async with await connect(spec) as connection:
        await until(lambda: LaunchDisk(spec.directory).journal().end == 5006, "all was written")
        await connection.reply(777, b"answer")
    async with await connect(spec) as connection:
        ends: list[int] = []
        async for piece in await connection.terminal_pieces(0):
            ends.append(piece.offset + len(piece.data))
            if ends[-1] == 5006:
                break
        assert connection.welcome.answered_offset in ends


@scenario
async def test_an_owner_killed_again_and_again_answers_each_query_exactly_once(launches: Launches) -> None:
    queries = 400
    spec = await start_in_terminal(launches, ASKS.format(queries=queries))
    disk = LaunchDisk(spec.directory)
    for kill in range(7):
        owner = await asyncio.create_subprocess_exec(
            *(sys.executable, str(OWNER), str(spec.directory), spec.nonce), stdout=asyncio.subprocess.PIPE
        )
        said = asyncio.create_task(owner.communicate())
        if kill < 6:
            target = min(disk.journal().end + random.randrange(1, 2_000), queries * 20)
            await until(
                lambda target=target, said=said: disk.journal().end >= target or said.done(), "more output"
            )
            if owner.returncode is None:
                owner.kill()
        await said
    await until(disk.is_holder_dead, "the holder leaves")
    output = b"".join(data for _, data in disk.read_journal(0))
    assert output == b"ready " + b"".join(
        b"text %d \x1b[%dn" % (n, n) + b"got \x1b[%d;R\r\n" % n for n in range(queries)
    ) + (b"no more")


@scenario
async def test_a_resize_reaches_the_program_and_is_told_at_its_offset(launches: Launches) -> None:
    spec = await start_in_terminal(launches, SAYS_SIZE)
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"80x24 ")
        for columns, rows in ((1, 1), (1, 1), (200, 50), (65_535, 65_535), (80, 24)):
            await connection.resize(columns, rows)
            await shown.saw(b"%dx%d " % (columns, rows))
            assert (await connection.status()).terminal == size(columns, rows)
        await until(lambda: bytes(shown.data).endswith(b" 80x24 "), "the last one is told")
    assert bytes(shown.data) == b"80x24 1x1 200x50 65535x65535 80x24 "
    expected = [
        (0, SIZE),
        (6, size(1, 1)),
        (10, size(200, 50)),
        (17, size(65_535, 65_535)),
        (29, SIZE),
    ]
    assert shown.sizes == expected
    assert LaunchDisk(spec.directory).sizes() == expected
    async with await connect(spec) as connection:
        assert connection.welcome.terminal == SIZE
        again = await follow(connection, 8)
        await until(lambda: again.end == shown.end, "the rest comes again")
        assert again.sizes == [(8, size(1, 1)), *expected[2:]]
        assert bytes(again.data) == shown.data[8:]


@pytest.mark.parametrize(("columns", "rows"), [(0, 24), (80, 0), (70_000, 24), (80, 65_536), (-1, -1)])
@scenario
async def test_a_size_that_no_terminal_has_is_refused_and_changes_nothing(
    launches: Launches, columns: int, rows: int
) -> None:
    spec = await start_in_terminal(launches, SAYS_SIZE)
    async with await connect(spec) as connection:
        with pytest.raises(HolderError) as caught:
            await connection.resize(columns, rows)
        assert caught.value.code == "holder_refused"
        assert caught.value.detail["reason"] in ("size_invalid", "request_invalid")
        assert (await connection.status()).terminal == SIZE
    assert LaunchDisk(spec.directory).sizes() == [(0, SIZE)]


@scenario
async def test_a_screen_is_rebuilt_alike_while_it_goes_on_by_another_owner_and_after_the_holder_s_death(
    launches: Launches,
) -> None:
    spec = await start_in_terminal(launches, ECHO_RAW, segment_bytes=1000)
    live: list[TerminalPiece] = []
    rng = random.Random(7)
    async with await connect(spec) as connection:
        pieces = await connection.terminal_pieces(0, window_bytes=300)

        async def read_on(end: int) -> None:
            while not live or live[-1].offset + len(live[-1].data) < end:
                live.append(await anext(pieces))

        end = len(b"ready ")
        await read_on(end)
        for op in range(1, 40):
            data = bytes(rng.randrange(32, 126) for _ in range(rng.randrange(1, 400)))
            await connection.write(op, data)
            end += len(data)
            if op % 3:
                await read_on(end)
            await connection.resize(rng.randrange(1, 300), rng.randrange(1, 100))
        await read_on(end)
        last = (await connection.status()).terminal
        if live[-1].size != last:
            live.append(await anext(pieces))
        assert live[-1].size == last
    first = 0
    async with await connect(spec) as connection:
        again = [piece async for piece in up_to(await connection.terminal_pieces(0), end, last)]
        assert screen(again) == screen(live)
        first = await connection.ack(end // 2)
        again = [piece async for piece in up_to(await connection.terminal_pieces(first), end, last)]
        assert screen(again) == screen(live, first)
    assert 0 < first < end
    assert LaunchDisk(spec.directory).sizes()[0][0] <= first < LaunchDisk(spec.directory).sizes()[1][0]
    kill_holder(spec)
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder is dead")
    assert screen(list(disk.terminal_pieces(first))) == screen(live, first)
    assert screen(list(disk.terminal_pieces(end - 1))) == screen(live, end - 1)


async def up_to(
    pieces: AsyncIterator[TerminalPiece], end: int, last: TerminalSize | None
) -> AsyncIterator[TerminalPiece]:
    """The pieces up to `end` and the last size."""
    async for piece in pieces:
        yield piece
        if piece.offset + len(piece.data) == end and piece.size == last:
            return


def screen(pieces: list[TerminalPiece], first: int = 0) -> list[tuple[int, bytes, TerminalSize]]:
    """What a screen is made of, however it was cut: runs of bytes for one size, and the size at the end."""
    runs: list[tuple[int, bytes, TerminalSize]] = []
    for piece in pieces:
        offset, data = max(piece.offset, first), piece.data[max(0, first - piece.offset) :]
        if data and runs and runs[-1][2] == piece.size:
            runs[-1] = (runs[-1][0], runs[-1][1] + data, piece.size)
        elif data:
            runs.append((offset, data, piece.size))
    for one, other in pairwise(runs):
        assert one[0] + len(one[1]) == other[0]
    return [*runs, (-1, b"", pieces[-1].size)]


@settings(max_examples=60)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(1, 3), st.none() | st.integers(0, 60)),
        max_size=30,
    )
)
def test_the_size_at_every_offset_that_is_kept_is_what_it_was(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, int, int | None]]
) -> None:
    directory = tmp_path_factory.mktemp("sizes")
    log = Log(str(directory / "holder.log"))
    try:
        sizes = Sizes(str(directory), 80, 24, log)
        model = [(80, 24)]
        first = 0
        for step, columns, rows, acknowledged in changes:
            model += [model[-1]] * step
            sizes.note(len(model) - 1, columns, rows)
            model[-1] = (columns, rows)
            if acknowledged is not None:
                first = max(first, min(acknowledged, len(model) - 1))
                sizes.forget_below(first)
        sizes.forget_below(first)
        assert [sizes.at(offset) for offset in range(first, len(model))] == model[first:]
        assert sizes.current == model[-1]
        on_disk = LaunchDisk(directory).sizes()
        assert [one[0] for one in on_disk] == sorted({one[0] for one in on_disk})
        changed = [at for at in range(first + 1, len(model)) if model[at] != model[at - 1]]
        assert [one[0] for one in on_disk[1:]] == changed
    finally:
        os.close(log.handle)


def test_sizes_beyond_the_limit_are_forgotten_from_the_middle(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "holder.log"))
    try:
        sizes = Sizes(str(tmp_path), 80, 24, log)
        for offset in range(1, MAX_SIZES + 100):
            sizes.note(offset, offset, 1)
    finally:
        os.close(log.handle)
    kept = LaunchDisk(tmp_path).sizes()
    assert len(kept) == MAX_SIZES
    assert kept[0] == (0, SIZE)
    assert kept[1:] == [(offset, size(offset, 1)) for offset in range(101, MAX_SIZES + 100)]
    assert (tmp_path / "sizes.json").stat().st_size < 16 * 1024


@scenario
async def test_a_size_that_cannot_be_recorded_counts_all_the_same_and_is_recorded_later(
    launches: Launches,
) -> None:
    spec = await start_in_terminal(launches, SAYS_SIZE)
    moved = launches.root / "moved"
    async with await connect(spec) as connection:
        shown = await follow(connection)
        await shown.saw(b"80x24 ")
        spec.directory.rename(moved)
        try:
            await connection.resize(100, 30)
            await shown.saw(b"100x30 ")
            assert shown.sizes[-1] == (6, size(100, 30))
            assert LaunchDisk(moved).sizes() == [(0, SIZE)]
        finally:
            moved.rename(spec.directory)
        await until(lambda: LaunchDisk(spec.directory).sizes() == shown.sizes, "it is recorded")


@scenario
async def test_sizes_that_cannot_be_understood_are_told(launches: Launches) -> None:
    spec = await start_in_terminal(launches, SAYS_SIZE)
    (spec.directory / "sizes.json").write_text('{"sizes": [[0, "x"]]}')
    with pytest.raises(HolderError) as caught:
        LaunchDisk(spec.directory).sizes()
    assert caught.value.detail["reason"] == "launch_unreadable"


@scenario
async def test_output_that_never_stops_waits_at_the_limit_and_keys_still_end_it(launches: Launches) -> None:
    limit = 100_000
    spec = await launches.start("yes", terminal=SIZE, max_unacknowledged_bytes=limit, segment_bytes=10_000)
    disk = LaunchDisk(spec.directory)
    await until(lambda: disk.journal().end >= limit, "the limit is reached")
    async with await connect(spec) as connection:
        assert not connection.welcome.reading
        assert disk.journal().end < limit + 128 * 1024
        await connection.resize(100, 30)
        assert (await connection.foreground()).is_harness
        shown = bytearray()
        is_typed = False
        async for offset, data in await connection.chunks(0):
            assert offset == len(shown)
            shown += data
            if len(shown) > 3 * limit and not is_typed:
                is_typed = True
                await connection.type_keys(b"\x03")
            await connection.ack(len(shown))
        assert connection.exit is not None
        assert connection.exit.signal == signal.SIGINT
        assert shown[: 3 * limit] == b"y\r\n" * limit
        await connection.release()
    assert identity_of(spec).launch == spec.launch


@scenario
async def test_an_owner_that_starts_a_launch_need_not_read_it(launches: Launches) -> None:
    spec = await start_in_terminal(launches, SAYS_SIZE)
    async with await connect_holder(spec.directory, nonce=spec.nonce) as connection:
        for columns in range(1, 100):
            await connection.resize(columns, 1)
        pieces = await connection.terminal_pieces(connection.welcome.journal.end)
        assert (await anext(pieces)).size.rows in (1, 24)
