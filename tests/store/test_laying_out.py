"""The write-ahead log is laid out ahead, and what lies behind its last frame is nothing to anybody."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from inspan.store import Append, open_store
from inspan.store import schema as schema_module
from support.store.drafts import add_seat, appending, chunk, launch


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def test_commits_overwrite_the_log_instead_of_extending_it(tmp_path: Path) -> None:
    async def story() -> tuple[int, int]:
        async with open_store(tmp_path / "log.db") as store:
            before = _wal(store.path).stat().st_size
            await store.append(appending(add_seat("s1"), *launch("l1", seat="s1")))
            for _ in range(50):
                await store.append(Append(drafts=(chunk("said", seat="s1", launch="l1"),)))
            return before, _wal(store.path).stat().st_size

    before, after = asyncio.run(story())

    assert before == after > 50 * 4096


def test_a_log_that_was_cut_off_with_its_room_ahead_holds_what_was_committed(tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()

    async def die() -> int:
        async with open_store(tmp_path / "log.db") as store:
            await store.append(appending(add_seat("s1"), *launch("l1", seat="s1")))
            await store.append(Append(drafts=(chunk("said", seat="s1", launch="l1"),)))
            # What a killed process leaves: the files as they are, with frames only the log has.
            for path in (store.path, _wal(store.path)):
                shutil.copy(path, left / path.name)
            return store.last_position()

    async def return_to() -> tuple[int, bool]:
        async with open_store(left / "log.db") as store:
            return store.last_position(), (await store.check()).ok

    position = asyncio.run(die())

    assert asyncio.run(return_to()) == (position, True)


def test_a_disk_with_little_room_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_module, "_ROOM_BYTES", 1 << 62)

    async def story() -> int:
        async with open_store(tmp_path / "log.db") as store:
            return _wal(store.path).stat().st_size

    assert asyncio.run(story()) < 1024 * 1024
