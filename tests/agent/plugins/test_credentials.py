"""Credentials: one private file that several agents share, and ways to sign in that fill it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.credentials import AuthRegistry, CredentialStore
from inspan.agent.leases import OwnerLease
from inspan.agent.values import JsonObject
from inspan.model.errors import PluginError, StoreError, UsageError

SECRET = "sk-kept"


class Provider:
    """Signs in with what it is told, and refreshes as it is told."""

    def __init__(self, name: str, *, credential: Any = None, fresh: Any = None) -> None:
        self.id = name
        self._credential = credential
        self._fresh = fresh
        self.refreshing = 0
        self.most_at_once = 0

    async def login(self, tell: Any, /) -> Any:
        return self._credential

    async def refresh(self, credential: JsonObject, /) -> Any:
        self.refreshing += 1
        self.most_at_once = max(self.most_at_once, self.refreshing)
        await asyncio.sleep(0)
        self.refreshing -= 1
        return self._fresh


async def tell(_: str) -> None:
    pass


def registry(folder: Path, *providers: Provider) -> AuthRegistry:
    found = AuthRegistry(CredentialStore(folder / "agent" / "credentials.json"))
    for provider in providers:
        found.add(provider, "owner", OwnerLease("owner"))
    return found


@pytest.mark.requirement("R37")
def test_the_file_is_private_under_any_umask_and_whole_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "credentials.json"
    store = CredentialStore(path)
    before = os.umask(0)
    try:
        store.put("a", {"token": SECRET})
        store.put("b", {"token": 2})
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert json.loads(path.read_text()) == {"a": {"token": SECRET}, "b": {"token": 2}}
    assert store.get("a") == {"token": SECRET}
    store.forget("a")
    store.forget("never")
    assert store.get("a") is None
    assert {one.name for one in path.parent.iterdir()} == {"credentials.json", "credentials.json.lock"}


def test_agents_that_write_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "credentials.json"

    def write(number: int) -> None:
        for turn in range(10):
            CredentialStore(path).put(f"p{number}", {"turn": turn})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert json.loads(path.read_text()) == {f"p{number}": {"turn": 9} for number in range(4)}


@pytest.mark.parametrize("text", [f'{{"a": "{SECRET}', f'["{SECRET}"]', f'{{"a": "{SECRET}"}}', "\udcff"])
def test_a_file_of_something_else_is_left_as_it_is_and_not_quoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "credentials.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    store = CredentialStore(path)

    for use in (lambda: store.get("a"), lambda: store.put("a", {})):
        with pytest.raises(StoreError) as failure:
            use()
        assert failure.value.code == "store_corrupt"
        assert SECRET not in str(failure.value)
    assert path.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("")

    with pytest.raises(StoreError):
        CredentialStore(tmp_path / "agent" / "credentials.json").put("a", {})


@pytest.mark.requirement("R50")
def test_a_credential_is_refreshed_one_at_a_time_and_the_fresh_one_is_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        provider = Provider("p", credential={"token": 1}, fresh={"token": 2})
        auth = registry(tmp_path, provider)
        assert await auth.credential("p", "owner") is None
        await auth.login("p", tell)
        found = await asyncio.gather(*(auth.credential("p", "owner") for _ in range(5)))
        assert found == [{"token": 2}] * 5
        assert provider.most_at_once == 1
        assert CredentialStore(tmp_path / "agent" / "credentials.json").get("p") == {"token": 2}

    asyncio.run(scenario())


@pytest.mark.requirement("R51")
def test_a_credential_that_is_no_use_any_more_is_kept_until_a_person_signs_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        auth = registry(tmp_path, Provider("p", credential={"token": 1}, fresh=None))
        await auth.login("p", tell)
        assert await auth.credential("p", "owner") is None
        auth.remove("p", "somebody else")
        assert [one.provider.id for one in auth.list()] == ["p"]
        auth.remove("p", "owner")
        auth.remove("p", "owner")
        assert CredentialStore(tmp_path / "agent" / "credentials.json").get("p") == {"token": 1}
        await auth.logout("p")
        assert CredentialStore(tmp_path / "agent" / "credentials.json").get("p") is None

    asyncio.run(scenario())


def test_what_cannot_be_signed_in_to_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        auth = registry(tmp_path, Provider("p", credential="no object"))
        with pytest.raises(UsageError, match="no way to sign in to 'q'"):
            await auth.login("q", tell)
        with pytest.raises(PluginError) as failure:
            await auth.login("p", tell)
        assert failure.value.detail["error"] == "TypeError"

    asyncio.run(scenario())


@pytest.mark.parametrize("fresh", ["no object", ["a"], {"token": object()}], ids=["text", "list", "no JSON"])
def test_a_refresh_that_gives_no_credential_is_refused_and_spoils_nothing_that_is_kept(
    fresh: Any, tmp_path: Path
) -> None:
    async def scenario() -> None:
        auth = registry(tmp_path, Provider("p", credential={"token": 1}, fresh=fresh), Provider("q"))
        await auth.login("p", tell)
        with pytest.raises(PluginError) as failure:
            await auth.credential("p", "owner")
        assert failure.value.detail["error"] == "TypeError"
        assert CredentialStore(tmp_path / "agent" / "credentials.json").get("p") == {"token": 1}
        assert await auth.credential("q", "owner") is None

    asyncio.run(scenario())
