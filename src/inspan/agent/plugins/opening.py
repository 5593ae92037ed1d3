"""Opens the plugins of one agent: those built in, those of its embedder, and those of the person's list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspan.agent.plugins.configuration import (
    CONFIG_FILE,
    find_project_lists,
    parse_config_list,
    read_config_file,
)
from inspan.agent.plugins.connector_cloud import ConnectorCloud
from inspan.agent.plugins.entries import BuiltinPlugin, InlinePlugins, PluginEntry, resolve_entries
from inspan.agent.plugins.memory import MemoryPlugin
from inspan.model.errors import UsageError

__all__ = ["PluginChoice", "PluginPlan", "plan_plugins"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginChoice:
    """What whoever makes an agent says about its plugins.

    Attributes:
        inline: Plugins as objects; see `entries.InlinePlugins`.
        config: A list of entries that counts instead of the one in the home's `plugins.json`; None leaves that.
        has_cloud_connectors: Whether `connector-cloud` may be there. It is not in an ephemeral agent in any case.
        is_ephemeral: Whether the agent keeps nothing.
        is_strict: Whether a project that names runtime plugins is an error rather than a warning.
    """

    inline: InlinePlugins = ()
    config: Sequence[Mapping[str, Any]] | None = None
    has_cloud_connectors: bool = True
    is_ephemeral: bool = False
    is_strict: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginPlan:
    """Which plugins an agent is to have.

    Attributes:
        entries: In the order in which they are set up.
        ignored_lists: Files of the project that name runtime plugins and count for nothing.
    """

    entries: tuple[PluginEntry, ...]
    ignored_lists: tuple[str, ...] = ()


def plan_plugins(choice: PluginChoice, *, home: Path, workspace: Path) -> PluginPlan:
    """Puts the plugins together, without running any of their code.

    Raises:
        UsageError: `plugin_config_invalid`; `plugin_config_in_project` if that is to be an error.
    """
    ignored = find_project_lists(workspace, home)
    if ignored and choice.is_strict:
        raise UsageError(
            f"The project's {ignored[0]} names runtime plugins, and only the person's own list may.",
            code="plugin_config_in_project",
            hint="Take it out of the project, or leave out the strict check: then it is ignored.",
            detail={"files": list(ignored)},
        )
    lists = [read_config_file(home / CONFIG_FILE)]
    if choice.config is not None:
        lists.append(parse_config_list(choice.config, "what the agent was made with"))
    entries = resolve_entries(builtins=_builtins(choice, home), inline=choice.inline, lists=lists)
    return PluginPlan(entries=entries, ignored_lists=ignored)


def _builtins(choice: PluginChoice, home: Path) -> tuple[BuiltinPlugin, ...]:
    off_because = ""
    if not choice.has_cloud_connectors:
        off_because = "The agent was made without cloud connectors."
    elif choice.is_ephemeral:
        off_because = "An ephemeral agent has no cloud connectors."
    return (
        BuiltinPlugin(plugin=MemoryPlugin(home / "agent" / "memory")),
        BuiltinPlugin(plugin=ConnectorCloud(), off_because=off_because),
    )
