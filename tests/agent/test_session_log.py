"""A session's file where the system fails in the worst way: nothing is added behind half a line."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.sessions.log import FileLog
from inspan.agent.sessions.records import FORMAT, Header, TurnBegan, encode_record
from inspan.agent.sessions.store import SessionStore
from inspan.model.errors import HarnessError, StoreError

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_file_that_cannot_be_cut_back_after_half_a_line_takes_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s_0123456789.jsonl"
    log = FileLog(path, is_new=True)
    log.append(TurnBegan(at=NOW, turn=1))
    write = os.write

    def half(file: int, data: Any) -> int:
        if write(file, bytes(data)[:5]):
            raise OSError(errno.ENOSPC, "full")
        return 0

    def refuse(_: int, __: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr("inspan.agent.sessions.log.os.write", half)
    monkeypatch.setattr("inspan.agent.sessions.log.os.ftruncate", refuse)
    with pytest.raises(StoreError) as full:
        log.append(TurnBegan(at=NOW, turn=2))
    assert full.value.code == "store_full"
    monkeypatch.undo()
    with pytest.raises(StoreError):
        log.append(TurnBegan(at=NOW, turn=3))
    again = FileLog(path, is_new=False)
    assert again.read() == [TurnBegan(at=NOW, turn=1)]
    again.close()


def test_a_session_that_was_torn_in_its_first_line_is_no_session_and_its_fork_leaves_no_file(
    tmp_path: Path,
) -> None:
    header = Header(format=FORMAT, id="s_0123456789", workspace="/", created_at=NOW)
    (tmp_path / "s_0123456789.jsonl").write_bytes(encode_record(header) + b'{"type":"sett')
    store = SessionStore(tmp_path)
    with pytest.raises(HarnessError) as missing:
        store.open("s_0123456789")
    assert missing.value.code == "session_missing"
    with pytest.raises(HarnessError):
        store.begin_copy(store.read("s_0123456789"), "s_9876543210")
    assert [one.name for one in tmp_path.iterdir()] == ["s_0123456789.jsonl"]
