"""Projections hold nothing that the events do not say: rebuilt equals live, and a check finds what differs."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.model.delivery import FINAL_DELIVERY_STATES, HeldReason
from inspan.model.errors import StoreError
from inspan.model.events import DeliveryHeld, EventDraft
from inspan.model.evolving import evolve
from inspan.model.state import SeatState
from inspan.store import Append, DeliveryRecord, Store, check_store, open_store, rebuild_store
from inspan.store.schema import PROJECTION_TABLES
from support.store.drafts import (
    add_seat,
    appending,
    chunk,
    cursor_of,
    draft,
    launch,
    open_permission,
    queue,
    sending,
    write_of,
)
from support.store.histories import histories


@pytest.fixture
def path(throwaway_home: Path) -> Path:
    return throwaway_home / "inspan" / "log.db"


def rows_of(path: Path, *tables: str) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(path)) as database:
        statements = {table: f"SELECT * FROM {table} ORDER BY 1, 2" for table in tables}  # noqa: S608
        return {table: database.execute(text).fetchall() for table, text in statements.items()}


def edit(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute(statement, values).rowcount > 0


def write_some(path: Path) -> None:
    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(appending(add_seat(), *launch("l1"), queue("d1"), queue("d2")))
            await store.append(
                Append(
                    drafts=(sending("d1", "t1", launch="l1"),),
                    cursor=cursor_of("l1"),
                    outbox=(write_of("l1", 1),),
                )
            )
            await store.append(appending(open_permission("p1", launch="l1", turn="t1"), chunk("x")))

    asyncio.run(scene())


def check(path: Path) -> tuple[str, ...]:
    report = asyncio.run(check_store(path))
    assert report.ok is not bool(report.problems)
    return report.problems


@settings(max_examples=80)
@given(
    history=histories(), cuts=st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=12)
)
def test_rebuilt_equals_live_for_any_history_in_any_grouping(
    history: list[EventDraft], cuts: list[tuple[int, bool]]
) -> None:
    """Appends the history in groups, several at once or with the log closed in between, as `cuts` says."""

    async def scene(path: Path) -> None:
        store = await Store.open(path)
        final: dict[str, DeliveryRecord] = {}
        try:
            rest, turn_of_cut = history, 0
            while rest:
                size, is_last = cuts[turn_of_cut % len(cuts)]
                turn_of_cut += 1
                group, rest = rest[:size], rest[size:]
                await asyncio.gather(*(store.append(appending(*group[n : n + 2])) for n in range(0, size, 2)))
                final = remember_final(store, final)
                if is_last:
                    await store.close()
                    store = await Store.open(path)
            folded: dict[str, SeatState] = {}
            for one in history:
                folded[one.seat] = evolve(folded.get(one.seat), one)
            assert {state.name: state for state in store.seat_states(include_removed=True)} == folded
            for state in folded.values():
                still_open = {record.view.id for record in store.permissions(state.name)}
                assert still_open == {one.request for one in state.permissions}
            report = await store.check()
            assert report.problems == ()
            assert (report.events, report.last_position) == (len(history), len(history))
            live = rows_of(path, *PROJECTION_TABLES)
            assert (await store.rebuild()).rebuilt
            assert rows_of(path, *PROJECTION_TABLES) == live
        finally:
            await store.close()

    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        asyncio.run(scene(Path(folder) / "log.db"))


def remember_final(store: Store, before: dict[str, DeliveryRecord]) -> dict[str, DeliveryRecord]:
    """All final deliveries; those of `before` must not have changed."""
    records = [record for seat in ("a", "b") for record in store.deliveries(seat, 1000)]
    now = {record.id: record for record in records if record.state in FINAL_DELIVERY_STATES}
    assert {key: now.get(key) for key in before} == before
    return now


def test_a_rebuild_mends_what_was_tampered_with_and_leaves_primary_data_alone(path: Path) -> None:
    write_some(path)
    whole = rows_of(path, *PROJECTION_TABLES, "events", "cursors", "outbox")
    edit(path, "DELETE FROM turns")
    edit(path, "UPDATE seats SET removed = 1, state = x'7b7d'")
    assert [line.split(":")[0] for line in check(path)] == ["projections"] * 2
    with pytest.raises(StoreError, match="rebuild") as caught:
        asyncio.run(Store.open(path))
    assert caught.value.code == "store_corrupt"
    report = asyncio.run(rebuild_store(path))
    assert (report.ok, report.rebuilt, report.events) == (True, True, 10)
    assert rows_of(path, *PROJECTION_TABLES, "events", "cursors", "outbox") == whole
    assert check(path) == ()


def test_the_writer_goes_on_from_what_it_rebuilt(path: Path) -> None:
    write_some(path)
    edit(path, "DELETE FROM deliveries WHERE id = ?", "d2")

    async def scene() -> None:
        async with open_store(path) as store:
            assert (await store.rebuild()).last_position == 10
            await store.append(appending(queue("d3")))
            assert [record.id for record in store.deliveries("worker")] == ["d1", "d2", "d3"]
            state = store.seat_state("worker")
            assert state is not None
            assert [prompt.delivery for prompt in state.queue] == ["d2", "d3"]
            assert (await store.check()).problems == ()

    asyncio.run(scene())


def test_projections_of_other_shapes_are_built_anew_when_the_log_is_opened(path: Path) -> None:
    write_some(path)
    whole = rows_of(path, *PROJECTION_TABLES)
    edit(path, "UPDATE meta SET value = value + 1 WHERE key = 'projections'")
    edit(path, "UPDATE seats SET state = x'7b7d'")

    async def scene() -> None:
        async with open_store(path) as store:
            assert store.seat_state("worker") is not None

    asyncio.run(scene())
    assert rows_of(path, *PROJECTION_TABLES) == whole


def test_a_hold_whose_end_an_older_program_did_not_keep_has_it_again_when_the_log_is_opened(
    path: Path,
) -> None:
    until = datetime(2026, 12, 1, 15, tzinfo=UTC)

    async def write() -> None:
        async with open_store(path) as store:
            limited = DeliveryHeld(delivery="d1", why=HeldReason.LIMITED, until=until)
            await store.append(appending(add_seat(), queue("d1"), draft(limited)))

    async def read() -> None:
        async with open_store(path) as store:
            assert [one.held_until for one in store.deliveries("worker")] == [until]
            assert (await store.check()).problems == ()

    asyncio.run(write())
    edit(path, "UPDATE deliveries SET record = CAST(json_remove(record, '$.held_until') AS BLOB)")
    edit(path, "UPDATE meta SET value = value - 1 WHERE key = 'projections'")
    asyncio.run(read())


@pytest.mark.parametrize(
    ("tampering", "finding"),
    [
        ("UPDATE events SET position = 12 WHERE position = 10", "events: positions 10 to 11 are missing"),
        ("UPDATE events SET body = x'7b' WHERE position = 10", "event 10: store_corrupt:"),
        ("UPDATE events SET source = 'rumour' WHERE position = 10", "event 10: store_corrupt:"),
        ("UPDATE events SET version = 99 WHERE position = 10", "event 10: store_newer:"),
        ("UPDATE events SET seat = 'nobody' WHERE position = 10", "event 10: store_corrupt:"),
        (
            "UPDATE deliveries SET is_open = 0 WHERE id = 'd1'",
            "projections: deliveries differs from the events, first at d1",
        ),
        ("DELETE FROM permissions", "projections: permissions differs from the events, first at p1"),
        ("UPDATE cursors SET launch = 'l9'", "cursors: launch l9 is in no event"),
        ("UPDATE outbox SET launch = 'l9'", "outbox: launch l9 is in no event"),
        ("UPDATE meta SET value = 99 WHERE key = 'schema'", "store_newer: The log has version 99"),
    ],
)
def test_a_check_finds_what_is_wrong(path: Path, tampering: str, finding: str) -> None:
    write_some(path)
    assert check(path) == ()
    edit(path, tampering)
    (problem,) = check(path)
    assert problem.startswith(finding)


def test_a_rebuild_that_meets_an_unreadable_event_leaves_the_projections_as_they_were(path: Path) -> None:
    write_some(path)
    whole = rows_of(path, *PROJECTION_TABLES)
    edit(path, "UPDATE events SET version = 99 WHERE position = 9")
    with pytest.raises(StoreError) as caught:
        asyncio.run(rebuild_store(path))
    assert (caught.value.code, caught.value.detail["position"]) == ("store_newer", 9)
    assert rows_of(path, *PROJECTION_TABLES) == whole

    async def scene() -> None:
        async with open_store(path) as store:
            with pytest.raises(StoreError) as caught:
                await store.rebuild()
            assert caught.value.code == "store_newer"
            with pytest.raises(StoreError) as caught:
                store.events()
            assert caught.value.code == "store_newer"
            await store.append(appending(queue("d3")))
            assert [record.id for record in store.deliveries("worker")] == ["d1", "d2", "d3"]

    asyncio.run(scene())


def test_a_log_of_the_first_version_gets_the_table_of_requests_and_keeps_the_rest(path: Path) -> None:
    async def scene() -> None:
        async with open_store(path) as store:
            await store.append(Append(drafts=(add_seat(), queue("d1"))))
        with closing(sqlite3.connect(path)) as database:
            database.executescript(
                "DROP TABLE requests; UPDATE meta SET value = 1 WHERE key IN ('schema', 'projections');"
            )
        assert (await check_store(path)).problems == ()
        async with open_store(path) as store:
            assert [one.id for one in store.deliveries("worker")] == ["d1"]
            assert store.requests(include_settled=True) == []
            assert (await store.check()).problems == ()

    asyncio.run(scene())
