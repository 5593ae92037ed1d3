"""Inspan's own agent: a model, tools and plugins, and the sessions that are held with them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from inspan.agent.audit.sinks import AuditBus
from inspan.agent.creation import AgentCreation
from inspan.agent.credentials import AuthRegistry
from inspan.agent.engine.loop import EngineLimits, TurnLoop
from inspan.agent.extensions import Extensions, ExtensionsGround
from inspan.agent.hooks import HookBus
from inspan.agent.leases import OwnerLease
from inspan.agent.models.catalogue import FoundModel, ModelCatalogue
from inspan.agent.models.contract import ModelDefinition, ModelProvider
from inspan.agent.models.scripted import SCRIPTED_MODELS, ScriptedModel
from inspan.agent.models.well_known import WELL_KNOWN, WellKnownModels, default_model, require_extra
from inspan.agent.open_sessions import OpenSessions
from inspan.agent.own_tools import bring_tools
from inspan.agent.pages import PageRegistry
from inspan.agent.permissions.values import PermissionMode, Responder, Rule
from inspan.agent.plugins.contract import PluginStatus, PromptContext
from inspan.agent.plugins.entries import InlinePlugins
from inspan.agent.plugins.life import PluginLimits
from inspan.agent.plugins.opening import PluginChoice
from inspan.agent.plugins.packages import PackageStatus
from inspan.agent.registering import Registering
from inspan.agent.registries import ToolRegistry
from inspan.agent.session import EFFORTS, Session, SessionGround, SessionLimits
from inspan.agent.sessions.records import SessionSettings
from inspan.agent.sessions.store import SessionInfo, SessionStore
from inspan.agent.skills.catalogue import SkillCatalogue
from inspan.agent.tools.builtin import BuiltinTools
from inspan.agent.tools.contract import Tool
from inspan.agent.tools.settings import ToolSettings
from inspan.home import locate_home
from inspan.model.errors import HarnessError, UsageError

__all__ = ["Agent", "AgentCreation", "AgentLimits"]

_BUILTIN_TOOLS = ToolSettings()


class AgentLimits(Struct, frozen=True, kw_only=True):
    """Everything that an agent bounds.

    Attributes:
        engine: Of the loop and its requests.
        session: Of each session.
        plugins: Of each plugin.
    """

    engine: EngineLimits = EngineLimits()
    session: SessionLimits = SessionLimits()
    plugins: PluginLimits = PluginLimits()


class Agent:
    """One agent in this process. Two of them share nothing but the files of their home.

    Made by `Agent.create`; closed by `close()` or by leaving the `async with` block.
    """

    def __init__(self) -> None:
        raise UsageError("An agent is made by `Agent.create(…)`.")

    @classmethod
    def create(
        cls,
        *,
        workspace: str | os.PathLike[str],
        home: str | os.PathLike[str] | None = None,
        model: str | None = None,
        models: Sequence[tuple[ModelProvider, Sequence[ModelDefinition]]] = (),
        tools: Sequence[Tool] = (),
        builtin_tools: ToolSettings | None = _BUILTIN_TOOLS,
        permission_mode: PermissionMode = PermissionMode.DEFAULT,
        rules: Sequence[Rule] = (),
        responder: Responder | None = None,
        effort: str = "",
        instructions: str = "",
        skill_folders: Sequence[str | os.PathLike[str]] = (),
        is_ephemeral: bool = False,
        audit: bool = True,
        runtime_plugins: InlinePlugins = (),
        plugin_config: Sequence[Mapping[str, Any]] | None = None,
        cloud_connectors: bool = True,
        is_strict: bool = False,
        limits: AgentLimits | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> AgentCreation:
        """Makes an agent: `async with Agent.create(…) as agent`, or `agent = await Agent.create(…)` and `close()` later.

        Args:
            workspace: The folder that its sessions work in, unless they name another.
            home: Where sessions are kept; None for `$INSPAN_HOME` or the platform's place.
            model: `provider:model` of new sessions. None: that of the environment, looked for when a session begins; see
                `models.well_known.default_model`.
            models: Further providers with their models.
            tools: Further tools.
            builtin_tools: What is set about the built-in tools; None leaves them all out.
            permission_mode: Of new sessions.
            rules: Permission rules of all sessions.
            responder: Whom to ask for permission; None denies what would be asked.
            effort: Of new sessions: `low`, `medium`, `high`, empty to leave it to the provider.
            instructions: The base of the system prompt; empty for the agent's own.
            skill_folders: Further folders of skills, of origin `configured`, before those of packages.
            is_ephemeral: Whether sessions are kept in memory alone, and end with the agent.
            audit: Whether audit sinks are told anything and sessions keep their permission log.
            runtime_plugins: Plugins as objects: `InlinePlugin`s, mappings with `plugin` and `required`, or plugins alone.
            plugin_config: A list of plugin entries that counts instead of the home's `plugins.json`.
            cloud_connectors: Whether the plugin `connector-cloud` is there; never in an ephemeral agent.
            is_strict: Whether a project that names runtime plugins is an error rather than a warning in the status.
            limits: What is bounded.
            environment: Where keys and addresses of models are looked for; None for this process's own.

        Raises (on entering or awaiting):
            UsageError: `workspace_missing`, `workspace_not_a_folder`, `invalid_argument`, `plugin_config_invalid`,
                `plugin_config_in_project`.
            HarnessError: `agent_extra_missing`.
            PluginError: `plugin_conflict` or `plugin_contribution_invalid` for a tool or a model; or a required plugin
                failed, as `detail` says.
        """
        agent = object.__new__(cls)
        folders = tuple(Path(one).expanduser().absolute() for one in skill_folders)

        async def make() -> Agent:
            await agent._open(
                workspace=Path(workspace),
                home=home,
                model=model,
                models=models,
                tools=tools,
                builtin_tools=builtin_tools,
                permission_mode=permission_mode,
                rules=tuple(rules),
                responder=responder,
                effort=effort,
                instructions=instructions,
                skill_folders=folders,
                is_ephemeral=is_ephemeral,
                audit=audit,
                plugins=PluginChoice(
                    inline=runtime_plugins,
                    config=plugin_config,
                    has_cloud_connectors=cloud_connectors,
                    is_ephemeral=is_ephemeral,
                    is_strict=is_strict,
                ),
                limits=limits or AgentLimits(),
                environment=os.environ if environment is None else environment,
            )
            return agent

        return AgentCreation(make)

    async def _open(
        self,
        *,
        workspace: Path,
        home: str | os.PathLike[str] | None,
        model: str | None,
        models: Sequence[tuple[ModelProvider, Sequence[ModelDefinition]]],
        tools: Sequence[Tool],
        builtin_tools: ToolSettings | None,
        permission_mode: PermissionMode,
        rules: tuple[Rule, ...],
        responder: Responder | None,
        effort: str,
        instructions: str,
        skill_folders: tuple[Path, ...],
        is_ephemeral: bool,
        audit: bool,
        plugins: PluginChoice,
        limits: AgentLimits,
        environment: Mapping[str, str],
    ) -> None:
        require_extra("jsonschema", "yaml")
        if effort not in EFFORTS:
            raise UsageError(f"{effort!r} is no effort.", hint="Use low, medium, high or an empty text.")
        self._workspace = _resolved(workspace)
        self._model = model
        self._mode = PermissionMode(permission_mode)
        self._effort = effort
        self._instructions = instructions
        self._environment = environment
        self._is_closed = False
        self._closing = asyncio.Lock()
        self._builtin = OwnerLease("builtin")
        self._embedder = OwnerLease("embedder")
        self._tools = ToolRegistry()
        self._hooks = HookBus()
        self._audit = AuditBus(is_enabled=audit)
        self._well_known = WellKnownModels(environment)
        self._catalogue = ModelCatalogue(
            self._well_known, reserved=frozenset(provider.id for provider in WELL_KNOWN)
        )
        self._catalogue.add(ScriptedModel(), SCRIPTED_MODELS, "builtin", self._builtin)
        for provider, definitions in models:
            self._catalogue.add(provider, definitions, "embedder", self._embedder)
        place = locate_home(home).path
        self._extensions = Extensions(
            ExtensionsGround(
                workspace=self._workspace,
                home=place,
                tools=self._tools,
                models=self._catalogue,
                hooks=self._hooks,
                audit=self._audit,
                embedder=self._embedder,
                skill_folders=skill_folders,
            ),
            plugins,
            limits.plugins,
        )
        ground = SessionGround(
            engine=TurnLoop(self._find_model, limits.engine),
            find_model=self._find_model,
            tools=self._tools,
            hooks=self._hooks,
            audit=self._audit,
            is_audited=audit,
            instruct=self._instruct,
            rules=rules,
            responder=responder,
            limits=limits.session,
        )
        self._sessions = OpenSessions(
            ground, None if is_ephemeral else SessionStore(place / "agent" / "sessions")
        )
        self._own_tools: BuiltinTools | None = None
        if builtin_tools is not None:
            self._own_tools = bring_tools(
                builtin_tools,
                skills=self._extensions.skills,
                registry=self._tools,
                lease=self._builtin,
                sessions=self._sessions.open,
            )
        for tool in tools:
            self._tools.add(tool, "embedder", self._embedder)
        try:
            await self._extensions.open()
        except BaseException:
            await self.close()
            raise

    @property
    def workspace(self) -> Path:
        """The folder that new sessions work in, absolute and resolved."""
        return self._workspace

    @property
    def sessions(self) -> Mapping[str, Session]:
        """The open sessions by id."""
        return dict(self._sessions.open)

    @property
    def models(self) -> tuple[FoundModel, ...]:
        """The registered models. Those of the well-known providers are not listed; they are found by their names."""
        return self._catalogue.list()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that there are now."""
        return tuple(owned.tool for owned in self._tools.list())

    @property
    def register(self) -> Registering:
        """Adds tools, hooks and the rest by hand, beside plugins."""
        return self._extensions.registering

    @property
    def pages(self) -> PageRegistry:
        """The pages that plugins brought; the host draws them."""
        return self._extensions.pages

    @property
    def auth(self) -> AuthRegistry:
        """The ways to sign in that plugins brought, and what they gave."""
        return self._extensions.auth

    @property
    def skills(self) -> SkillCatalogue:
        """The skills that there are."""
        return self._extensions.skills

    def package_status(self) -> tuple[PackageStatus, ...]:
        """What is known of every declarative package of the home."""
        return self._extensions.packages()

    def runtime_plugin_status(self) -> tuple[PluginStatus, ...]:
        """What is known of every plugin that is listed, also after the agent was closed."""
        return self._extensions.status()

    async def new_session(
        self,
        *,
        workspace: str | os.PathLike[str] | None = None,
        model: str | None = None,
        permission_mode: PermissionMode | None = None,
        effort: str | None = None,
    ) -> Session:
        """Begins a session; what is left out is as the agent was told.

        Raises:
            HarnessError: `model_missing`, `model_unknown`, `model_key_missing`.
            UsageError: `workspace_missing`, `workspace_not_a_folder`, `invalid_argument`, `agent_closed`.
            StoreError: It cannot be kept.
        """
        self._check_open()
        chosen = self._effort if effort is None else effort
        if chosen not in EFFORTS:
            raise UsageError(f"{chosen!r} is no effort.", hint="Use low, medium, high or an empty text.")
        settings = SessionSettings(
            model=self._find_model(model or self._model or default_model(self._environment)).name,
            permission_mode=PermissionMode(self._mode if permission_mode is None else permission_mode),
            effort=chosen,
        )
        folder = self._workspace if workspace is None else _resolved(Path(workspace))
        return await self._sessions.begin(folder, settings)

    async def resume_session(self, session_id: str) -> Session:
        """Opens a session that was closed, or whose process was killed. One that is open here is given as it is.

        Calls that were under way when a process was killed get a result that says so; nothing is run again.

        Raises:
            HarnessError: `session_missing`, or `session_in_use` if another process has it open.
            UsageError: `agent_closed`.
            StoreError: It cannot be read.
        """
        self._check_open()
        return await self._sessions.resume(session_id)

    async def fork_session(self, session_id: str) -> Session:
        """Begins a session with a copy of another one's conversation, settings and rules.

        Of a session that another process has open, the turn that runs there is left out.

        Raises:
            HarnessError: `session_missing`.
            UsageError: `turn_running`, `agent_closed`.
            StoreError: It cannot be read or kept.
        """
        self._check_open()
        return await self._sessions.fork(session_id)

    def list_sessions(self) -> tuple[SessionInfo, ...]:
        """All sessions in the home, the last used first; in an ephemeral agent, the open ones."""
        return self._sessions.list()

    async def delete_session(self, session_id: str) -> None:
        """Closes a session if it is open here, and deletes it.

        Raises:
            HarnessError: `session_missing`, or `session_in_use` if another process has it open.
        """
        await self._sessions.delete(session_id)

    async def close(self) -> None:
        """Cancels all turns, closes the sessions and lets go of everything. Calling it twice is safe."""
        async with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
            async with AsyncExitStack() as stack:
                stack.push_async_callback(self._well_known.close)
                stack.callback(self._hooks.close)
                stack.callback(self._embedder.stop, "agent_closed")
                stack.callback(self._builtin.stop, "agent_closed")
                stack.push_async_callback(self._extensions.close)
                if self._own_tools is not None:
                    stack.callback(self._own_tools.close)
                await self._sessions.close()

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        await self.close()

    def _find_model(self, name: str) -> FoundModel:
        found = self._catalogue.find(name)
        if found is None:
            known = ", ".join(f"{provider.id}:…" for provider in WELL_KNOWN[:3])
            registered = ", ".join(model.name for model in self._catalogue.list()[:20])
            raise HarnessError(
                f"There is no model {name[:100]!r}.",
                code="model_unknown",
                hint=f"There are {known} and {registered}.",
            )
        return found

    async def _instruct(self, context: PromptContext) -> str:
        return await self._extensions.instruct(context, self._instructions)

    def _check_open(self) -> None:
        if self._is_closed:
            raise UsageError("The agent is closed.", code="agent_closed", hint="Make another one.")


def _resolved(workspace: Path) -> Path:
    try:
        found = workspace.expanduser().resolve(strict=True)
    except (OSError, RuntimeError):
        raise UsageError(f"The workspace {workspace} does not exist.", code="workspace_missing") from None
    if not found.is_dir():
        raise UsageError(f"The workspace {workspace} is no folder.", code="workspace_not_a_folder")
    return found
