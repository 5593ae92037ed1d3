"""Senders: a prompt is stamped by who is at the other end of the connection, never by what is claimed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import msgspec
import pytest

from inspan.holder.ancestry import ancestors_of
from inspan.model.events import DeliveryQueued
from inspan.model.views import SendPrompt
from inspan.seats.senders import find_sender
from inspan.store import open_store
from support.seat_ground import open_ground, until


@pytest.mark.requirement("H-E9")
def test_a_prompt_from_a_seat_s_harness_is_stamped_with_that_seat_and_any_other_is_not() -> None:
    async def story() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            for name in ("first", "second"):
                await ground.add(seats, name)
            await seats.start_seat("first")
            view = await until(seats, "first", lambda one: one.session.open)
            assert view.launch is not None
            inside = await seats.send_prompt("second", SendPrompt(text="one"), peer=view.launch.pid)
            shell = await seats.send_prompt("second", SendPrompt(text="two"), peer=os.getpid())
            nobody = await seats.send_prompt("second", SendPrompt(text="three"))
            assert (inside.sender, shell.sender, nobody.sender) == ("first", "", "")
            await seats.stop_seat("first")
            await until(seats, "first", lambda one: one.launch is not None and one.launch.status == "ended")
            late = await seats.send_prompt("second", SendPrompt(text="four"), peer=view.launch.pid)
            assert late.sender == ""
            assert [one.sender for one in await seats.list_deliveries("second")] == ["first", "", "", ""]
            async with open_store(ground.path / "log.db", read_only=True) as store:
                queued = [
                    one.event for one in store.events(limit=10_000) if isinstance(one.event, DeliveryQueued)
                ]
            assert [one.sender for one in queued][:3] == ["first", "", ""]

    asyncio.run(story())


@pytest.mark.requirement("H-E9")
def test_a_sender_cannot_be_claimed() -> None:
    with pytest.raises(msgspec.ValidationError, match="sender"):
        msgspec.json.decode(b'{"text": "hi", "sender": "lead"}', type=SendPrompt)
    assert find_sender(None, ()) == ""


def test_a_process_is_known_by_the_line_of_those_that_started_it() -> None:
    child = "import os, subprocess, sys; print(os.getpid(), flush=True); sys.stdin.read()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        grandchild = int(process.stdout.readline())
        family = ancestors_of(grandchild)
        assert {grandchild, process.pid, os.getpid()} <= family
        assert 1 not in family
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    assert ancestors_of(grandchild) == frozenset()
