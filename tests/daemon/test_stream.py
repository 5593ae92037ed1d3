"""Event streams: whole, in order, without a seam, and never at another client's cost."""

import asyncio
import contextlib
from typing import Any

import msgspec
import pytest

from inspan.daemon.feed import FeedLimits
from inspan.model.content import MessageChunk
from inspan.model.errors import StoreError
from inspan.model.events import LaunchStarting, SeatAdded
from inspan.model.posture import Posture
from support.fake_daemon import DEADLINE_S, open_fake, until
from support.fake_service import FakeLog
from support.sse_reader import open_stream

# A client is judged at once, and may be behind only a little.
STRICT = FeedLimits(
    kept_frames=256, lag_frames=64, lag_bytes=64 * 1024, patience_s=0.0, tick_s=0.01, farewell_s=60.0
)

TOTAL = 300  # events of 4 KiB: far more than all buffers between the daemon and a client hold


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_S * 2))


def say(log: FakeLog, count: int = 1, *, seat: str = "a", text: str = "hello") -> None:
    for _ in range(count):
        log.append(seat, MessageChunk(role="agent", text=text))


def test_replay_goes_over_into_live_without_a_seam() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            say(fake.log, 5)
            async with open_stream(fake.home.socket, "?after=2") as stream:
                await stream.read_until(5)
                say(fake.log, 3)
                await stream.read_until(8)
            assert stream.status == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert stream.positions == [3, 4, 5, 6, 7, 8]
            envelope = msgspec.json.decode(stream.frames[-1].data)
            assert (envelope["position"], envelope["type"]) == (8, "message_chunk")
            assert stream.frames[-1].event == "message_chunk"

    run(test())


def test_an_event_is_one_frame_with_its_position_its_type_and_one_line_of_json() -> None:
    async def test() -> None:
        async with open_fake() as fake, open_stream(fake.home.socket, "?after=0") as stream:
            say(fake.log, text="two\nlines\r\nand \u2028 more")
            await stream.read_until(1)
        frame = stream.raw.split(b"\n\n")[1].split(b"\n")
        assert [line.partition(b": ")[0] for line in frame] == [b"id", b"event", b"data"]
        assert msgspec.json.decode(stream.frames[-1].data)["event"]["text"] == "two\nlines\r\nand \u2028 more"

    run(test())


def test_without_a_place_a_stream_begins_at_the_newest_event_and_says_where_that_is() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            say(fake.log, 7)
            async with open_stream(fake.home.socket) as stream:
                await stream.read_piece()
                assert [(frame.event, frame.id) for frame in stream.frames] == [("", "7")]
                say(fake.log)
                await stream.read_until(8)
            assert stream.positions == [8]

    run(test())


def test_the_last_event_id_prevails_over_the_query() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            say(fake.log, 9)
            async with open_stream(fake.home.socket, "?after=1", headers={"Last-Event-ID": "7"}) as stream:
                await stream.read_until(9)
            assert stream.positions == [8, 9]

    run(test())


@pytest.mark.parametrize(
    ("query", "headers", "status", "code"),
    [
        ("?after=4", {}, 409, "position_ahead"),
        ("", {"Last-Event-ID": "99"}, 409, "position_ahead"),
        ("", {"Last-Event-ID": "x"}, 400, "invalid_argument"),
        ("?after=-1", {}, 400, "invalid_argument"),
        ("?types=turn_ended,nonsense", {}, 400, "invalid_argument"),
    ],
)
def test_a_place_that_cannot_be_is_an_error_and_no_stream(
    query: str, headers: dict[str, str], status: int, code: str
) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            say(fake.log, 3)
            async with open_stream(fake.home.socket, query, headers=headers) as answer:
                body = msgspec.json.decode(await answer.read_body())
            assert answer.status == status
            assert body["error"]["code"] == code

    run(test())


def test_a_stream_of_one_seat_has_that_seats_events_in_replay_and_live() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            for _ in range(4):
                say(fake.log, seat="a")
                say(fake.log, seat="b")
            async with open_stream(fake.home.socket, "?after=0&seat=b") as stream:
                await stream.read_until(8)
                say(fake.log, 600, seat="a")
                say(fake.log, seat="b")
                await stream.read_until(609)
            assert stream.positions == [2, 4, 6, 8, 609]

    run(test())


