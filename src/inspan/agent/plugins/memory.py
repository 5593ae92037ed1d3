"""The built-in plugin `memory`: notes that outlive a session, with tools, a section of the prompt, a page, and a sync.

It is on in every agent, ephemeral ones included, until somebody disables it; then all four are gone. The sync is off
until it is configured, as `{"sync": {"folder": "/absolute/folder"}}`; without it the notes stay on this machine alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from inspan.agent.memory.notes import Note
from inspan.agent.memory.store import MemoryStore
from inspan.agent.plugins.contract import API_VERSION, Page, PageContext, PluginContext
from inspan.agent.plugins.memory_sync import MemorySync
from inspan.agent.tools.memory import memory_source, memory_tools
from inspan.agent.values import Json, JsonObject

__all__ = ["MemoryConfig", "MemoryPlugin"]

_SHORTEST_S = 1.0
_USUAL_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryConfig:
    """What can be set.

    Attributes:
        sync_folder: A folder, such as one that a service copies between machines, that the notes are kept the same
            with; None keeps them here alone.
        every_s: How long to wait between two looks, seconds.
    """

    sync_folder: Path | None = None
    every_s: float = _USUAL_S


class MemoryPlugin:
    """The plugin; see the module.

    Args:
        folder: Where the notes are, absolute.
    """

    id = "memory"
    version = "1"
    api_version = API_VERSION

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def parse_config(self, raw: Json, /) -> MemoryConfig:
        """Nothing, or an object with `sync`: null, or an object with an absolute `folder` and perhaps `every_s`.

        Raises:
            ValueError: It is something else.
        """
        if raw is None:
            return MemoryConfig()
        if not isinstance(raw, Mapping) or set(raw) - {"sync"}:
            raise ValueError("not an object of the known keys")
        sync = raw.get("sync")
        if sync is None:
            return MemoryConfig()
        if not isinstance(sync, Mapping) or set(cast(Mapping[str, Any], sync)) - {"folder", "every_s"}:
            raise ValueError("sync is an object of the known keys")
        sync = cast(Mapping[str, Any], sync)
        folder, every_s = sync.get("folder"), sync.get("every_s", _USUAL_S)
        if not isinstance(folder, str) or not Path(folder).is_absolute():
            raise ValueError("folder is an absolute path")
        if isinstance(every_s, bool) or not isinstance(every_s, (int, float)) or every_s < _SHORTEST_S:
            raise ValueError("every_s is a number of seconds, at least one")
        return MemoryConfig(sync_folder=Path(folder), every_s=float(every_s))

    def setup(self, ctx: PluginContext[MemoryConfig], /) -> None:
        """Registers the tools, the section and the page, and has the sync begun."""
        store = MemoryStore(self._folder)
        for tool in memory_tools(store):
            ctx.tools.register(tool)
        ctx.prompts.register(memory_source(store))
        ctx.pages.register(_page(store, ctx))
        if ctx.config.sync_folder is not None:
            sync = MemorySync(store.folder, ctx.config.sync_folder)
            ctx.on_start(partial(_begin_sync, sync, ctx))


def _begin_sync(sync: MemorySync, ctx: PluginContext[MemoryConfig]) -> None:
    task = asyncio.create_task(_keep_in_sync(sync, ctx))

    async def end() -> None:
        await task

    ctx.on_dispose(end)


async def _keep_in_sync(sync: MemorySync, ctx: PluginContext[MemoryConfig]) -> None:
    """Looks now and then until the plugin is to stop, and once more at the end."""
    while True:
        is_last = ctx.signal.is_set
        try:
            await ctx.run_sync(sync.run)
        except OSError as error:
            ctx.logger.warning("The notes could not be synced (%s); it is tried again.", type(error).__name__)
        if is_last:
            return
        waiting = asyncio.ensure_future(ctx.signal.wait())
        await asyncio.wait({waiting}, timeout=ctx.config.every_s)
        waiting.cancel()


def _page(store: MemoryStore, ctx: PluginContext[MemoryConfig]) -> Page:
    async def read(page: PageContext) -> Json:
        def look() -> list[JsonObject]:
            here = page.workspace or ctx.workspace
            return [_shown(note) for scope in (here, None) for note in store.list(scope)]

        return {"notes": await ctx.run_sync(look)}

    async def delete(arguments: JsonObject, page: PageContext) -> Json:
        scope = None if arguments.get("scope") == "global" else page.workspace or ctx.workspace
        await ctx.run_sync(store.delete, str(arguments.get("name", "")), scope)
        return {"deleted": arguments.get("name")}

    return Page(
        id="memory",
        title="Memory",
        icon="memory",
        blocks=(
            {"type": "text", "text": "What the agent keeps for later sessions."},
            {
                "type": "table",
                "rows": "notes",
                "columns": ["name", "scope", "summary", "changed_at"],
            },
            {"type": "form", "action": "delete", "fields": ["name", "scope"]},
        ),
        read=read,
        actions={"delete": delete},
    )


def _shown(note: Note) -> JsonObject:
    return {
        "name": note.name,
        "scope": "global" if note.is_global else "workspace",
        "summary": note.summary,
        "changed_at": note.changed_at.isoformat(),
    }
