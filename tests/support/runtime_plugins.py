"""An agent's parts without the agent, for tests of runtime plugins; and plugins that are quickly made."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inspan.agent.audit.events import AuditEvent
from inspan.agent.audit.sinks import AuditBus
from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.agent.credentials import AuthRegistry, CredentialStore
from inspan.agent.hooks import HookBus
from inspan.agent.models.catalogue import ModelCatalogue
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest
from inspan.agent.plugins.contract import (
    API_VERSION,
    Page,
    PluginContext,
    PluginStatus,
    PromptContext,
    PromptSource,
    RuntimeSkill,
)
from inspan.agent.plugins.entries import PluginEntry, resolve_entries
from inspan.agent.plugins.host import PluginHost
from inspan.agent.plugins.life import PluginLimits
from inspan.agent.plugins.services import PluginServices
from inspan.agent.prompting import PromptAssembler
from inspan.agent.registries import PageRegistry, ToolRegistry
from inspan.agent.skills.catalogue import SkillCatalogue
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import Json, JsonObject, ToolResult

__all__ = [
    "KINDS",
    "QUICK",
    "Ground",
    "MadePlugin",
    "call_context",
    "called",
    "contribute_everything",
    "make_services",
    "make_tool",
    "open_host",
    "sections_of",
    "status_of",
]

QUICK = PluginLimits(setup_s=0.2, start_s=0.2, stop_s=0.2)
"""Limits for plugins that are meant to overrun them."""

Context = PluginContext[Any]
Setup = Callable[[Context], Awaitable[None] | None]


@dataclass(kw_only=True)
class MadePlugin:
    """A plugin of the parts that a test cares about."""

    id: str
    setup: Setup = lambda _: None
    parse_config: Callable[[Json], Any] = lambda raw: raw
    version: str = "1.2.3"
    api_version: int = API_VERSION


def make_services(folder: Path) -> PluginServices:
    """All parts of an agent, empty, with their files below `folder`."""
    return PluginServices(
        tools=ToolRegistry(),
        skills=SkillCatalogue(workspace=folder, has_builtin=False),
        models=ModelCatalogue(),
        auth=AuthRegistry(CredentialStore(folder / "credentials.json")),
        hooks=HookBus(timeout_s=0.2),
        audit=AuditBus(),
        prompts=PromptAssembler(timeout_s=0.2),
        pages=PageRegistry(),
        workspace=folder,
        data_root=folder / "plugins",
    )


@dataclass(frozen=True, kw_only=True)
class Ground:
    """An opened host and what its plugins contribute to."""

    host: PluginHost
    services: PluginServices

    @property
    def status(self) -> dict[str, PluginStatus]:
        return {one.id: one for one in self.host.status()}


@asynccontextmanager
async def open_host(
    folder: Path,
    *plugins: Any,
    entries: Sequence[PluginEntry] = (),
    limits: PluginLimits | None = None,
    services: PluginServices | None = None,
) -> AsyncGenerator[Ground]:
    """Opens a host on inline plugins (plugins, or `InlinePlugin`s) and entries, and closes it at the end."""
    services = services or make_services(folder)
    host = PluginHost(services, home=folder, limits=limits)
    await host.open((*resolve_entries(inline=plugins), *entries))
    try:
        yield Ground(host=host, services=services)
    finally:
        await host.close()


async def sections_of(services: PluginServices, cancel: CancelSignal | None = None) -> dict[str, str]:
    """What the plugins' sections of a prompt say now, by the section's name."""
    context = PromptContext(
        session_id="s1", workspace=services.workspace, turn=1, cancel=cancel or CancelSource().signal
    )
    return {one.name: one.text for one in await services.prompts.assemble(context, "", "")}


def status_of(host: PluginHost, plugin_id: str) -> PluginStatus:
    """The status of one plugin."""
    return next(one for one in host.status() if one.id == plugin_id)


async def _echo(arguments: JsonObject, _: ToolCallContext) -> ToolResult:
    return ToolResult.of_text(str(arguments.get("text", "")))


def make_tool(name: str = "echo", **changes: Any) -> Tool:
    """A tool that gives back its argument `text`."""
    schema: Mapping[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
    return replace(
        Tool(name=name, description="Gives it back.", input_schema=schema, execute=_echo), **changes
    )


class _Everything:
    """A provider of models, a way to sign in and a sink, all of which do nothing."""

    def __init__(self, name: str) -> None:
        self.id = name

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncGenerator[ModelEvent]:
        return
        yield

    async def login(self, tell: Callable[[str], Awaitable[None]]) -> JsonObject:
        return {}

    async def refresh(self, credential: JsonObject) -> JsonObject | None:
        return credential

    async def write(self, event: AuditEvent) -> None:
        pass


async def _empty(_: object) -> str:
    return ""


def contribute_everything(ctx: Context, name: str = "echo") -> None:
    """Registers one of every kind, each called `name`."""
    everything = _Everything(name)
    ctx.tools.register(make_tool(name))
    ctx.skills.register(RuntimeSkill(name=name, description="What it is for.", body="What to do."))
    ctx.models.register(everything, [ModelDefinition(id="m")])
    ctx.auth.register(everything)
    ctx.hooks.on("turn_start", lambda _: None)
    ctx.audit.register_sink(everything)
    ctx.prompts.register(PromptSource(name=name, render=_empty))
    ctx.pages.register(Page(id=name, title="Page", read=_empty))


KINDS = frozenset({"tools", "skills", "models", "auth", "hooks", "audit", "prompts", "pages"})
"""Every kind of contribution, as a status counts them."""


def call_context(folder: Path, cancel: CancelSignal | None = None) -> ToolCallContext:
    """What a call is given."""
    return ToolCallContext(
        call_id="c1",
        session_id="s1",
        workspace=folder,
        cancel=cancel or CancelSource().signal,
        logger=logging.getLogger("tests"),
    )


async def called(ground: Ground, tool: str, arguments: JsonObject | None = None) -> ToolResult:
    """Calls a registered tool directly, as nobody but a test does."""
    owned = ground.services.tools.get(tool)
    assert owned is not None
    return await owned.tool.execute(arguments or {}, call_context(ground.services.workspace))
