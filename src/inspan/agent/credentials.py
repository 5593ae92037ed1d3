"""Ways to sign in, and what they gave: one file of the agent's home, for its owner alone.

A credential outlives the plugin that got it: taking away a way to sign in deletes nothing.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from inspan.agent.faults import fault_name, is_fault
from inspan.agent.leases import Lease
from inspan.agent.plugins.contract import AuthProvider
from inspan.agent.private_folders import make_private
from inspan.agent.values import JsonObject
from inspan.model.errors import PluginError, StoreError, UsageError

__all__ = ["AuthRegistry", "CredentialStore", "OwnedProvider"]

_PROVIDER_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")


class CredentialStore:
    """The file of credentials, one object a provider. Several agents, of several processes, may use it at once.

    Args:
        path: The file, absolute. It is made at the first `put`, mode 0600, with its folder, mode 0700.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, provider: str) -> JsonObject | None:
        """The credential, or None.

        Raises:
            StoreError: `store_corrupt`: the file holds something else; it is left as it is.
        """
        return self._read().get(provider)

    def put(self, provider: str, credential: JsonObject) -> None:
        """Keeps a credential, in place of an earlier one. It is on the disk on return.

        Raises:
            StoreError: `store_corrupt` or `store_failed`; nothing was changed.
        """
        self._change(provider, credential)

    def forget(self, provider: str) -> None:
        """Deletes a credential because a person asked for it. Nothing happens if there is none."""
        if provider in self._read():
            self._change(provider, None)

    def _change(self, provider: str, credential: JsonObject | None) -> None:
        try:
            with self._locked():
                kept = dict(self._read())
                if credential is None:
                    kept.pop(provider, None)
                else:
                    kept[provider] = credential
                self._replace(msgspec.json.encode(kept))
        except OSError as error:
            raise StoreError(
                f"The credentials in {self._path} cannot be written: {error.strerror or type(error).__name__}.",
                hint="Make room on the disk, or the folder writable.",
                detail={"file": str(self._path)},
            ) from None

    def _read(self) -> Mapping[str, JsonObject]:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StoreError(
                f"The credentials in {self._path} cannot be read: {error.strerror or type(error).__name__}.",
                detail={"file": str(self._path)},
            ) from None
        try:
            return msgspec.json.decode(text, type=dict[str, dict[str, Any]])
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # the decoder's own words are not shown: they may quote the file
        raise StoreError(
            f"{self._path} holds no credentials that can be read.",
            code="store_corrupt",
            hint="Move the file away, and sign in again.",
            detail={"file": str(self._path)},
        )

    def _replace(self, text: bytes) -> None:
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        fresh.unlink(missing_ok=True)
        file = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(file, 0o600)
            with os.fdopen(file, "wb", closefd=False) as writer:
                writer.write(text)
                writer.flush()
            os.fsync(file)
            fresh.rename(self._path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        finally:
            os.close(file)

    @contextmanager
    def _locked(self) -> Generator[None]:
        make_private(self._path.parent)
        lock = os.open(
            self._path.with_name(self._path.name + ".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedProvider:
    """A way to sign in and who brought it."""

    provider: AuthProvider
    owner: str
    lease: Lease


class AuthRegistry:
    """The ways to sign in of one agent.

    Args:
        store: Keeps what they give.
    """

    def __init__(self, store: CredentialStore) -> None:
        self._store = store
        self._providers: dict[str, OwnedProvider] = {}
        self._refreshing: dict[str, asyncio.Lock] = {}

    def add(self, provider: AuthProvider, owner: str, lease: Lease) -> None:
        """Adds a way to sign in.

        Raises:
            PluginError: `plugin_conflict`: the id is taken; `plugin_contribution_invalid`.
        """
        provider_id = cast(object, provider.id)
        is_whole = callable(getattr(provider, "login", None)) and callable(getattr(provider, "refresh", None))
        if not isinstance(provider_id, str) or _PROVIDER_ID.fullmatch(provider_id) is None or not is_whole:
            raise PluginError(
                f"A way to sign in of '{owner}' is refused: its id does not match {_PROVIDER_ID.pattern}, or it lacks"
                " login or refresh.",
                code="plugin_contribution_invalid",
                detail={"owner": owner, "kind": "auth"},
            )
        if (taken := self._providers.get(provider_id)) is not None:
            raise PluginError(
                f"'{owner}' wants to register the sign-in '{provider_id}', which '{taken.owner}' has already.",
                code="plugin_conflict",
                detail={"kind": "auth", "name": provider_id, "owner": owner, "taken_by": taken.owner},
            )
        self._providers[provider_id] = OwnedProvider(provider=provider, owner=owner, lease=lease)

    def remove(self, provider_id: str, owner: str) -> None:
        """Takes a way to sign in away, and leaves its credential. Calling it twice is safe."""
        if (owned := self._providers.get(provider_id)) is not None and owned.owner == owner:
            del self._providers[provider_id]

    def list(self) -> tuple[OwnedProvider, ...]:
        """All ways to sign in, in the order in which they came."""
        return tuple(self._providers.values())

    async def login(self, provider_id: str, tell: Callable[[str], Awaitable[None]]) -> None:
        """Signs a person in and keeps the credential.

        Raises:
            UsageError: `invalid_argument`: there is no such way to sign in.
            PluginError: `plugin_failed` with the class of what it raised, or `plugin_stopped`.
            StoreError: The credential could not be kept.
        """
        owned = self._owned(provider_id)
        credential = await _ask(owned, lambda: owned.provider.login(tell))
        _check_credential(owned, credential)
        await asyncio.to_thread(self._store.put, provider_id, credential)

    async def logout(self, provider_id: str) -> None:
        """Deletes the credential. The way to sign in need not be registered."""
        await asyncio.to_thread(self._store.forget, provider_id)

    async def credential(self, provider_id: str, owner: str) -> JsonObject | None:
        """The credential of an owner's own provider, refreshed if needed; None when nobody signed in.

        Raises:
            PluginError: As for `login`; and `plugin_not_permitted`: the provider is somebody else's.
        """
        owned = self._owned(provider_id)
        if owned.owner != owner:
            raise PluginError(
                f"'{owner}' asks for the credential of '{provider_id}', which is not its own.",
                code="plugin_not_permitted",
                detail={"owner": owner, "provider": provider_id},
            )
        # One at a time: a refresh may use up what the next one would need.
        async with self._refreshing.setdefault(provider_id, asyncio.Lock()):
            kept = await asyncio.to_thread(self._store.get, provider_id)
            if kept is None:
                return None
            fresh = await _ask(owned, lambda: owned.provider.refresh(dict(kept)))
            if fresh is not None and fresh != kept:
                _check_credential(owned, fresh)
                await asyncio.to_thread(self._store.put, provider_id, fresh)
            return fresh

    def _owned(self, provider_id: str) -> OwnedProvider:
        if (owned := self._providers.get(provider_id)) is None:
            raise UsageError(
                f"There is no way to sign in to '{provider_id}'.",
                hint=f"There are: {', '.join(self._providers) or 'none'}.",
                detail={"providers": list(self._providers)},
            )
        return owned


async def _ask(owned: OwnedProvider, call: Callable[[], Awaitable[Any]]) -> Any:
    with owned.lease.enter():
        try:
            return await call()
        except BaseException as error:
            if not is_fault(error):
                raise
            failed = fault_name(error)
    raise _failed(owned, failed)


def _check_credential(owned: OwnedProvider, credential: object) -> None:
    """Refuses what the file could not hold, or could not be read with."""
    try:
        is_object = isinstance(credential, dict) and bool(msgspec.json.encode(credential))
    except (TypeError, ValueError, OverflowError, RecursionError):
        is_object = False
    if not is_object:
        raise _failed(owned, "TypeError")


def _failed(owned: OwnedProvider, fault: str) -> PluginError:
    return PluginError(
        f"The sign-in '{owned.provider.id}' of '{owned.owner}' failed with {fault}.",
        detail={"provider": owned.provider.id, "owner": owned.owner, "error": fault},
    )
