"""A plugin in our own process: built-in harnesses, and data-only ones."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from inspan.plugin.context import PluginContext
from inspan.plugin.contract import METHODS, HarnessPlugin, MethodSpec
from inspan.plugin.loading import load_factory
from inspan.plugin.wire import error_of_plugin

from .asking import AskedPlugin, check_result, timed_out

__all__ = ["LocalPlugin"]


class LocalPlugin(AskedPlugin):
    """Asks a plugin by calling it. It is loaded and initialised at the first question."""

    def __init__(self, harness: str, context: PluginContext) -> None:
        self._harness = harness
        self._context = context
        self._plugin: HarnessPlugin | None = None
        self._loading = asyncio.Lock()

    async def ask(
        self, method: str, params: msgspec.Struct, *, deadline_s: float | None = None
    ) -> msgspec.Struct:
        """The answer to one question; errors as in `AskedPlugin`."""
        spec: MethodSpec = METHODS[method]
        limit_s = spec.deadline_s if deadline_s is None else deadline_s
        scope = asyncio.timeout(limit_s)
        try:
            async with scope:
                plugin = await self._load()
                result: object = await getattr(plugin, method)(params)
        except TimeoutError as error:
            if not scope.expired():
                raise error_of_plugin(error, subject=f"The plugin of {self._harness}") from error
            raise timed_out(self._harness, method, limit_s) from error
        except Exception as error:
            raise error_of_plugin(error, subject=f"The plugin of {self._harness}") from error
        return check_result(self._harness, method, result)

    async def close(self) -> None:
        """Forgets the plugin."""
        self._plugin = None

    async def _load(self) -> HarnessPlugin:
        async with self._loading:
            if self._plugin is None:
                make = load_factory(Path(self._context.folder), self._context.manifest.plugin)
                plugin = make(self._context)
                await plugin.initialize()
                self._plugin = plugin
            return self._plugin
