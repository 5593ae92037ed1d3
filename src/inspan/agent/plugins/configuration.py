"""The person's own list of runtime plugins: `plugins.json` in the home, and lists that replace it.

A list that is wrong anywhere is refused as a whole, and nothing of it is quoted: it may hold secrets. A project's own
files can bring no plugins, change none and disable none; that one tries is found here, so that it can be said.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import UNSET, Struct, UnsetType

from inspan.agent.plugins.contract import PLUGIN_ID
from inspan.agent.values import Json
from inspan.model.errors import UsageError

__all__ = ["CONFIG_FILE", "ConfigEntry", "find_project_lists", "parse_config_list", "read_config_file"]

CONFIG_FILE = "plugins.json"
"""The file in the home."""

_LIST = "runtimePlugins"
_KEYS = ("id", "module", "enabled", "required", "config")
_PROJECT_FOLDER = ".inspan"
_MAX_PROJECT_FILE_BYTES = 1_000_000


class ConfigEntry(Struct, frozen=True, kw_only=True):
    """One entry of a list.

    Attributes:
        id: The plugin's id.
        module: Where its code is: an absolute path, or an installed module, each perhaps with `:attribute`. Empty for
            an entry that configures or disables a plugin that is there anyway.
        enabled: Whether it is set up; if not, its code is not even read.
        required: Whether the agent cannot be made without it; unset if the entry does not say.
        config: For the plugin's `parse_config`; unset if the entry does not say.
    """

    id: str
    module: str = ""
    enabled: bool = True
    required: bool | UnsetType = UNSET
    config: Json | UnsetType = UNSET


def read_config_file(path: Path) -> tuple[ConfigEntry, ...] | None:
    """The entries of a file; None if the file is not there, or has no list.

    Raises:
        UsageError: `plugin_config_invalid`.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _invalid(str(path), f"cannot be read ({error.strerror or type(error).__name__})") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = UNSET
    if document is UNSET:
        raise _invalid(str(path), "is not JSON")
    if not isinstance(document, dict):
        raise _invalid(str(path), "is no JSON object")
    document = cast(dict[str, Any], document)
    if unknown := sorted(set(document) - {_LIST}):
        raise _invalid(str(path), f"has the unknown key '{unknown[0]}'; it may have '{_LIST}'")
    if _LIST not in document:
        return None
    return parse_config_list(document[_LIST], str(path))


def parse_config_list(raw: object, origin: str) -> tuple[ConfigEntry, ...]:
    """Checks a list of entries as it was written.

    Args:
        raw: A list of objects with the keys `id`, `module`, `enabled`, `required`, `config`.
        origin: Where it was written, for errors.

    Raises:
        UsageError: `plugin_config_invalid`: not a list, an unknown key, a wrong type, no plugin's id, or an id twice.
    """
    if not isinstance(raw, Sequence) or isinstance(raw, (str, bytes)):
        raise _invalid(origin, f"has a '{_LIST}' that is no list")
    entries = tuple(_entry(one, number, origin) for number, one in enumerate(cast(Sequence[object], raw), 1))
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise _invalid(origin, f"names the plugin '{entry.id}' twice")
        seen.add(entry.id)
    return entries


def find_project_lists(workspace: Path, home: Path) -> tuple[str, ...]:
    """The files below a workspace's `.inspan` that name runtime plugins, relative to the workspace.

    They are looked at and never followed. A `plugins.json` counts by its name alone, whatever is in it.
    """
    folder = workspace / _PROJECT_FOLDER
    try:
        if folder.samefile(home):
            return ()
    except OSError:
        pass  # one of them is not there
    try:
        files = sorted(one for one in folder.iterdir() if one.suffix in (".json", ".toml"))
    except OSError:
        return ()
    return tuple(
        one.relative_to(workspace).as_posix()
        for one in files
        if one.name == CONFIG_FILE or _names_plugins(one)
    )


def _names_plugins(path: Path) -> bool:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_PROJECT_FILE_BYTES:
            return False
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and _LIST in document


def _entry(raw: object, number: int, origin: str) -> ConfigEntry:
    where = f"has an entry {number} that"
    if not isinstance(raw, Mapping):
        raise _invalid(origin, f"{where} is no object")
    raw = cast(Mapping[str, Any], raw)
    if unknown := sorted(set(raw) - set(_KEYS)):
        raise _invalid(origin, f"{where} has the unknown key '{unknown[0]}'; it may have {', '.join(_KEYS)}")
    plugin_id, module = raw.get("id"), raw.get("module", "")
    if not isinstance(plugin_id, str) or PLUGIN_ID.fullmatch(plugin_id) is None:
        raise _invalid(origin, f"{where} has no id that a plugin may have ({PLUGIN_ID.pattern})")
    if not isinstance(module, str) or ("module" in raw and not module.strip()):
        raise _invalid(origin, f"{where} has a module that is no text")
    for key in ("enabled", "required"):
        if not isinstance(raw.get(key, True), bool):
            raise _invalid(origin, f"{where} has a value of '{key}' that is neither true nor false")
    return ConfigEntry(
        id=plugin_id,
        module=module,
        enabled=raw.get("enabled", True),
        required=raw.get("required", UNSET),
        config=raw.get("config", UNSET),
    )


def _invalid(origin: str, fact: str) -> UsageError:
    return UsageError(
        f"The list of runtime plugins in {origin} cannot be used: it {fact}.",
        code="plugin_config_invalid",
        hint="See docs/runtime-plugins.md for what it may hold.",
        detail={"file": origin},
    )
