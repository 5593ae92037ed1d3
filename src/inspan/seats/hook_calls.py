"""Calls about a harness's hooks: where it is told of the relay, and to tell it in the operator's own file."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from inspan.hooks.installing import install_hooks, locate, remove_hooks, show_place
from inspan.model.errors import InspanError, UsageError
from inspan.model.hook_views import HookPlaceView, HooksView
from inspan.model.hooks import HookInstall
from inspan.model.manifest import Manifest
from inspan.transports import TERMINAL

from .actor import SeatActor
from .harnesses import Harnesses
from .hook_launch import NO_HOOKS, choose_seat_install, is_off
from .isolation import surround

__all__ = ["HookCalls"]


class _Target(msgspec.Struct, frozen=True, kw_only=True):
    manifest: Manifest
    environ: Mapping[str, str]
    seat: str = ""
    workspace: str = ""
    folder: Path | None = None


class HookCalls(ABC):
    """The part of the service that is about hooks."""

    _harnesses: Harnesses
    _environ: Mapping[str, str]
    _launches: Path

    @abstractmethod
    def actor(self, name: str) -> SeatActor:
        """The actor of a seat. Raises `unknown_seat`."""

    async def show_hooks(self, target: str) -> HooksView:
        """See `SeatService`."""
        found = self._find(target)
        return await asyncio.to_thread(_show, found)

    async def install_hooks(self, target: str, *, shared: bool = False) -> HooksView:
        """See `SeatService`."""
        found = self._find(target)
        if not shared and choose_seat_install(found.manifest.hooks, found.environ) is not None:
            return await asyncio.to_thread(_show, found)
        return await asyncio.to_thread(_change, found, install_hooks, only_first=True)

    async def remove_hooks(self, target: str) -> HooksView:
        """See `SeatService`."""
        found = self._find(target)
        return await asyncio.to_thread(_change, found, remove_hooks, only_first=False)

    def _find(self, target: str) -> _Target:
        try:
            state = self.actor(target).state
        except UsageError:
            state = None
        try:
            manifest = self._harnesses.registry.manifest(target if state is None else state.harness)
        except InspanError as error:
            if state is not None or error.code != "unknown_harness":
                raise
            raise UsageError(
                f"There is neither a seat nor a harness {target!r}.",
                code="unknown_seat",
                hint="`inspan seat list` and `inspan harness list` show what there is.",
            ) from error
        if not manifest.hooks.install:
            raise UsageError(
                f"Nobody said how the hooks of {manifest.name} are told of ours.",
                code="hooks_unknown",
                hint="Its console is seen and typed into all the same; without hooks a prompt has no witness.",
            )
        if state is None:
            return _Target(manifest=manifest, environ=self._environ)
        around = surround(state, manifest, launches=self._launches, environ=self._environ)
        return _Target(
            manifest=manifest,
            environ={**around.inherited, **around.given},
            folder=around.folder,
            seat=state.name,
            workspace=state.workspace,
        )


def _show(found: _Target) -> HooksView:
    return _view(found, tuple(_place(found, install) for install in found.manifest.hooks.install))


def _change(
    found: _Target,
    change: Callable[[HookInstall, Path, tuple[str, ...]], HookPlaceView],
    *,
    only_first: bool,
) -> HooksView:
    hooks = found.manifest.hooks
    places: list[HookPlaceView] = []
    is_done = False
    for install in hooks.install:
        if install.scope == "shared" and not (only_first and is_done):
            path = locate(install, found.manifest.config, found.environ, found.workspace)
            places.append(change(install, path, hooks.names))
            is_done = True
        else:
            places.append(_place(found, install))
    return _view(found, tuple(places))


def _place(found: _Target, install: HookInstall) -> HookPlaceView:
    hooks = found.manifest.hooks
    if install.scope == "seat":
        is_used = choose_seat_install(hooks, found.environ) is install
        hidden = [path for path in install.unless_exists if os.path.lexists(path)]
        hidden += [name for name in install.environment if found.environ.get(name)]
        warnings = (f"It would hide {', '.join(hidden)}, so that it is not used.",) if hidden else ()
        return HookPlaceView(
            scope="seat",
            path=install.path,
            state="each_launch" if is_used else "taken",
            events=hooks.names if is_used else (),
            needs=install.needs if is_used else "",
            warnings=warnings,
        )
    path = locate(install, found.manifest.config, found.environ, found.workspace)
    return show_place(install, path, hooks.names)


def _view(found: _Target, places: tuple[HookPlaceView, ...]) -> HooksView:
    manifest = found.manifest
    off = is_off(found.environ)
    is_told = not off and any(one.state in ("each_launch", "installed", "outdated") for one in places)
    if not any(mode.transport == TERMINAL for mode in manifest.modes.values()):
        note = f"{manifest.name} has no mode that runs its console, which alone listens to hooks."
    elif off:
        note = f"{NO_HOOKS} is set, so that it does without hooks."
    elif any(one.state == "each_launch" for one in places):
        note = "Each launch of its console is told of its hooks by itself; nothing has to be installed."
    elif is_told:
        note = "Its console tells a seat; outside a seat its hooks do nothing."
    elif found.folder is not None:
        note = "The seat's own configuration folder is told at its next launch, where nobody has to be asked."
    else:
        note = f"`inspan hooks install {found.seat or manifest.id}` puts them into the operator's own file."
    return HooksView(
        harness=manifest.id, seat=found.seat, places=places, is_told=is_told, is_off=off, note=note
    )
