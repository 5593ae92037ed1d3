"""What the author of a runtime plugin writes against: the plugin, its context, and what it can contribute.

A plugin runs with all the authority of the process. The context keeps plugins apart and cleans up after them; it is no
sandbox.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

from inspan.agent.audit.events import AuditEvent
from inspan.agent.cancelling import CancelSignal
from inspan.agent.hook_events import Veto
from inspan.agent.models.contract import ModelDefinition, ModelProvider
from inspan.agent.tools.contract import Tool
from inspan.agent.values import Json, JsonObject

__all__ = [
    "API_VERSION",
    "PLUGIN_ID",
    "VERSION",
    "Audit",
    "AuditSink",
    "Auth",
    "AuthProvider",
    "Hooks",
    "Models",
    "Page",
    "PageAction",
    "PageContext",
    "Pages",
    "PluginContext",
    "PluginPhase",
    "PluginState",
    "PluginStatus",
    "PromptContext",
    "PromptSource",
    "Prompts",
    "RuntimePlugin",
    "RuntimeSkill",
    "Skills",
    "Tools",
]

API_VERSION = 1
"""The version of this contract."""

PLUGIN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
"""What a plugin may be called, whole."""

VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_ -]{0,63}")
"""What a plugin's own version may be, whole."""

ConfigT = TypeVar("ConfigT")
ConfigT_co = TypeVar("ConfigT_co", covariant=True)
_P = ParamSpec("_P")
_R = TypeVar("_R")


class RuntimePlugin(Protocol[ConfigT]):
    """Extends the agent.

    Clients, timers and mutable state belong inside `setup`, not at module scope: two agents in one process set the same
    plugin up twice and share nothing.

    Attributes:
        id: Matches `PLUGIN_ID`.
        version: The plugin's own version, for people; matches `VERSION`.
        api_version: The version of the contract it was written for: `API_VERSION`.
    """

    @property
    def id(self) -> str:
        """Names the plugin."""
        ...

    @property
    def version(self) -> str:
        """The plugin's own version, for people."""
        ...

    @property
    def api_version(self) -> int:
        """The version of the contract it was written for."""
        ...

    def parse_config(self, raw: Json, /) -> ConfigT:
        """Checks the raw configuration (None if there is none) and gives it its type. Whatever it raises is its failure."""
        ...

    def setup(self, ctx: PluginContext[ConfigT], /) -> Awaitable[None] | None:
        """Registers what the plugin contributes. Runs once an agent; may be a coroutine function."""
        ...


