"""The parts of an agent that plugins contribute to, as their host knows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from inspan.agent.audit.sinks import AuditBus
from inspan.agent.credentials import AuthRegistry
from inspan.agent.hooks import HookBus
from inspan.agent.models.catalogue import ModelCatalogue
from inspan.agent.plugins.contract import PromptSource, RuntimeSkill
from inspan.agent.registries import PageRegistry, ToolRegistry

__all__ = ["PluginServices", "PromptShelf", "SkillShelf"]


class SkillShelf(Protocol):
    """Keeps skills."""

    def add_runtime(self, skill: RuntimeSkill, owner: str, /) -> Callable[[], None]:
        """Adds a skill of origin `runtime`. Returns what takes it away again.

        Raises:
            PluginError: `plugin_conflict` for a name that any skill has, `plugin_contribution_invalid`.
        """
        ...


class PromptShelf(Protocol):
    """Keeps sections of the system prompt; see `prompting.PromptAssembler`."""

    def add(self, source: PromptSource, owner: str, /) -> Callable[[], None]:
        """Adds a section. Returns what takes it away again."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginServices:
    """What one agent gives its plugins. Two agents share none of it.

    Attributes:
        workspace: The agent's default workspace, absolute and resolved.
        data_root: Where each plugin has a folder of its own, absolute; need not be there yet.
    """

    tools: ToolRegistry
    skills: SkillShelf
    models: ModelCatalogue
    auth: AuthRegistry
    hooks: HookBus
    audit: AuditBus
    prompts: PromptShelf
    pages: PageRegistry
    workspace: Path
    data_root: Path
