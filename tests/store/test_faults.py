"""What the outside does to a log: locks, full and read-only disks, damage, other versions, kill -9."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from inspan.model.content import MessageChunk
from inspan.model.errors import StoreError
from inspan.store import Store, check_store, open_store, rebuild_store
from inspan.store.projections import Projector
from inspan.store.schema import (
    SCHEMA_VERSION,
    check_version,
    connect_writer,
    create_tables,
    migrate,
    read_meta,
)
from inspan.store.writer import Outcome, Writer, prepare
from support.store.drafts import add_seat, appending, chunk
from support.store.programs import PRODUCERS, command, environment, running

KILLS = 5


@pytest.fixture
def folder(throwaway_home: Path) -> Path:
    folder = throwaway_home / "inspan"
    folder.mkdir(mode=0o700)
    return folder


def write_some(folder: Path, *, events: int = 1) -> None:
    async def scene() -> None:
        async with open_store(folder / "log.db") as store:
            await store.append(appending(add_seat(), *(chunk("x" * 1000) for _ in range(events))))

    asyncio.run(scene())


def refusal(call: Any) -> StoreError:
    with pytest.raises(StoreError) as caught:
        asyncio.run(call)
    return caught.value


def in_small_filesystem(folder: Path, script: str) -> str:
    """Runs a shell script with a file system of one megabyte at `folder`, which nobody else sees."""
    unshare = shutil.which("unshare")
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    mount = f"mount -t tmpfs -o size=1m,mode=0700 tmpfs {shlex.quote(str(folder))}"
    if unshare is None or sys.platform != "linux":
        pytest.skip("a file system of our own needs Linux and unshare")
    isolated = [unshare, "--mount", *as_root, "sh", "-ec"]
    if subprocess.run([*isolated, mount], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody mount a file system in a namespace")
    ran = subprocess.run(
        [*isolated, f"{mount}\n{script}"], env=environment(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_second_writer_is_refused_and_told_who_the_first_is_while_reading_goes_on(folder: Path) -> None:
    write_some(folder)
    path = folder / "log.db"
    with running("hold", folder) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == f"{owner.pid}\n"
        for error in (refusal(Store.open(path)), refusal(rebuild_store(path))):
            assert (error.code, error.detail["pid"]) == ("store_locked", owner.pid)
            assert str(owner.pid) in error.message
        assert asyncio.run(check_store(path)).ok

        async def read() -> None:
            async with open_store(path, read_only=True) as store:
                assert store.last_position() == 2
                with pytest.raises(StoreError) as caught:
                    await store.append(appending(chunk("x")))
                assert caught.value.code == "store_read_only"
                with pytest.raises(StoreError) as caught:
                    await store.rebuild()
                assert caught.value.code == "store_read_only"

        asyncio.run(read())
    write_some(folder)  # the lock ended with its owner, which was killed


def test_two_writers_in_one_process_are_refused_too(folder: Path) -> None:
    async def scene() -> None:
        async with open_store(folder / "log.db"):
            with pytest.raises(StoreError) as caught:
                await Store.open(folder / "log.db")
            assert (caught.value.code, caught.value.detail["pid"]) == ("store_locked", os.getpid())

    asyncio.run(scene())


def test_a_lock_that_another_tool_has_on_the_file_is_waited_for_then_named_then_over(folder: Path) -> None:
    async def scene() -> None:
        async with open_store(folder / "log.db", busy_timeout_s=0.05) as store:
            await store.append(appending(add_seat()))
            with running("block", folder) as tool:
                assert tool.stdout is not None
                assert tool.stdout.readline() == "blocked\n"
                for answer in await asyncio.gather(
                    *(store.append(appending(chunk(str(n)))) for n in range(3)), return_exceptions=True
                ):
                    assert isinstance(answer, StoreError)
                    assert answer.code == "store_locked"
                assert store.status == "store_locked"
                assert store.last_position() == 1
            (envelope,) = await store.append(appending(chunk("after")))
            assert (envelope.position, store.status) == (2, "ok")

    asyncio.run(scene())


def test_a_log_that_may_not_grow_says_full_keeps_what_is_durable_and_resumes_by_itself(folder: Path) -> None:
    path = folder / "log.db"
    answers: SimpleQueue[Outcome] = SimpleQueue()

    def report(outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            answers.put(outcome)

    database = connect_writer(path)
    migrate(database)
    writer = Writer(database, path, Projector(database, {}), report)
    database.execute("PRAGMA max_page_count = 40")
    writer.start()
    try:
        writer.submit(prepare(appending(add_seat()), None))
        position = answers.get(timeout=20).envelopes[-1].position
        while True:
            writer.submit(prepare(appending(chunk("x" * 5000)), None))
            outcome = answers.get(timeout=20)
            if outcome.error is not None:
                break
            position = outcome.envelopes[-1].position
        assert (outcome.error.code, outcome.status) == ("store_full", "store_full")
        assert 2 < position < 40
        database.execute("PRAGMA max_page_count = 400")
        writer.submit(prepare(appending(chunk("x" * 5000)), None))
        outcome = answers.get(timeout=20)
        assert (outcome.status, outcome.envelopes[0].position) == ("ok", position + 1)
    finally:
        writer.stop()
    assert asyncio.run(check_store(path)).problems == ()


def test_a_full_disk_is_named_and_writing_resumes_when_there_is_room(folder: Path) -> None:
    told = json.loads(in_small_filesystem(folder, shlex.join(command("fill", folder))))
    assert (told["code"], told["status"]) == ("store_full", "store_full")
    assert told["durable"] > 10
    assert told["full_at"] == told["readable"] == told["durable"] + 1
    assert (told["resumed_at"], told["status_after"]) == (told["full_at"] + 1, "ok")
    assert told["problems"] == []


def test_a_read_only_folder_is_named_and_can_be_read(folder: Path) -> None:
    write, meet = shlex.join(command("write-two", folder)), shlex.join(command("meet-read-only", folder))
    remount = f"mount -o remount,ro {shlex.quote(str(folder))}"
    told = json.loads(in_small_filesystem(folder, f"{write}\n{remount}\n{meet}"))
    assert told == {"there": "store_read_only", "new": "store_read_only", "events": 2, "problems": []}


def test_a_file_that_is_no_log_is_damage(folder: Path) -> None:
    path = folder / "log.db"
    path.write_bytes(b"This is not a database. " * 500)
    assert refusal(Store.open(path)).code == "store_corrupt"
    assert refusal(Store.open(path, read_only=True)).code == "store_corrupt"
    report = asyncio.run(check_store(path))
    assert (report.ok, [line.split(":")[0] for line in report.problems]) == (False, ["store_corrupt"])
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE notes (text)")
    assert refusal(Store.open(path)).code == "store_corrupt"


def test_a_damaged_page_is_found_by_a_check_and_named_when_it_is_read(folder: Path) -> None:
    write_some(folder, events=200)
    path = folder / "log.db"
    whole = path.read_bytes()
    middle = len(whole) // 8192 * 4096
    path.write_bytes(whole[:middle] + b"\xff" * 4096 + whole[middle + 4096 :])
    report = asyncio.run(check_store(path))
    assert not report.ok
    assert report.problems

    async def read() -> None:
        async with open_store(path, read_only=True) as store:
            store.events(limit=100_000)

    assert refusal(read()).code == "store_corrupt"


def test_there_is_nothing_to_read_where_there_is_no_log(folder: Path) -> None:
    path = folder / "log.db"
    for call in (Store.open(path, read_only=True), check_store(path), rebuild_store(path)):
        assert refusal(call).code == "store_failed"
    assert list(folder.iterdir()) == []


def test_a_newer_log_is_refused_and_not_touched(folder: Path) -> None:
    write_some(folder)
    path = folder / "log.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (SCHEMA_VERSION + 1,))
    before = path.read_bytes()
    for call in (Store.open(path), Store.open(path, read_only=True), rebuild_store(path)):
        assert refusal(call).code == "store_newer"
    assert path.read_bytes() == before


def test_an_older_log_is_migrated_step_by_step_or_not_at_all(folder: Path) -> None:
    def add_a_table(database: sqlite3.Connection) -> None:
        database.execute("CREATE TABLE added (n)")

    def fill_it(database: sqlite3.Connection) -> None:
        database.execute("INSERT INTO added VALUES (1)")

    def fail(database: sqlite3.Connection) -> None:
        database.execute("INSERT INTO added VALUES (2)")
        raise StoreError("The step failed.")

    with closing(connect_writer(folder / "log.db")) as database:
        database.execute("BEGIN")
        create_tables(database)
        database.execute("COMMIT")
        first = SCHEMA_VERSION
        steps = {first: add_a_table, first + 1: fail}
        with pytest.raises(StoreError, match="step failed"):
            migrate(database, current=first + 2, steps=steps)
        assert check_version(database) == first
        assert database.execute("SELECT name FROM sqlite_master WHERE name = 'added'").fetchall() == []
        migrate(database, current=first + 2, steps={**steps, first + 1: fill_it})
        assert read_meta(database, "schema") == first + 2
        assert database.execute("SELECT n FROM added").fetchall() == [(1,)]
        migrate(database, current=first + 2, steps={})


def test_every_event_that_was_acknowledged_is_there_after_kill_9_and_so_is_its_cursor(folder: Path) -> None:
    acknowledged: dict[int, tuple[str, int]] = {}
    for round_number in range(KILLS):
        with running("append", folder) as process:
            assert process.stdout is not None
            for _ in range(40 + 25 * round_number):
                note(acknowledged, process.stdout.readline())
            process.kill()
            for line in process.stdout:
                note(acknowledged, line)
        asyncio.run(compare(folder / "log.db", acknowledged))
    assert len(acknowledged) >= KILLS * 40


def note(acknowledged: dict[int, tuple[str, int]], line: str) -> None:
    if line.endswith("\n"):
        launch, number, position = line.split()
        assert int(position) not in acknowledged
        acknowledged[int(position)] = (launch, int(number))


async def compare(path: Path, acknowledged: dict[int, tuple[str, int]]) -> None:
    async with open_store(path) as store:
        found = {
            envelope.position: (str(envelope.launch), int(envelope.event.text))
            for envelope in store.events(limit=1_000_000)
            if isinstance(envelope.event, MessageChunk)
        }
        assert {position: found.get(position) for position in acknowledged} == acknowledged
        for name in (f"l{number}" for number in range(PRODUCERS)):
            numbers = [number for launch, number in found.values() if launch == name]
            assert numbers == list(range(1, len(numbers) + 1))
            cursor = store.cursor(name)
            assert (0 if cursor is None else cursor.offset) == len(numbers)
        assert (await store.check()).problems == ()
