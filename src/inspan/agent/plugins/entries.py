"""Puts together which plugins an agent gets: the built-in ones, those of its embedder, and the person's list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from msgspec import UNSET, UnsetType

from inspan.agent.faults import is_fault
from inspan.agent.plugins.configuration import ConfigEntry
from inspan.agent.plugins.contract import PLUGIN_ID, RuntimePlugin
from inspan.agent.values import Json
from inspan.model.errors import UsageError

__all__ = ["BuiltinPlugin", "InlinePlugin", "InlinePlugins", "PluginEntry", "resolve_entries"]


@dataclass(frozen=True, kw_only=True, slots=True)
class InlinePlugin:
    """A plugin that an embedder hands over as an object. Handing it over is the embedder's decision to trust it.

    Attributes:
        plugin: The plugin.
        required: Whether the agent cannot be made without it.
        config: For its `parse_config`, unless the person's list has another; unset gives None.
    """

    plugin: RuntimePlugin[Any]
    required: bool = True
    config: Json | UnsetType = UNSET


InlinePlugins: TypeAlias = Sequence[InlinePlugin | Mapping[str, Any] | RuntimePlugin[Any]]
"""What an embedder may hand over: `InlinePlugin`s, mappings with the same keys, or plugins alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltinPlugin:
    """A plugin that comes with the agent. It is never required, unless the person's list says so.

    Attributes:
        plugin: The plugin.
        off_because: Why this agent does not have it, whatever a list says; empty if it may have it.
    """

    plugin: RuntimePlugin[Any]
    off_because: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginEntry:
    """One plugin that an agent is to have, or would have.

    Attributes:
        id: The plugin's id.
        source: `builtin`, `inline` or `file`.
        is_enabled: Whether it is set up; if not, none of its code runs.
        is_required: Whether the agent cannot be made without it.
        config: For `parse_config`; None if there is none.
        plugin: The plugin itself, unless it has to be read from `module`.
        module: As in `ConfigEntry.module`.
        note: Why it is disabled.
        fault: Why it cannot be had, in our words; empty if it can.
    """

    id: str
    source: str
    is_enabled: bool = True
    is_required: bool = True
    config: Json = None
    plugin: RuntimePlugin[Any] | None = None
    module: str = ""
    note: str = ""
    fault: str = ""


def resolve_entries(
    *,
    builtins: Sequence[BuiltinPlugin] = (),
    inline: InlinePlugins = (),
    lists: Sequence[Sequence[ConfigEntry] | None] = (),
) -> tuple[PluginEntry, ...]:
    """The entries in the order in which they are set up: built-in, inline, then the list's own.

    Args:
        builtins: What comes with the agent.
        inline: What the embedder hands over.
        lists: The person's lists, earliest first. The last one that is not None counts, as a whole; the ones before it
            count for nothing.

    Raises:
        UsageError: `plugin_config_invalid`: an id stands twice among the inline plugins or is a built-in one's, or an
            inline plugin is none.
    """
    entries: dict[str, PluginEntry] = {}
    for builtin in builtins:
        entries[builtin.plugin.id] = PluginEntry(
            id=builtin.plugin.id,
            source="builtin",
            is_enabled=not builtin.off_because,
            is_required=False,
            plugin=builtin.plugin,
            note=builtin.off_because,
        )
    for number, one in enumerate(inline, 1):
        entry = _inline_entry(one, number)
        if (taken := entries.get(entry.id)) is not None:
            what = "a built-in one" if taken.source == "builtin" else "another inline one"
            raise UsageError(
                f"The inline runtime plugin '{entry.id}' has the id of {what}.",
                code="plugin_config_invalid",
                hint="Give it another id; nothing is replaced.",
                detail={"plugin": entry.id},
            )
        entries[entry.id] = entry
    effective = next((one for one in reversed(lists) if one is not None), ())
    for configured in effective:
        known = entries.get(configured.id)
        entries[configured.id] = _file_entry(configured) if known is None else _configured(known, configured)
    return tuple(entries.values())


def _inline_entry(one: object, number: int) -> PluginEntry:
    if isinstance(one, Mapping):
        raw = cast(Mapping[str, Any], one)
        if unknown := sorted(set(raw) - {"plugin", "required", "config"}):
            raise _bad_inline(
                number, f"has the unknown key '{unknown[0]}'; it may have plugin, required, config"
            )
        if "plugin" not in raw:
            raise _bad_inline(number, "has no plugin")
        one = InlinePlugin(**raw)
    elif not isinstance(one, InlinePlugin):
        one = InlinePlugin(plugin=cast(RuntimePlugin[Any], one))
    if not isinstance(cast(object, one.required), bool):
        raise _bad_inline(number, "has a value of 'required' that is neither true nor false")
    try:
        plugin_id = cast(object, one.plugin.id)
    except BaseException as error:
        if not is_fault(error):
            raise
        plugin_id = None
    fault = ""
    if not isinstance(plugin_id, str) or PLUGIN_ID.fullmatch(plugin_id) is None:
        fault = f"it has no id that a plugin may have ({PLUGIN_ID.pattern})"
        plugin_id = f"inline-{number}"
    return PluginEntry(
        id=plugin_id,
        source="inline",
        is_required=one.required,
        config=None if isinstance(one.config, UnsetType) else one.config,
        plugin=one.plugin,
        fault=fault,
    )


def _configured(known: PluginEntry, configured: ConfigEntry) -> PluginEntry:
    """A plugin that is there anyway, as the list wants it. Its configuration is taken as a whole, never merged."""
    fault, note = known.fault, known.note
    if configured.module and not fault:
        fault = "the list names a module for it, and nothing may replace it"
    if known.is_enabled and not configured.enabled:
        note = "The person's list disables it."
    return replace(
        known,
        is_enabled=known.is_enabled and configured.enabled,
        is_required=known.is_required if isinstance(configured.required, UnsetType) else configured.required,
        config=known.config if isinstance(configured.config, UnsetType) else configured.config,
        note=note,
        fault=fault,
    )


def _file_entry(configured: ConfigEntry) -> PluginEntry:
    return PluginEntry(
        id=configured.id,
        source="file",
        is_enabled=configured.enabled,
        is_required=True if isinstance(configured.required, UnsetType) else configured.required,
        config=None if isinstance(configured.config, UnsetType) else configured.config,
        module=configured.module,
        note="" if configured.enabled else "The person's list disables it.",
        fault="" if configured.module else "no plugin of this id is there, and the list names no module",
    )


def _bad_inline(number: int, fact: str) -> UsageError:
    return UsageError(f"The inline runtime plugin {number} {fact}.", code="plugin_config_invalid")