@pytest.mark.parametrize("kept_frames", [1, 1000])
def test_a_stream_of_some_types_has_only_those_in_replay_and_live(kept_frames: int) -> None:
    async def test() -> None:
        async with open_fake(limits=FeedLimits(kept_frames=kept_frames)) as fake:
            say(fake.log, 2)
            fake.log.append("a", LaunchStarting(launch="l_1", nonce="n", directory="/d", program="/p"))
            say(fake.log, 2)
            query = "?after=0&types=launch_starting,turn_ended"
            async with open_stream(fake.home.socket, query) as stream:
                await stream.read_until(3)
                say(fake.log, 2)
                fake.log.append("a", LaunchStarting(launch="l_2", nonce="n", directory="/d", program="/p"))
                await stream.read_until(8)
            assert stream.positions == [3, 8]

    run(test())


@pytest.mark.parametrize("query", ["?after=0&seat=a", "?after=0&types=message_chunk"])
@pytest.mark.parametrize("kept_frames", [1, 1000])
def test_a_stream_of_some_events_says_where_the_past_ends_behind_those_of_others(
    query: str, kept_frames: int
) -> None:
    async def test() -> None:
        async with open_fake(limits=FeedLimits(kept_frames=kept_frames, heartbeat_s=3600)) as fake:
            say(fake.log, seat="a")
            for _ in range(3):
                fake.log.append("b", LaunchStarting(launch="l_1", nonce="n", directory="/d", program="/p"))
            async with open_stream(fake.home.socket, query) as stream:
                while stream.frames[-1:] == [] or stream.frames[-1].id != "4":
                    await stream.read_piece()
            assert stream.positions == [1]

    run(test())


def test_a_type_that_nobody_knows_is_refused_with_the_names_that_are_near() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            async with open_stream(fake.home.socket, "?types=turn_end") as answer:
                error = msgspec.json.decode(await answer.read_body())["error"]
            assert "Did you mean 'turn_ended'" in error["message"]
            assert "permission_opened" in error["hint"]
            assert error["detail"] == {"unknown": ["turn_end"]}

    run(test())


def test_an_event_is_encoded_once_for_a_hundred_clients_and_each_gets_every_event_in_order() -> None:
    async def test() -> None:
        async with open_fake() as fake, contextlib.AsyncExitStack() as stack:
            feed = fake.feed
            streams = [
                await stack.enter_async_context(open_stream(fake.home.socket, "?after=0")) for _ in range(100)
            ]
            await until(lambda: len(feed.watchers) == 100)
            for _ in range(20):
                say(fake.log, 5)
                await asyncio.sleep(0)
            await asyncio.gather(*(stream.read_until(100) for stream in streams))
            assert all(stream.positions == list(range(1, 101)) for stream in streams)
            assert feed.encoded == 100
            assert fake.log.reads == 0, "nobody had to ask the log"

    run(test())


