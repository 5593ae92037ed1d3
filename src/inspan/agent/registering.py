"""What an embedder adds to its own agent by hand, beside plugins. All of it lives as long as the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from inspan.agent.audit.sinks import AuditBus
from inspan.agent.hooks import Handler, HookBus
from inspan.agent.leases import OwnerLease
from inspan.agent.models.catalogue import ModelCatalogue
from inspan.agent.models.contract import ModelDefinition, ModelProvider
from inspan.agent.pages import PageRegistry
from inspan.agent.plugins.contract import AuditSink, Page, PromptSource, RuntimeSkill
from inspan.agent.prompting import PromptAssembler
from inspan.agent.registries import ToolRegistry
from inspan.agent.skills.catalogue import SkillCatalogue
from inspan.agent.tools.contract import Tool

__all__ = ["Registering"]

_OWNER = "embedder"


class Registering:
    """Adds to one agent: `agent.register.tool(mine).hook("stop", check)`. Each method gives this back.

    A name that is taken, by a built-in tool or by a plugin, is refused as everywhere (`PluginError plugin_conflict`).
    A session sees a new tool, section or skill from its next turn on.
    """

    def __init__(
        self,
        *,
        lease: OwnerLease,
        tools: ToolRegistry,
        models: ModelCatalogue,
        skills: SkillCatalogue,
        hooks: HookBus,
        audit: AuditBus,
        prompts: PromptAssembler,
        pages: PageRegistry,
    ) -> None:
        self._lease = lease
        self._tools = tools
        self._models = models
        self._skills = skills
        self._hooks = hooks
        self._audit = audit
        self._prompts = prompts
        self._pages = pages

    def tool(self, tool: Tool) -> Self:
        """Adds a tool."""
        self._tools.add(tool, _OWNER, self._lease)
        return self

    def model(self, provider: ModelProvider, models: Sequence[ModelDefinition]) -> Self:
        """Adds a provider with all of its models, or none."""
        self._models.add(provider, models, _OWNER, self._lease)
        return self

    def skill(self, skill: RuntimeSkill) -> Self:
        """Adds a skill of origin `runtime`."""
        self._skills.add_runtime(skill, _OWNER)
        return self

    def hook(self, event: str, handler: Handler, *, is_required: bool = False) -> Self:
        """Subscribes to an event. `is_required`: a fault of a handler that may veto is a veto."""
        self._hooks.on(event, handler, _OWNER, is_required=is_required)
        return self

    def audit_sink(self, sink: AuditSink) -> Self:
        """Adds an observer of permissions and calls."""
        self._audit.add(sink, _OWNER)
        return self

    def prompt(self, source: PromptSource) -> Self:
        """Adds a section of the system prompt."""
        self._prompts.add(source, _OWNER)
        return self

    def page(self, page: Page) -> Self:
        """Adds a page."""
        self._pages.add(page, _OWNER, self._lease)
        return self
