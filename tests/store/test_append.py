"""Appends: all or nothing, in order, grouped into commits, and heard of by subscribers."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from inspan.model.content import MessageChunk, UnknownUpdate
from inspan.model.errors import StoreError
from inspan.model.events import Envelope, SessionOpened
from inspan.model.evidence import Source
from inspan.model.session import OpenedHow
from inspan.store import Append, Store, open_store
from inspan.store.projections import Projector
from inspan.store.schema import connect_writer, migrate
from inspan.store.writer import Outcome, Writer, prepare
from support.store.drafts import (
    START,
    add_seat,
    appending,
    chunk,
    cursor_of,
    draft,
    launch,
    queue,
    reference,
    write_of,
)


@pytest.fixture
def path(throwaway_home: Path) -> Path:
    return throwaway_home / "inspan" / "log.db"


def texts(envelopes: Sequence[Envelope]) -> list[str]:
    return [e.event.text for e in envelopes if isinstance(e.event, MessageChunk)]


@pytest.mark.requirement("H-B32")
def test_an_event_enters_by_an_append_and_keeps_position_evidence_and_identity(path: Path) -> None:
    async def scene() -> None:
        opened = SessionOpened(launch="l1", reference=reference("s-1"), how=OpenedHow.NEW)
        async with open_store(path) as store:
            await store.append(appending(add_seat(), *launch("l1")))
            given = draft(opened, launch="l1", turn="t1", session="s-1", source=Source.PROTOCOL)
            (envelope,) = await store.append(appending(given))
        async with open_store(path) as store:
            assert store.event(envelope.position) == envelope
            assert store.event(envelope.position + 1) is None
        assert (envelope.position, envelope.type, envelope.version) == (6, "session_opened", 1)
        assert (envelope.source, envelope.rule) == (Source.PROTOCOL, "test")
        assert (envelope.launch, envelope.session, envelope.turn) == ("l1", "s-1", "t1")
        assert (envelope.at, envelope.event) == (START, opened)

    asyncio.run(scene())


def test_positions_follow_the_order_of_the_calls_without_gaps(path: Path) -> None:
    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(appending(add_seat()))
            requests = [appending(*(chunk(f"{n}.{m}") for m in range(n % 4))) for n in range(200)]
            answers = await asyncio.gather(*(store.append(request) for request in requests))
            expected = [text for request in requests for text in texts_of(request)]
            log = store.events(limit=10_000)
            assert texts([envelope for answer in answers for envelope in answer]) == expected
            assert texts(log) == expected
            assert [envelope.position for envelope in log] == list(range(1, len(log) + 1))
            assert store.last_position() == len(log)

    def texts_of(request: Append) -> list[str]:
        return [d.event.text for d in request.drafts if isinstance(d.event, MessageChunk)]

    asyncio.run(scene())


def test_reads_see_what_an_awaited_append_wrote_and_pages_and_filters_are_in_order(path: Path) -> None:
    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(appending(add_seat("a"), add_seat("b"), queue("d1", seat="a")))
            await store.append(appending(chunk("1", seat="a"), chunk("2", seat="b"), chunk("3", seat="a")))
            assert [e.position for e in store.events(after=2, limit=2)] == [3, 4]
            assert texts(store.events(seat="a")) == ["1", "3"]
            only_chunks = frozenset({"message_chunk"})
            assert texts(store.events(types=only_chunks, after=4)) == ["2", "3"]
            assert store.events(types=frozenset()) == []
            both = frozenset({"message_chunk", "delivery_queued"})
            assert [e.position for e in store.events(seat="a", types=both, limit=2)] == [3, 4]

    asyncio.run(scene())


def test_times_come_back_exact_and_in_utc(path: Path) -> None:
    async def scene() -> None:
        moment = datetime(2031, 5, 6, 7, 8, 9, 123_457, tzinfo=timezone(timedelta(hours=5, minutes=30)))
        async with open_store(path) as store:
            await store.append(appending(msgspec.structs.replace(add_seat(), at=moment)))
            found = store.event(1)
            assert found is not None
            assert found.at == moment
            assert found.at.utcoffset() == timedelta(0)
            with pytest.raises(StoreError, match="no zone"):
                await store.append(
                    appending(msgspec.structs.replace(add_seat(), at=moment.replace(tzinfo=None)))
                )

    asyncio.run(scene())


def test_cursor_and_outbox_go_in_with_their_events_and_go_when_the_launch_is_dropped(path: Path) -> None:
    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(appending(add_seat(), *launch("l1"), *launch("l2")))
            await store.append(
                Append(
                    cursor=cursor_of("l1", offset=10, next_op=4),
                    outbox=tuple(write_of("l1", n) for n in (3, 1)),
                )
            )
            await store.append(Append(cursor=cursor_of("l2"), outbox=(write_of("l2", 1),)))
            await store.append(
                Append(
                    drafts=(chunk("x"),),
                    cursor=cursor_of("l1", offset=20, next_op=6),
                    outbox=(write_of("l1", 5),),
                    outbox_done=(("l1", 1),),
                )
            )
        async with open_store(path) as store:
            assert store.cursor("l1") == cursor_of("l1", offset=20, next_op=6)
            assert store.outbox("l1") == [write_of("l1", 3), write_of("l1", 5)]
            assert store.cursors() == [cursor_of("l1", offset=20, next_op=6), cursor_of("l2")]
            assert await store.append(Append(drop_launch="l1")) == ()
            assert (store.cursor("l1"), store.outbox("l1")) == (None, [])
            assert (store.cursor("l2"), store.outbox("l2")) == (cursor_of("l2"), [write_of("l2", 1)])

    asyncio.run(scene())


def test_a_refused_request_leaves_nothing_and_the_next_one_takes_its_position(path: Path) -> None:
    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(appending(add_seat(), *launch("l1")))
            await store.append(Append(cursor=cursor_of("l1", offset=1), outbox=(write_of("l1", 1),)))
            before = store.last_position()
            bad = [
                Append(
                    drafts=(chunk("lost"), chunk("lost", seat="never-added")),
                    cursor=cursor_of("l1", offset=2),
                ),
                Append(drafts=(queue("d1"), chunk("lost")), outbox=(write_of("l1", 2), write_of("l1", 1))),
                appending(queue("d1"), chunk("lone surrogate \ud800")),
                appending(
                    chunk("a value that JSON cannot say"),
                    draft(UnknownUpdate(kind="x", raw={"n": object()})),
                ),
                Append(drafts=(queue("d1"),), cursor=cursor_of("l1", offset=1 << 70)),
            ]
            for request in bad:
                with pytest.raises(StoreError) as caught:
                    await store.append(request)
                assert caught.value.code == "store_failed"
                assert store.status == "ok"
            assert store.last_position() == before
            assert store.cursor("l1") == cursor_of("l1", offset=1)
            assert store.outbox("l1") == [write_of("l1", 1)]
            assert store.delivery("d1") is None
            (envelope,) = await store.append(appending(queue("d1")))
            assert envelope.position == before + 1
            state = store.seat_state("worker")
            assert state is not None
            assert [prompt.delivery for prompt in state.queue] == ["d1"]
            assert (await store.check()).problems == ()

    asyncio.run(scene())


def test_requests_that_wait_together_share_one_commit_and_a_bad_one_among_them_fails_alone(
    path: Path,
) -> None:
    reports: list[list[Outcome]] = []
    done = threading.Event()

    def report(outcomes: Sequence[Outcome]) -> None:
        reports.append(list(outcomes))
        if sum(len(one) for one in reports) in {40, 80}:
            done.set()

    database = connect_writer(path)
    migrate(database)
    writer = Writer(database, path, Projector(database, {}), report)
    writer.submit(prepare(appending(add_seat()), "seat"))
    for number in range(39):
        writer.submit(prepare(appending(chunk(str(number))), number))
    writer.start()
    assert done.wait(20)
    assert len(reports) == 1
    assert [one.token for one in reports[0]] == ["seat", *range(39)]
    writer.stop()

    reports.clear()
    done.clear()
    database = connect_writer(path)
    writer = Writer(database, path, Projector(database, {}), report)
    writer.submit(prepare(appending(add_seat()), "seat"))
    for number in range(39):
        seat = "never-added" if number in {0, 20} else "worker"
        writer.submit(prepare(appending(chunk(str(number), seat=seat)), number))
    writer.start()
    assert done.wait(20)
    writer.stop()
    (outcomes,) = reports
    assert [one.token for one in outcomes if one.error is not None] == [0, 20]
    positions = [envelope.position for one in outcomes for envelope in one.envelopes]
    assert positions == list(range(41, 41 + 38))


def test_subscribers_hear_everything_once_in_order_before_its_appender_goes_on(path: Path) -> None:
    heard: list[Envelope] = []

    async def producer(store: Store, seat: str) -> None:
        for number in range(25):
            (envelope,) = await store.append(appending(chunk(str(number), seat=seat)))
            assert heard[-1].position >= envelope.position
            assert store.event(envelope.position) == envelope

    async def scene() -> None:
        loop_thread = threading.get_ident()

        def hear(envelopes: tuple[Envelope, ...]) -> None:
            assert threading.get_ident() == loop_thread
            heard.extend(envelopes)

        async with open_store(path) as store:
            seats = [f"s{n}" for n in range(8)]
            unsubscribe = store.subscribe(hear)
            await store.append(appending(*(add_seat(seat) for seat in seats)))
            async with asyncio.TaskGroup() as group:
                for seat in seats:
                    group.create_task(producer(store, seat))
            assert [e.position for e in heard] == list(range(1, 8 + 8 * 25 + 1))
            assert heard == store.events()
            unsubscribe()
            unsubscribe()
            await store.append(appending(chunk("unheard", seat="s0")))
            assert len(heard) == 8 + 8 * 25

    asyncio.run(scene())


@pytest.mark.requirement("L15")
def test_a_subscriber_that_fails_costs_nobody_else_an_event_and_its_words_are_not_logged(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    def fail(envelopes: tuple[Envelope, ...]) -> None:
        raise RuntimeError(f"cannot show {envelopes}")

    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(appending(add_seat()))
            store.subscribe(fail)
            store.subscribe(lambda envelopes: heard.extend(texts(envelopes)))
            await store.append(appending(chunk("the secret prompt")))

    with caplog.at_level(logging.DEBUG):
        asyncio.run(scene())
    assert heard == ["the secret prompt"]
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


def test_an_append_whose_caller_was_cancelled_is_written_all_the_same(path: Path) -> None:
    heard: list[str] = []

    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(appending(add_seat()))
            store.subscribe(lambda envelopes: heard.extend(texts(envelopes)))
            task = asyncio.create_task(store.append(appending(chunk("mine"))))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await store.append(appending(chunk("next")))
            assert texts(store.events()) == heard == ["mine", "next"]

    asyncio.run(scene())


def test_closing_writes_what_was_asked_for_and_refuses_the_rest(path: Path) -> None:
    async def scene() -> None:
        store = await Store.open(path)
        first = asyncio.create_task(store.append(appending(add_seat())))
        second = asyncio.create_task(store.append(appending(chunk("x"))))
        await asyncio.sleep(0)
        await store.close()
        await store.close()
        assert len(await first) == len(await second) == 1
        with pytest.raises(StoreError) as caught:
            await store.append(appending(chunk("late")))
        assert caught.value.code == "store_failed"
        async with open_store(path) as again:
            assert again.last_position() == 2
            assert await again.append(Append()) == ()

    asyncio.run(scene())


@pytest.mark.requirement("L15")
def test_file_and_folder_are_for_the_owner_alone(path: Path) -> None:
    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(appending(add_seat()))
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
            assert set(modes) >= {"log.db", "log.db-wal", "log.lock"}
            assert set(modes.values()) == {0o600}
            assert path.parent.stat().st_mode & 0o777 == 0o700

    asyncio.run(scene())


@pytest.mark.requirement("L15")
def test_values_and_errors_show_no_prompt_no_session_id_and_no_bytes(path: Path) -> None:
    async def scene() -> None:
        secret = "the-secret"
        async with open_store(path) as store:
            await store.append(appending(add_seat(), *launch("l1"), queue("d1", text=secret)))
            write = msgspec.structs.replace(write_of("l1", 1), data=secret.encode())
            cursor = msgspec.structs.replace(cursor_of("l1"), snapshot=secret.encode())
            request = Append(drafts=(queue("d2", text=secret),), outbox=(write,), cursor=cursor)
            await store.append(request)
            shown = [repr(request), repr(write), repr(cursor), repr(store.delivery("d1")), repr(store)]
            for bad in (
                appending(chunk(secret, seat="never-added")),
                appending(chunk(secret + "\ud800")),
                Append(drafts=(chunk(secret),), outbox=(write,)),
            ):
                with pytest.raises(StoreError) as caught:
                    await store.append(bad)
                shown += [str(caught.value), repr(caught.value), repr(caught.value.detail)]
            assert store.delivery("d1") is not None
            assert [line for line in shown if secret in line] == []

    asyncio.run(scene())


def test_commits_are_on_the_disk_and_the_index_serves_a_seats_events(path: Path) -> None:
    with closing(connect_writer(path)) as database:
        migrate(database)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)
        plan = database.execute(
            "EXPLAIN QUERY PLAN SELECT body FROM events WHERE position > 5 AND seat = 'a' ORDER BY position LIMIT 9"
        ).fetchall()
        assert [row[3] for row in plan] == ["SEARCH events USING INDEX events_by_seat (seat=? AND rowid>?)"]
        assert sqlite3.threadsafety >= 1


def test_a_clean_close_leaves_everything_in_the_one_file(tmp_path: Path) -> None:
    async def scene() -> None:
        path = tmp_path / "log.db"
        async with open_store(path) as store:
            await store.append(appending(add_seat()))

    asyncio.run(scene())
    assert sorted(one.name for one in tmp_path.iterdir()) == ["log.db", "log.lock"]
