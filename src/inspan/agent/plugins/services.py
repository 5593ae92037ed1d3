"""The parts of an agent that plugins contribute to, as their host knows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inspan.agent.audit.sinks import AuditBus
from inspan.agent.credentials import AuthRegistry
from inspan.agent.hooks import HookBus
from inspan.agent.models.catalogue import ModelCatalogue
from inspan.agent.pages import PageRegistry
from inspan.agent.prompting import PromptAssembler
from inspan.agent.registries import ToolRegistry
from inspan.agent.skills.catalogue import SkillCatalogue

__all__ = ["PluginServices"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginServices:
    """What one agent gives its plugins. Two agents share none of it.

    Attributes:
        workspace: The agent's default workspace, absolute and resolved.
        data_root: Where each plugin has a folder of its own, absolute; need not be there yet.
    """

    tools: ToolRegistry
    skills: SkillCatalogue
    models: ModelCatalogue
    auth: AuthRegistry
    hooks: HookBus
    audit: AuditBus
    prompts: PromptAssembler
    pages: PageRegistry
    workspace: Path
    data_root: Path
