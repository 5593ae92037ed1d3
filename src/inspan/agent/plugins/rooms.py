"""Where a plugin registers each kind of contribution: `ctx.tools`, `ctx.skills` and so on.

All of them do the same three things: refuse what comes after setup, hand the contribution to the part of the agent that
it is for, and note how it is taken back. What is handed on runs under the plugin's lease, so that a copy of it that
somebody kept is refused once the plugin has stopped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from inspect import isawaitable
from typing import Any, cast

from inspan.agent.audit.events import AuditEvent
from inspan.agent.cancelling import CancelSource
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.hook_events import Veto
from inspan.agent.hooks import Handler
from inspan.agent.models.contract import ModelDefinition, ModelProvider
from inspan.agent.plugins.contract import (
    AuditSink,
    AuthProvider,
    Page,
    PromptContext,
    PromptSource,
    RuntimeSkill,
)
from inspan.agent.plugins.ownership import Ownership
from inspan.agent.plugins.services import PluginServices
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import JsonObject, ToolResult
from inspan.model.errors import PluginError

__all__ = [
    "AuditRoom",
    "AuthRoom",
    "HookRoom",
    "ModelRoom",
    "PageRoom",
    "PromptRoom",
    "SkillRoom",
    "ToolRoom",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Room:
    own: Ownership
    services: PluginServices


class ToolRoom(_Room):
    """Takes tools."""

    __slots__ = ()

    def register(self, tool: Tool) -> None:
        """Adds a tool; see `plugins.contract.Tools`."""
        with self.own.registering("tools"):
            _check_type(self.own, "tool", tool, Tool)
            if not callable(tool.execute):
                raise _refused(self.own, "tool", "its execute cannot be called")
            kept = replace(
                tool,
                input_schema=deepcopy(tool.input_schema),
                execute=partial(_execute, self.own, tool),
            )
            self.services.tools.add(kept, self.own.owner, self.own.lease)
            self.own.keep("tools", partial(self.services.tools.remove, tool.name, self.own.owner))


class SkillRoom(_Room):
    """Takes skills."""

    __slots__ = ()

    def register(self, skill: RuntimeSkill) -> None:
        """Adds a skill; see `plugins.contract.Skills`."""
        with self.own.registering("skills"):
            _check_type(self.own, "skill", skill, RuntimeSkill)
            self.own.keep("skills", self.services.skills.add_runtime(skill, self.own.owner))


class ModelRoom(_Room):
    """Takes model providers."""

    __slots__ = ()

    def register(self, provider: ModelProvider, models: Sequence[ModelDefinition]) -> None:
        """Adds a provider with all of its models or none; see `plugins.contract.Models`."""
        with self.own.registering("models"):
            provider_id = provider.id
            self.services.models.add(provider, tuple(models), self.own.owner, self.own.lease)
            self.own.keep("models", partial(self.services.models.remove, self.own.owner, provider_id))


class AuthRoom(_Room):
    """Takes ways to sign in."""

    __slots__ = ()

    def register(self, provider: AuthProvider) -> None:
        """Adds a way to sign in; see `plugins.contract.Auth`."""
        with self.own.registering("auth"):
            provider_id = provider.id
            self.services.auth.add(provider, self.own.owner, self.own.lease)
            self.own.keep("auth", partial(self.services.auth.remove, provider_id, self.own.owner))

    async def credential(self, provider_id: str) -> JsonObject | None:
        """The stored credential of the plugin's own provider, refreshed if needed; None when nobody signed in."""
        return await self.services.auth.credential(provider_id, self.own.owner)


class HookRoom(_Room):
    """Takes handlers."""

    __slots__ = ()

    def on(self, event: str, handler: Handler) -> None:
        """Subscribes; see `plugins.contract.Hooks`."""
        with self.own.registering("hooks"):
            kept = partial(_hear, self.own, event, handler) if callable(cast(object, handler)) else handler
            leave = self.services.hooks.on(event, kept, self.own.owner, is_required=self.own.is_required)
            self.own.keep("hooks", leave)


class AuditRoom(_Room):
    """Takes audit sinks."""

    __slots__ = ()

    def register_sink(self, sink: AuditSink) -> None:
        """Adds an observer; see `plugins.contract.Audit`."""
        with self.own.registering("audit"):
            if not callable(getattr(sink, "write", None)):
                raise _refused(self.own, "audit sink", "it has no method write")
            self.own.keep("audit", self.services.audit.add(_NotingSink(self.own, sink), self.own.owner))


class PromptRoom(_Room):
    """Takes sections of the system prompt."""

    __slots__ = ()

    def register(self, source: PromptSource) -> None:
        """Adds a section; see `plugins.contract.Prompts`."""
        with self.own.registering("prompts"):
            _check_type(self.own, "prompt section", source, PromptSource)
            kept = replace(source, render=partial(_render, self.own, source))
            self.own.keep("prompts", self.services.prompts.add(kept, self.own.owner))


class PageRoom(_Room):
    """Takes pages."""

    __slots__ = ()

    def register(self, page: Page) -> None:
        """Adds a page; see `plugins.contract.Pages`."""
        with self.own.registering("pages"):
            self.services.pages.add(page, self.own.owner, self.own.lease)
            self.own.keep("pages", partial(self.services.pages.remove, page.id, self.own.owner))


async def _execute(own: Ownership, tool: Tool, arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
    with own.lease.enter():
        joined = CancelSource(ctx.cancel, own.lease.signal)
        try:
            return await tool.execute(arguments, replace(ctx, cancel=joined.signal))
        finally:
            joined.close()


async def _render(own: Ownership, source: PromptSource, ctx: PromptContext) -> str:
    with own.lease.enter():
        joined = CancelSource(ctx.cancel, own.lease.signal)
        try:
            return await source.render(replace(ctx, cancel=joined.signal))
        except BaseException as error:
            if is_fault(error):
                own.warn(f"Its prompt section '{source.name}' failed with {fault_name(error)}.")
            raise
        finally:
            joined.close()


async def _hear(own: Ownership, event: str, handler: Handler, value: object) -> Veto | None:
    with own.lease.enter():
        try:
            answer = handler(value)
            return await answer if isawaitable(answer) else answer
        except BaseException as error:
            if is_fault(error):
                own.warn(f"Its hook for {event} failed with {fault_name(error)}.")
            raise


class _NotingSink:
    def __init__(self, own: Ownership, sink: AuditSink) -> None:
        self._own = own
        self._sink = sink

    async def write(self, event: AuditEvent) -> None:
        try:
            await cast(Callable[[Any], Awaitable[None]], self._sink.write)(event)
        except BaseException as error:
            if is_fault(error):
                self._own.warn(f"Its audit sink failed with {fault_name(error)}.")
            raise


def _check_type(own: Ownership, kind: str, value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise _refused(own, kind, f"it is no {wanted.__name__}")


def _refused(own: Ownership, kind: str, fact: str) -> PluginError:
    return PluginError(
        f"The {kind} of '{own.owner}' is refused: {fact}.",
        code="plugin_contribution_invalid",
        detail={"owner": own.owner, "kind": kind},
    )
