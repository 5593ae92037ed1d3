"""What the agent makes in a home is for its owner alone, the folders above it and the home itself included."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from inspan.agent.agent import Agent
from inspan.agent.credentials import CredentialStore
from inspan.agent.memory.store import MemoryStore
from inspan.agent.plugins.memory_sync import MemorySync
from inspan.home import locate_home, prepare_home
from support.runtime_plugins import Context, MadePlugin


def keep_a_note(home: Path) -> None:
    MemoryStore(home / "agent" / "memory").save("style", "Tabs.", "Tabs.", None)


def keep_a_credential(home: Path) -> None:
    CredentialStore(home / "agent" / "credentials.json").put("service", {"token": "t"})


def sync_notes(home: Path) -> None:
    MemorySync(home / "agent" / "memory", home.parent / "other").run()


def take_a_plugins_folder(home: Path) -> None:
    def set_up(ctx: Context) -> None:
        assert ctx.data_dir.is_dir()

    async def story() -> None:
        async with Agent.create(
            workspace=home.parent,
            home=home,
            is_ephemeral=True,
            runtime_plugins=[MadePlugin(id="a", setup=set_up)],
        ):
            pass

    asyncio.run(story())


@pytest.mark.parametrize("make", [keep_a_note, keep_a_credential, sync_notes, take_a_plugins_folder])
def test_whatever_makes_a_home_makes_it_private_and_fit_for_the_daemon(
    throwaway_home: Path, make: Callable[[Path], None]
) -> None:
    home = throwaway_home / "inspan"
    umask = os.umask(0o022)
    try:
        make(home)
    finally:
        os.umask(umask)

    made = [home, *(one for one in home.rglob("*") if one.is_dir())]
    assert len(made) > 1
    assert {stat.S_IMODE(one.stat().st_mode) for one in made} == {0o700}
    assert prepare_home(locate_home(home)).path == home
