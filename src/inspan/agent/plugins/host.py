"""Takes the plugins of one agent from their entries to their end, in order.

First every enabled entry is read and checked; then the setups run in configured order; when all are done, the starts.
A plugin that fails is taken back by itself if it is optional; a required one ends the making of the agent, and all are
taken back in reverse. The end of an agent runs in reverse too, and goes on after whatever fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from inspan.agent.plugins.contract import PluginStatus
from inspan.agent.plugins.entries import PluginEntry
from inspan.agent.plugins.life import PluginLife, PluginLimits
from inspan.agent.plugins.services import PluginServices
from inspan.model.errors import PluginError

__all__ = ["PluginHost"]


class PluginHost:
    """The plugins of one agent. `open` is called once, and `close` at the end, whatever happened.

    Args:
        services: What the agent gives its plugins; nobody else's.
        home: Where a module may stand that is not installed.
        limits: How long a plugin may take.
    """

    def __init__(self, services: PluginServices, *, home: Path, limits: PluginLimits | None = None) -> None:
        self._services = services
        self._home = home
        self._limits = limits or PluginLimits()
        self._lives: tuple[PluginLife, ...] = ()
        self._ignored: tuple[PluginStatus, ...] = ()
        self._closing: asyncio.Task[None] | None = None

    async def open(self, entries: Sequence[PluginEntry], *, ignored_lists: Sequence[str] = ()) -> None:
        """Brings all plugins up.

        Args:
            entries: As `resolve_entries` gives them.
            ignored_lists: Files of the project that name runtime plugins; they are shown in the status.

        Raises:
            PluginError: A required plugin failed. Everything was taken back. `detail` says which, in which phase and
                with what class of exception; what the plugin said itself is nowhere.
        """
        self._ignored = tuple(_ignored_status(one) for one in ignored_lists)
        self._lives = tuple(
            PluginLife(one, self._services, home=self._home, limits=self._limits) for one in entries
        )
        try:
            for life in self._going():
                life.resolve()
                _check(life)
            for life in self._going():
                await life.set_up()
                _check(life)
            for life in self._going():
                await life.start()
                _check(life)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Takes all plugins down in reverse, one after another. Calling it twice is safe.

        If the caller is cancelled meanwhile, the work goes on.
        """
        if self._closing is None:
            self._services.hooks.close()
            self._closing = asyncio.create_task(self._close(), name="close plugins")
        await asyncio.shield(self._closing)

    def status(self) -> tuple[PluginStatus, ...]:
        """Every entry, in configured order; then what was ignored."""
        return tuple(life.status() for life in self._lives) + self._ignored

    def _going(self) -> Iterator[PluginLife]:
        """Those that are well when their turn comes."""
        return (life for life in self._lives if life.is_going)

    async def _close(self) -> None:
        for life in reversed(self._lives):
            await life.stop()


def _check(life: PluginLife) -> None:
    if life.is_going or not life.entry.is_required:
        return
    message = f" {life.message}" if life.message else ""
    raise PluginError(
        f"The runtime plugin '{life.entry.id}' failed in its phase '{life.phase}' with {life.error}, and the agent"
        f" cannot be made without it.{message}",
        hint="Mend it, disable it, or make it optional (required: false).",
        detail={
            "plugin": life.entry.id,
            "source": life.entry.source,
            "phase": life.phase,
            "error": life.error,
            "warnings": list(life.status().warnings),
        },
    )


def _ignored_status(file: str) -> PluginStatus:
    return PluginStatus(
        id=file,
        version="",
        source="project",
        state="ignored",
        is_required=False,
        message="A project cannot bring, change or disable runtime plugins.",
        warnings=(f"{file} names runtime plugins. It was ignored: only the person's own list counts.",),
    )
