"""The built-in plugin `audit-jsonl`: appends every audit event to a file, one JSON line each.

It is off until somebody lists it, as the object `plugin` or as the module `inspan.agent.plugins.jsonl_audit`, with the
configuration `{"path": "/absolute/file.jsonl"}`. Nothing is rotated. A permission's record keeps the rule that decided,
which may hold paths or command arguments: the file is as sensitive as those.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from inspan.agent.plugins.contract import API_VERSION, PluginContext
from inspan.agent.plugins.jsonl_sink import JsonlFile, JsonlSink
from inspan.agent.values import Json

__all__ = ["JsonlAudit", "plugin"]


class JsonlAudit:
    """The plugin; see the module."""

    id = "audit-jsonl"
    version = "1"
    api_version = API_VERSION

    def parse_config(self, raw: Json) -> Path:
        """The file's path.

        Raises:
            ValueError: Not an object with an absolute `path` and nothing else.
        """
        if not isinstance(raw, Mapping) or set(cast(Mapping[str, Any], raw)) != {"path"}:
            raise ValueError("the configuration is an object with the key 'path'")
        path = cast(Mapping[str, Any], raw)["path"]
        if not isinstance(path, str) or not Path(path).is_absolute():
            raise ValueError("'path' is an absolute path")
        return Path(path)

    async def setup(self, ctx: PluginContext[Path]) -> None:
        """Opens the file, so that one that cannot be written fails here, and registers the sink."""
        sink = JsonlSink(await ctx.run_sync(partial(JsonlFile, ctx.config)))
        ctx.on_dispose(sink.close)
        ctx.audit.register_sink(sink)


plugin = JsonlAudit()
"""What an entry's `module` refers to."""
