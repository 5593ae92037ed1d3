"""The feed as a data structure: whatever is published and kept, a reader gets every event once and in order."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from inspan.daemon.feed import Feed, FeedLimits
from inspan.model.content import MessageChunk
from support.fake_service import FakeLog

# What happens, in any order: a batch of so many events of a seat is published, or a reader takes one step.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 12)),
        st.integers(0, 3),
    ),
    max_size=60,
)
LIMITS = st.builds(
    FeedLimits,
    kept_frames=st.integers(1, 20),
    kept_bytes=st.integers(1, 4000),
    chunk_bytes=st.integers(1, 1500),
    replay_events=st.integers(1, 7),
)


class Reader:
    """What a stream does, without its connection."""

    def __init__(self, feed: Feed, seat: str | None, place: int) -> None:
        self.feed = feed
        self.seat = seat
        self.place = place
        self.got: list[int] = []

    async def step(self) -> bool:
        """Takes what is there; `False` where nothing is."""
        frames = self.feed.frames_after(self.place)
        if frames is None:
            data, self.place = await self.feed.replay_after(self.place, self.seat)
            self.got.extend(int(frame.split(b"\n")[0][4:]) for frame in data)
            return True
        self.got.extend(frame.position for frame in frames if self.seat in (None, frame.seat))
        if frames:
            self.place = frames[-1].position
        return bool(frames)


@given(STEPS, LIMITS, st.integers(0, 5))
def test_every_reader_gets_every_event_once_and_in_order(
    steps: list[tuple[str, int] | int], limits: FeedLimits, history: int
) -> None:
    async def test() -> None:
        log = FakeLog()
        log.append("a", *[MessageChunk(role="agent", text="old")] * history)
        feed = Feed(log, limits)
        log.subscribe(feed.publish)
        readers = [Reader(feed, seat, place) for seat in (None, "b") for place in (0, history)]
        for step in steps:
            if isinstance(step, tuple):
                seat, count = step
                log.append(seat, *[MessageChunk(role="agent", text="x" * (count * 20))] * count)
            else:
                await readers[step].step()
        for reader in readers:
            begin = reader.got[0] if reader.got else 0
            while await reader.step():
                pass
            first = 1 if reader is readers[0] or reader is readers[2] else history + 1
            wanted = [
                one.position for one in log.kept if one.position >= first and reader.seat in (None, one.seat)
            ]
            assert reader.got == wanted, begin
        assert feed.encoded == len(log.kept) - history
        assert len(feed.kept()) <= limits.kept_frames

    asyncio.run(test())


def test_a_gap_in_what_is_published_sends_readers_to_the_log() -> None:
    async def test() -> None:
        log = FakeLog()
        feed = Feed(log, FeedLimits())
        feed.publish(log.append("a", MessageChunk(role="agent", text="1")))
        log.append("a", MessageChunk(role="agent", text="2"))  # the feed does not hear of it
        feed.publish(log.append("a", MessageChunk(role="agent", text="3")))
        reader = Reader(feed, None, 0)
        while await reader.step():
            pass
        assert reader.got == [1, 2, 3]

    asyncio.run(test())