class PluginContext(Protocol[ConfigT_co]):
    """What a plugin is given. Contributions can be registered during `setup` alone, and go away by themselves."""

    @property
    def config(self) -> ConfigT_co:
        """What `parse_config` gave."""
        ...

    @property
    def tools(self) -> Tools:
        """Takes tools."""
        ...

    @property
    def skills(self) -> Skills:
        """Takes skills."""
        ...

    @property
    def models(self) -> Models:
        """Takes model providers."""
        ...

    @property
    def auth(self) -> Auth:
        """Takes ways to sign in, and hands out what they gave."""
        ...

    @property
    def hooks(self) -> Hooks:
        """Takes handlers of lifecycle events."""
        ...

    @property
    def audit(self) -> Audit:
        """Takes audit sinks."""
        ...

    @property
    def prompts(self) -> Prompts:
        """Takes sections of the system prompt."""
        ...

    @property
    def pages(self) -> Pages:
        """Takes pages."""
        ...

    @property
    def signal(self) -> CancelSignal:
        """Raised when the plugin is to stop, before its contributions go."""
        ...

    @property
    def logger(self) -> logging.Logger:
        """The plugin's own, for sanitised diagnostics."""
        ...

    @property
    def workspace(self) -> Path:
        """The agent's default workspace, absolute and resolved."""
        ...

    @property
    def data_dir(self) -> Path:
        """A folder of the plugin's own below the agent's home, 0700, made on first use. Absolute."""
        ...

    def on_start(self, start: Callable[[], object]) -> None:
        """Runs `start`, and awaits it if it can be awaited, when every plugin's setup is done. It has to return once its work has begun (30 s)."""
        ...

    def on_dispose(self, dispose: Callable[[], object]) -> None:
        """Runs `dispose`, and awaits it if it can be awaited, when the plugin stops, latest first. Call it right after a resource is acquired."""
        ...

    async def run_sync(self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Runs blocking work in a thread, so that it does not stall the agent."""
        ...


class Tools(Protocol):
    """Where a plugin registers tools."""

    def register(self, tool: Tool) -> None:
        """Adds a tool. Every call passes the permission engine.

        Raises:
            PluginError: `plugin_conflict` for a taken name; `plugin_contribution_invalid`; `plugin_setup_over`.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeSkill:
    """A skill that lives as long as its plugin.

    Attributes:
        name: Lower-case letters, digits and `-`, at most 64.
        description: One line for the catalogue in the prompt.
        body: Markdown, given by the `skill` tool alone.
        directory: An absolute folder of files that the body speaks of; None without.
    """

    name: str
    description: str
    body: str
    directory: Path | None = None


class Skills(Protocol):
    """Where a plugin registers skills."""

    def register(self, skill: RuntimeSkill) -> None:
        """Adds a skill of origin `runtime`. It can take no other skill's name, of whatever origin."""
        ...


class Models(Protocol):
    """Where a plugin registers models."""

    def register(self, provider: ModelProvider, models: Sequence[ModelDefinition]) -> None:
        """Adds a provider with its models: all of it or, if anything is wrong or taken, none."""
        ...


class AuthProvider(Protocol):
    """Signs a person in to a service. Its credentials are kept by the agent and outlive the plugin."""

    @property
    def id(self) -> str:
        """Names it among the providers."""
        ...

    async def login(self, tell: Callable[[str], Awaitable[None]], /) -> JsonObject:
        """Signs in and returns the credential to keep. `tell` shows a person what to do (an address, a code)."""
        ...

    async def refresh(self, credential: JsonObject, /) -> JsonObject | None:
        """Gives a fresh credential for a stored one, the same if it is still good, or None if it is no longer any use."""
        ...


class Auth(Protocol):
    """Where a plugin registers ways to sign in."""

    def register(self, provider: AuthProvider) -> None:
        """Adds a way to sign in. When it goes, its stored credentials stay."""
        ...

    async def credential(self, provider_id: str) -> JsonObject | None:
        """The stored credential of this plugin's own provider, refreshed if needed; None when nobody signed in."""
        ...


class Hooks(Protocol):
    """Where a plugin registers handlers."""

    def on(self, event: str, handler: Callable[[Any], Awaitable[Veto | None] | Veto | None]) -> None:
        """Hears of an event by its name in `HOOK_EVENTS`; the handler gets that event's typed value.

        Only the handlers of `VETOABLE` events may return a `Veto`. There a raising handler of a required plugin vetoes
        too; everywhere else an exception is logged, by its class alone, and passed over.
        """
        ...


class AuditSink(Protocol):
    """Observes permissions and calls, as well as it can."""

    async def write(self, event: AuditEvent, /) -> None:
        """Takes one event. Events come one after another, in order; an exception is counted and the next one comes."""
        ...


class Audit(Protocol):
    """Where a plugin registers audit sinks."""

    def register_sink(self, sink: AuditSink) -> None:
        """Adds an observer with a queue of its own of 1,000 events; what is beyond that is dropped, and said."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptContext:
    """What a prompt section is made for: one turn of one session."""

    session_id: str
    workspace: Path
    turn: int
    cancel: CancelSignal


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptSource:
    """A section of the system prompt, made anew once a turn.

    Attributes:
        name: Names the section, unique in its plugin.
        render: Gives its text; empty leaves it out. One that raises is left out with a warning.
    """

    name: str
    render: Callable[[PromptContext], Awaitable[str]]


class Prompts(Protocol):
    """Where a plugin registers sections of the system prompt."""

    def register(self, source: PromptSource) -> None:
        """Adds a section, shown after those of earlier plugins and registrations."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PageContext:
    """What a page's handlers are given.

    Attributes:
        cancel: Raised when nobody waits for the answer any more.
        workspace: The folder of the session in which the page is looked at; None outside of one.
    """

    cancel: CancelSignal
    workspace: Path | None = None


PageAction: TypeAlias = Callable[[JsonObject, PageContext], Awaitable[Json]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page that the host draws from data. A plugin brings no HTML and no script.

    Attributes:
        id: As a plugin's id; unique among all pages.
        title: For people.
        icon: A short name or one character; empty without.
        blocks: What to draw, each with a `type` (`text`, `table`, `list`, `form`, `keyvalue`) and its own fields; see
            `plugins.page_drawing`.
        read: Gives the page's data.
        actions: What a person can do on it, by name.
    """

    id: str
    title: str
    icon: str = ""
    blocks: tuple[JsonObject, ...] = ()
    read: Callable[[PageContext], Awaitable[Json]]
    actions: Mapping[str, PageAction] = field(default_factory=dict[str, PageAction])


class Pages(Protocol):
    """Where a plugin registers pages."""

    def register(self, page: Page) -> None:
        """Adds a page; its id must be free."""
        ...


PluginPhase: TypeAlias = str
"""Where a failure was: `resolve`, `import`, `contract`, `config`, `setup`, `start`, `run`, `drain`, `dispose`."""

PluginState: TypeAlias = str
"""`pending` while the agent is being made, then `disabled`, `active`, `failed`, `stopped`; `ignored` for what a project's
own files wanted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginStatus:
    """What is known of one entry.

    Attributes:
        id: The plugin's id.
        version: The plugin's version; empty while its code was not read.
        source: `builtin`, `inline`, `file` or `project`.
        state: See `PluginState`.
        is_required: Whether its failure aborts the agent's creation.
        phase: Where it failed; empty if it did not.
        error: The class of what it raised; never its message.
        message: What went wrong in our words, or why it is disabled; empty if there is nothing to say.
        contributions: How many of each kind are registered now.
        warnings: What went wrong without ending it, in our words.
    """

    id: str
    version: str
    source: str
    state: PluginState
    is_required: bool
    phase: PluginPhase = ""
    error: str = ""
    message: str = ""
    contributions: Mapping[str, int] = field(default_factory=dict[str, int])
    warnings: tuple[str, ...] = ()
