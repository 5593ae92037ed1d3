"""The log takes what it never heard of: no table enumerates harnesses, modes or kinds."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from inspan.model.events import EventDraft, LaunchRequested, PermissionAnswered, PermissionOpened, SeatAdded
from inspan.model.evidence import Source
from inspan.model.permission import AnsweredBy, Decision, ToolCall
from inspan.model.posture import Posture
from inspan.store import Append, open_store


@pytest.mark.requirement("H-F9")
def test_permissions_of_a_harness_that_nobody_knows_are_kept_and_no_table_lists_harnesses() -> None:
    async def scene(folder: Path) -> None:
        events = (
            SeatAdded(harness="never-heard-of", mode="carrier-pigeon", workspace="/w", posture=Posture()),
            LaunchRequested(launch="l-1", attempt="fresh"),
            PermissionOpened(request="p-1", wire_id="1", tool_call=ToolCall(id="c", kind="fly"), options=()),
            PermissionAnswered(
                request="p-1", wire_id="1", decision=Decision.CANCELLED, by=AnsweredBy.POSTURE
            ),
        )
        drafts = tuple(
            EventDraft(
                at=datetime.now(UTC),
                seat="s",
                source=Source.PROTOCOL,
                rule="r",
                event=event,
                launch=None if isinstance(event, SeatAdded) else "l-1",
            )
            for event in events
        )
        async with open_store(folder / "log.db") as store:
            await store.append(Append(drafts=drafts))
            kept = store.permission("p-1")
        assert kept is not None
        assert (kept.view.tool_call.kind, kept.view.decision) == ("fly", Decision.CANCELLED)
        with sqlite3.connect(folder / "log.db") as database:
            schema = " ".join(row[0] or "" for row in database.execute("SELECT sql FROM sqlite_master"))
        database.close()
        assert "CHECK" not in schema.upper()

    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        asyncio.run(scene(Path(folder)))
