"""A disk that fills up in mid-turn: nothing is accepted that cannot be kept, and nothing said is lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspan.client.client import Client
from inspan.model.errors import InspanError, StoreError
from inspan.model.views import DaemonStatus, SeatView
from support.console_killing_ground import ConsoleKillingGround
from support.killing_ground import KillingGround

pytestmark = [
    pytest.mark.fault,
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk needs root on Linux"
    ),
]


@contextmanager
def small_disk(megabytes: int) -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="isp-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path) -> Path:
    """Takes all the room that there is, to the last byte."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        size = 64 * 1024
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    return filler


async def status_of(ground: KillingGround) -> DaemonStatus:
    found = await ground.call(lambda client: client.status())
    assert isinstance(found, DaemonStatus)
    return found


async def until_store(ground: KillingGround, wanted: str) -> None:
    async with asyncio.timeout(30):
        while (await status_of(ground)).store != wanted:  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(0.05)


async def until_said(ground: KillingGround, client: Client) -> None:
    async with asyncio.timeout(30):
        async for envelope in client.events(after=0):
            if getattr(envelope.event, "text", "") == "n3":
                return


@pytest.mark.requirement("L8")
def test_a_disk_that_fills_up_in_mid_turn_refuses_prompts_loses_nothing_and_resumes_by_itself() -> None:
    async def scene(disk: Path) -> None:
        ground = KillingGround(1, home=disk / "h")
        try:
            await ground.prepare()
            text = "say 400 every 0.01 #1"
            await ground.call(lambda client: client.send("one", text, id="d-1"))
            ground.accepted["d-1"] = text
            assert ground.client is not None
            await until_said(ground, ground.client)
            filler = fill(disk)
            await until_store(ground, "store_full")
            refused = await ground.call(lambda client: client.send("two", "say 1 #2", id="d-2"))
            assert isinstance(refused, StoreError)
            assert refused.code == "store_full"
            assert refused.retry_safe
            filler.unlink()
            await until_store(ground, "ok")
            again = await ground.call(lambda client: client.send("two", "say 1 #2", id="d-2"))
            assert not isinstance(again, InspanError)
            ground.accepted["d-2"] = "say 1 #2"
            views = await ground.settle()
            await ground.check(views)
        finally:
            await ground.close()

    with small_disk(16) as disk:
        asyncio.run(scene(disk))


@pytest.mark.requirement("L8")
def test_a_daemon_that_is_killed_on_a_full_disk_comes_back_and_loses_nothing() -> None:
    async def scene(disk: Path) -> None:
        ground = KillingGround(1, home=disk / "h")
        try:
            await ground.prepare()
            text = "say 300 every 0.01 #1"
            await ground.call(lambda client: client.send("one", text, id="d-1"))
            ground.accepted["d-1"] = text
            assert ground.client is not None
            await until_said(ground, ground.client)
            filler = fill(disk)
            await until_store(ground, "store_full")
            await ground.kill_daemon()
            filler.unlink()
            seat = await ground.call(lambda client: client.get_seat("one"))
            assert isinstance(seat, SeatView)
            views = await ground.settle()
            await ground.check(views)
        finally:
            await ground.close()

    with small_disk(16) as disk:
        asyncio.run(scene(disk))


@pytest.mark.requirement("L8")
def test_a_disk_that_fills_up_while_a_console_writes_loses_none_of_it_and_answers_each_question_once() -> (
    None
):
    async def scene(disk: Path) -> None:
        ground = ConsoleKillingGround(1, home=disk / "h")
        try:
            await ground.prepare()
            await ground.compare()
            filler = fill(disk)
            # What the console writes cannot be kept either, so the log may have nothing to append by itself.
            made: object = None
            for number in range(500):  # the log's file may have room for some
                made = await ground.call(
                    lambda client, name=f"more-{number}": client.add_seat(
                        name, harness="parade", workspace=str(ground.workspace)
                    )
                )
                if isinstance(made, InspanError):
                    break
            assert isinstance(made, StoreError)
            await until_store(ground, "store_full")
            await ground.kill_daemon()
            # Nothing that the console writes can be kept meanwhile, so the one that comes back may have nothing to say.
            await status_of(ground)
            filler.unlink()
            await until_store(ground, "ok")
            await ground.compare()
            assert ground.checked == 2
            await ground.end()
        finally:
            await ground.close()

    with small_disk(16) as disk:
        asyncio.run(scene(disk))
