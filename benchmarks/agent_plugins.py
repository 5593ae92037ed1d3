"""How much longer does it take to make and close an agent with 50 plugins of 5 contributions each than one with none?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspan.agent import Agent
from inspan.agent.plugins.contract import (
    API_VERSION,
    Page,
    PageContext,
    PluginContext,
    PromptContext,
    PromptSource,
    RuntimeSkill,
)
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import Json, JsonObject, ToolResult

from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_PLUGINS = 50
_CONTRIBUTIONS = 5


class _Plugin:
    """A plugin with a tool, a skill, a hook, a section and a page."""

    version = "1"
    api_version = API_VERSION

    def __init__(self, number: int, run: int) -> None:
        self.id = f"plugin-{number}"
        self.first = f"count_{run}"  # so that no schema was seen before

    def parse_config(self, raw: Json, /) -> Json:
        return raw

    async def setup(self, ctx: PluginContext[Json], /) -> None:
        async def execute(_: JsonObject, __: ToolCallContext) -> ToolResult:
            return ToolResult()

        async def render(_: PromptContext) -> str:
            return ""

        async def read(_: PageContext) -> Json:
            return None

        name = self.id
        schema: Mapping[str, Any] = {
            "type": "object",
            "properties": {name: {"type": "string"}, self.first: {"type": "integer", "minimum": 1}},
            "required": [name],
            "additionalProperties": False,
        }
        ctx.tools.register(Tool(name=name, description="A tool.", input_schema=schema, execute=execute))
        ctx.skills.register(RuntimeSkill(name=name, description="A skill.", body="Text."))
        ctx.hooks.on("turn_start", lambda _: None)
        ctx.prompts.register(PromptSource(name=name, render=render))
        ctx.pages.register(Page(id=name, title="A page", read=read))


def run(scale: Scale) -> list[Figure]:
    """Measures both in turns; the first of each is thrown away, since it reads code."""
    count = scale.count(_PLUGINS, small=3)
    more: list[float] = []
    none: list[float] = []
    with tempfile.TemporaryDirectory(prefix="isp-") as name:
        for number in range(scale.rounds + 1):
            without = asyncio.run(_made_and_closed_ms(Path(name), 0, number))
            taken = asyncio.run(_made_and_closed_ms(Path(name), count, number))
            if number:
                more.append(max(0.0, taken - without))
                none.append(without)
    return [
        Figure(
            what=f"An agent with {_PLUGINS} plugins of {_CONTRIBUTIONS} contributions, made and closed, over one with none",
            unit="ms",
            ours=more,
            target=Target(of="ours", bound="at most", limit=250),
            note="A tool with its schema checked, a skill, a hook, a section of the prompt and a page each.",
        ),
        Figure(what="An agent without plugins of its own, made and closed", unit="ms", ours=none),
    ]


async def _made_and_closed_ms(folder: Path, count: int, run: int) -> float:
    plugins = [_Plugin(number, run) for number in range(count)]
    began = time.perf_counter()
    async with Agent.create(
        workspace=folder,
        home=folder / "home",
        model="scripted:demo",
        environment={},
        runtime_plugins=plugins,
    ) as agent:
        status = agent.runtime_plugin_status()
    taken = (time.perf_counter() - began) * 1000
    brought = sum(sum(one.contributions.values()) for one in status if one.source == "inline")
    assert brought == count * _CONTRIBUTIONS
    return taken