def test_a_client_that_never_reads_is_cut_slows_nobody_and_resumes_exactly_where_it_was() -> None:
    # The readers share one loop with the daemon: on a loaded machine one of them may have to wait for its turn.
    limits = msgspec.structs.replace(STRICT, patience_s=3.0)

    async def test() -> None:
        async with open_fake(limits=limits) as fake, contextlib.AsyncExitStack() as stack:
            enter = stack.enter_async_context
            lazy = await enter(open_stream(fake.home.socket, "?after=0"))
            others = [await enter(open_stream(fake.home.socket, "?after=0")) for _ in range(99)]
            await until(lambda: len(fake.feed.watchers) == 100)
            readers = [asyncio.create_task(stream.read_until(TOTAL)) for stream in others]
            for _ in range(TOTAL // 5):
                say(fake.log, 5, text="x" * 4096)
                await asyncio.sleep(0)
            await asyncio.gather(*readers)
            assert all(stream.positions == list(range(1, TOTAL + 1)) for stream in others)
            await until(lambda: any(watcher.is_cut for watcher in fake.feed.watchers))

            await lazy.read_to_end()

            assert lazy.is_whole
            assert lazy.kinds[-1] == "cut"
            reached = len(lazy.positions)
            assert lazy.positions == list(range(1, reached + 1))
            assert msgspec.json.decode(lazy.frames[-1].data) == {
                "code": "slow_client",
                "last_position": reached,
            }
            assert lazy.frames[-1].id == str(reached)
            assert reached < TOTAL
            async with open_stream(fake.home.socket, headers={"Last-Event-ID": str(reached)}) as again:
                await again.read_until(TOTAL)
            assert lazy.positions + again.positions == list(range(1, TOTAL + 1))

    run(test())


def test_a_client_that_does_not_even_read_why_it_was_cut_is_disconnected() -> None:
    limits = msgspec.structs.replace(STRICT, farewell_s=0.05)

    async def test() -> None:
        async with open_fake(limits=limits) as fake, open_stream(fake.home.socket, "?after=0") as stream:
            await until(lambda: fake.feed.watchers)
            for _ in range(TOTAL // 5):
                say(fake.log, 5, text="x" * 4096)
                await asyncio.sleep(0)
            await until(lambda: not fake.feed.watchers)
            await stream.read_to_end()
            assert not stream.is_whole
            assert "cut" not in stream.kinds

    run(test())


def test_a_client_that_reads_is_not_cut_by_a_burst_larger_than_everything_that_is_kept() -> None:
    async def test() -> None:
        async with open_fake(limits=STRICT) as fake, open_stream(fake.home.socket, "?after=0") as stream:
            await until(lambda: fake.feed.watchers)
            fake.log.append("a", *[MessageChunk(role="agent", text="x")] * 3000)
            await stream.read_until(3000)
            assert stream.positions == list(range(1, 3001))

    run(test())


def test_the_feed_keeps_no_more_than_its_bounds() -> None:
    limits = FeedLimits(kept_frames=50, kept_bytes=10_000)

    async def test() -> None:
        async with open_fake(limits=limits) as fake:
            for size in (10, 1000, 9000, 20_000, 10):
                say(fake.log, 60, text="x" * size)
                kept = fake.feed.kept()
                assert len(kept) <= 50
                assert sum(len(frame.data) for frame in kept) <= 10_000

    run(test())


def test_a_quiet_stream_gives_signs_of_life_and_its_place() -> None:
    limits = FeedLimits(heartbeat_s=0.02, tick_s=0.01)

    async def test() -> None:
        async with open_fake(limits=limits) as fake, open_stream(fake.home.socket, "?seat=b") as stream:
            say(fake.log, 3, seat="a")
            while stream.raw.count(b":\n") < 2 or stream.frames[-1].id != "3":
                await stream.read_piece()
            assert stream.positions == []
            assert not any(frame.event for frame in stream.frames)

    run(test())


def test_a_stream_says_goodbye_when_the_daemon_stops_after_everything_that_came_before() -> None:
    async def test() -> None:
        async with open_fake() as fake, open_stream(fake.home.socket, "?after=0") as stream:
            await until(lambda: fake.feed.watchers)
            say(fake.log, 3)
            reading = asyncio.create_task(stream.read_to_end())
            await fake.stop()
            await reading
            assert stream.is_whole
            assert stream.positions == [1, 2, 3]
            assert stream.kinds[-1] == "bye"
            assert msgspec.json.decode(stream.frames[-1].data) == {
                "code": "daemon_stopping",
                "last_position": 3,
            }

    run(test())


def test_a_client_that_hangs_up_is_forgotten_at_once() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            async with open_stream(fake.home.socket):
                await until(lambda: len(fake.feed.watchers) == 1)
            await until(lambda: not fake.feed.watchers)

    run(test())


@pytest.mark.requirement("L15")
def test_values_of_variables_and_nonces_never_leave_the_daemon() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            fake.log.append(
                "a",
                SeatAdded(
                    harness="h",
                    mode="acp",
                    workspace="/w",
                    posture=Posture(),
                    environment={"API_KEY": "s3cret"},
                ),
                LaunchStarting(launch="l_1", nonce="s3cret", directory="/d", program="/p"),
            )
            async with open_stream(fake.home.socket, "?after=0") as stream:
                await stream.read_until(2)
            listed = (await fake.http.get("/v1/events")).content
            for shown in (stream.raw, listed):
                assert b"s3cret" not in shown
                assert b"API_KEY" in shown

    run(test())


def test_a_log_that_cannot_be_read_ends_the_stream_with_the_error() -> None:
    async def test() -> None:
        async with open_fake(limits=FeedLimits(kept_frames=1)) as fake:
            say(fake.log, 3)

            def broken(**_: object) -> Any:
                raise StoreError("The log is damaged.", code="store_corrupt", hint="Restore it.")

            fake.log.events = broken
            async with open_stream(fake.home.socket, "?after=0") as stream:
                await stream.read_to_end()
            assert stream.is_whole
            error = msgspec.json.decode(stream.frames[-1].data)
            assert stream.kinds[-1] == "error"
            assert error["error"]["code"] == "store_corrupt"
            assert error["last_position"] == 0

    run(test())
