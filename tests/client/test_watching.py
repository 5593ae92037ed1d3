"""Watching: each event exactly once, whatever happens to the connections."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from inspan.client.client import Client
from inspan.daemon.feed import FeedLimits
from inspan.home import locate_home, prepare_home
from inspan.model.content import MessageChunk
from inspan.model.errors import HostError, StoreError, UsageError
from support.fake_daemon import DEADLINE_S, FakeDaemon, open_fake, until
from support.fake_service import FakeLog


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_S))


def say(log: FakeLog, count: int = 1, *, seat: str = "a", text: str = "hello") -> None:
    for _ in range(count):
        log.append(seat, MessageChunk(role="agent", text=text))


class Watch:
    """What a program that iterates over events has got so far."""

    def __init__(self, client: Client, **arguments: Any) -> None:
        self.got: list[int] = []
        self.task = asyncio.create_task(self._watch(client, arguments))
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def _watch(self, client: Client, arguments: dict[str, Any]) -> None:
        async with contextlib.aclosing(client.events(**arguments)) as events:
            async for envelope in events:
                self.got.append(envelope.position)
                await self.go_on.wait()


@contextlib.asynccontextmanager
async def watching(fake: FakeDaemon, **arguments: Any) -> AsyncGenerator[Watch]:
    watch = Watch(fake.client, **arguments)
    await until(lambda: fake.feed.watchers or watch.task.done())
    try:
        yield watch
    finally:
        watch.task.cancel()
        await asyncio.gather(watch.task, return_exceptions=True)
    await until(lambda: not fake.feed.watchers)


def test_events_come_as_they_are_appended_from_now_on_or_from_a_place() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            say(fake.log, 5)
            async with watching(fake) as now:
                say(fake.log, 2)
                await until(lambda: now.got == [6, 7])
            async with watching(fake, after=3) as then:
                say(fake.log)
                await until(lambda: then.got == [4, 5, 6, 7, 8])
            async with watching(fake, after=0, seat="b") as other:
                say(fake.log, seat="b")
                await until(lambda: other.got == [9])

    run(test())


def test_a_daemon_that_stops_and_comes_back_is_followed_without_a_loss_or_a_double() -> None:
    async def test() -> None:
        log = FakeLog()
        async with open_fake(log=log) as first:
            watch = Watch(first.client, after=0)
            await until(lambda: first.feed.watchers)
            say(log, 3)
            await until(lambda: len(watch.got) == 3)
            await first.stop()
            say(log, 2)
            async with open_fake(log=log) as second:
                await until(lambda: second.feed.watchers)
                say(log, 2)
                await until(lambda: len(watch.got) == 7)
            assert watch.got == [1, 2, 3, 4, 5, 6, 7]
            await first.client.close()
            await watch.task

    run(test())


def test_connections_that_break_anywhere_lose_and_double_nothing() -> None:
    async def test() -> None:
        async with open_fake() as fake, watching(fake, after=0) as watch:
            for number in range(1, 41):
                say(fake.log, 3, text="x" * 3000)
                if number % 4 == 0:
                    # As if the machine had slept: the connection is gone in the middle of whatever it carried.
                    for watcher in tuple(fake.feed.watchers):
                        assert watcher.abort is not None
                        watcher.abort.abort()
                await asyncio.sleep(0.002)
            await until(lambda: len(watch.got) >= 120)
            assert watch.got == list(range(1, 121))

    run(test())


def test_a_program_that_pauses_is_cut_and_goes_on_where_it_was() -> None:
    limits = FeedLimits(
        kept_frames=64, lag_frames=16, patience_s=0.0, tick_s=0.01, farewell_s=60.0, chunk_bytes=4096
    )

    async def test() -> None:
        async with open_fake(limits=limits) as fake, watching(fake, after=0) as watch:
            say(fake.log)
            await until(lambda: watch.got)
            watch.go_on.clear()
            say(fake.log, 3, text="x" * 2_000_000)
            await until(lambda: any(watcher.blocked_since for watcher in fake.feed.watchers))
            say(fake.log, 100)
            await until(lambda: any(watcher.is_cut for watcher in fake.feed.watchers))
            watch.go_on.set()
            await until(lambda: len(watch.got) >= 104)
            assert watch.got == list(range(1, 105))

    run(test())


def test_a_place_from_another_homes_log_is_an_error() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            with pytest.raises(UsageError) as caught:
                await anext(fake.client.events(after=7))
            assert caught.value.code == "position_ahead"

    run(test())


def test_a_log_that_cannot_be_read_is_an_error() -> None:
    async def test() -> None:
        async with open_fake(limits=FeedLimits(kept_frames=1)) as fake:
            say(fake.log, 3)

            def broken(**_: object) -> Any:
                raise StoreError("The log is damaged.", code="store_corrupt", hint="Restore it.")

            fake.log.events = broken
            with pytest.raises(StoreError) as caught:
                await anext(fake.client.events(after=0))
            assert caught.value.code == "store_corrupt"

    run(test())


def test_a_daemon_that_stays_away_is_given_up_in_the_end() -> None:
    async def test() -> None:
        client = Client(prepare_home(locate_home()))
        try:
            with pytest.raises(HostError) as caught:
                await anext(client.events(reconnect_for_s=0.1))
            assert caught.value.code == "daemon_unreachable"
        finally:
            await client.close()

    run(test())


def test_closing_the_client_ends_every_iteration() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            watches = [Watch(fake.client) for _ in range(3)]
            await until(lambda: len(fake.feed.watchers) == 3)
            await fake.client.close()
            await asyncio.gather(*(watch.task for watch in watches))
            await until(lambda: not fake.feed.watchers)

    run(test())


def test_leaving_an_iteration_leaves_no_connection() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            say(fake.log, 10)
            async with contextlib.aclosing(fake.client.events(after=0)) as events:
                assert (await anext(events)).position == 1
            await until(lambda: not fake.feed.watchers)

    run(test())
