"""What an agent has beside tools and models: skills, sections of the prompt, pages, sign-ins, and the plugins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inspan.agent.audit.sinks import AuditBus
from inspan.agent.credentials import AuthRegistry, CredentialStore
from inspan.agent.hooks import HookBus
from inspan.agent.leases import OwnerLease
from inspan.agent.models.catalogue import ModelCatalogue
from inspan.agent.pages import PageRegistry
from inspan.agent.plugins.contract import PluginStatus, PromptContext
from inspan.agent.plugins.host import PluginHost
from inspan.agent.plugins.life import PluginLimits
from inspan.agent.plugins.opening import PluginChoice, plan_plugins
from inspan.agent.plugins.packages import PackageStatus, find_packages
from inspan.agent.plugins.services import PluginServices
from inspan.agent.prompting import (
    BASE_PROMPT,
    PromptAssembler,
    describe_environment,
    guidance_source,
    render_prompt,
)
from inspan.agent.registering import Registering
from inspan.agent.registries import ToolRegistry
from inspan.agent.skills.catalogue import SkillCatalogue, skills_source

__all__ = ["Extensions", "ExtensionsGround"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtensionsGround:
    """What extensions are made for: one agent.

    Attributes:
        workspace: Its default workspace, absolute and resolved.
        home: The home's folder, absolute.
        embedder: The lease of what is registered by hand.
        skill_folders: Folders of configured skills, absolute.
    """

    workspace: Path
    home: Path
    tools: ToolRegistry
    models: ModelCatalogue
    hooks: HookBus
    audit: AuditBus
    embedder: OwnerLease
    skill_folders: tuple[Path, ...] = ()


class Extensions:
    """Everything that extends one agent. `open` once; `close` at the end, whatever happened.

    Args:
        ground: The agent.
        choice: What was said about its plugins.
        limits: How long a plugin may take.

    Raises:
        UsageError: `plugin_config_invalid`, `plugin_config_in_project`.
    """

    def __init__(self, ground: ExtensionsGround, choice: PluginChoice, limits: PluginLimits) -> None:
        self._ground = ground
        self._limits = limits
        self._plan = plan_plugins(choice, home=ground.home, workspace=ground.workspace)
        own = ground.home / "agent"
        self._packages = find_packages(ground.home)
        self.skills = SkillCatalogue(
            workspace=ground.workspace,
            user_folder=own / "skills",
            configured=[
                *ground.skill_folders,
                *(one.skills for one in self._packages if one.skills is not None),
            ],
        )
        self.prompts = PromptAssembler()
        self.prompts.add(*guidance_source())
        self.prompts.add(skills_source(self.skills), "builtin")
        for package in self._packages:
            for source in package.prompts:
                self.prompts.add(source, f"package:{package.status.name}")
        self.pages = PageRegistry()
        self.auth = AuthRegistry(CredentialStore(own / "credentials.json"))
        services = PluginServices(
            tools=ground.tools,
            skills=self.skills,
            models=ground.models,
            auth=self.auth,
            hooks=ground.hooks,
            audit=ground.audit,
            prompts=self.prompts,
            pages=self.pages,
            workspace=ground.workspace,
            data_root=own / "plugins",
        )
        self._host = PluginHost(services, home=ground.home, limits=limits)

    @property
    def registering(self) -> Registering:
        """Adds by hand."""
        ground = self._ground
        return Registering(
            lease=ground.embedder,
            tools=ground.tools,
            models=ground.models,
            skills=self.skills,
            hooks=ground.hooks,
            audit=ground.audit,
            prompts=self.prompts,
            pages=self.pages,
        )

    def status(self) -> tuple[PluginStatus, ...]:
        """Every plugin that is listed."""
        return self._host.status()

    def packages(self) -> tuple[PackageStatus, ...]:
        """Every declarative package of the home."""
        return tuple(one.status for one in self._packages)

    async def open(self) -> None:
        """Brings the plugins up.

        Raises:
            PluginError: A required plugin failed; all were taken back.
        """
        await self._host.open(self._plan.entries, ignored_lists=self._plan.ignored_lists)

    async def close(self) -> None:
        """Takes the plugins down, and waits for what audit sinks still have to write. Calling it twice is safe."""
        await self._host.close()
        await self._ground.audit.drain(self._limits.stop_s)

    async def instruct(self, context: PromptContext, base: str) -> str:
        """The system prompt of a turn; an empty `base` is the agent's own."""
        environment = describe_environment(context.workspace)
        return render_prompt(await self.prompts.assemble(context, base or BASE_PROMPT, environment))
