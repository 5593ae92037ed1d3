"""`inspan agent sessions` and `plugins`: what the agent keeps."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from inspan.agent.agent import Agent
from inspan.agent.plugins.contract import PLUGIN_ID, PluginStatus
from inspan.agent.plugins.overview import overview_json, overview_text
from inspan.agent.plugins.packages import PackageStatus
from inspan.agent.sessions.store import SessionStore
from inspan.home import prepare_home
from inspan.model.errors import HostError, UsageError

from .amounts import lasting
from .context import Context
from .exits import Exit
from .output import bold, clean, dim, good, warn

__all__ = ["manage_plugins", "show_sessions"]

_FILE = "plugins.json"


def show_sessions(context: Context, *, delete: str | None) -> int:
    """Lists the sessions, or deletes one.

    Raises:
        HarnessError: `session_missing`, or `session_in_use`.
    """
    store = SessionStore(context.home.path / "agent" / "sessions")
    output = context.output
    if delete is not None:
        store.delete(delete)
        if output.is_json:
            output.value({"deleted": delete})
        else:
            output.line("deleted ", bold(delete))
        return Exit.OK
    found = store.list()
    if output.is_json:
        output.value(
            [
                {
                    "id": one.id,
                    "title": one.title,
                    "workspace": one.workspace,
                    "created_at": one.created_at.isoformat(),
                    "updated_at": one.updated_at.isoformat(),
                    "forked_from": one.forked_from,
                }
                for one in found
            ]
        )
        return Exit.OK
    output.table(
        ["SESSION", "USED", "TITLE", "WORKSPACE"],
        [
            [
                bold(one.id),
                dim(_ago(one.updated_at)),
                clean(one.title) or dim("-"),
                clean(one.workspace),
            ]
            for one in found
        ],
    )
    return Exit.OK


def _ago(at: datetime) -> str:
    return f"{lasting(float(round((datetime.now(UTC) - at).total_seconds())))} ago"


def manage_plugins(context: Context, what: str, plugin: str | None) -> int:
    """Lists, shows, disables or enables runtime plugins.

    Raises:
        UsageError: No plugin is named, or none of that name is there; the file is no list of plugins.
    """
    if what == "list":
        return _list(context)
    if plugin is None or not PLUGIN_ID.fullmatch(plugin):
        raise UsageError(
            f"Which plugin to {what} is missing, or no id.", hint="`inspan agent plugins` lists them."
        )
    if what == "show":
        return _show(context, plugin)
    return _switch(context, plugin, is_enabled=what == "enable")


def _look(context: Context) -> tuple[tuple[PluginStatus, ...], tuple[PackageStatus, ...]]:
    """How the plugins are in an agent that is opened and closed for it.

    Here none is required, so that a plugin without which no agent can be made is shown like all others.
    """
    listed = cast("list[dict[str, Any]]", _read(context.home.path / _FILE).get("runtimePlugins", []))
    required = {str(one.get("id")): one.get("required") for one in listed}

    def as_listed(status: PluginStatus) -> PluginStatus:
        said = required.get(status.id)
        needs = said if said is not None else status.is_required or status.source == "file"
        return replace(status, is_required=needs)

    async def look() -> tuple[tuple[PluginStatus, ...], tuple[PackageStatus, ...]]:
        async with Agent.create(
            workspace=os.getcwd(),
            home=context.home.path,
            plugin_config=[{**one, "required": False} for one in listed],
        ) as agent:
            return tuple(as_listed(one) for one in agent.runtime_plugin_status()), agent.package_status()

    plugins, packages = asyncio.run(look())
    for one in plugins:
        if one.is_required and one.state == "failed":
            context.output.remark(
                warn(f"No agent can be made while the plugin {one.id!r} is required and fails.")
            )
    return plugins, packages


def _list(context: Context) -> int:
    plugins, packages = _look(context)
    if context.output.is_json:
        context.output.value(overview_json(plugins, packages))
    else:
        context.output.line(clean(overview_text(plugins, packages)))
    return Exit.OK


def _show(context: Context, plugin: str) -> int:
    plugins, _ = _look(context)
    found = [one for one in plugins if one.id == plugin]
    if not found:
        raise UsageError(f"There is no plugin {plugin!r}.", hint="`inspan agent plugins` lists them.")
    if context.output.is_json:
        told = cast("dict[str, Any]", overview_json(found, ()))
        context.output.value(told["runtime_plugins"][0])
        return Exit.OK
    one = found[0]
    brings = ", ".join(f"{count} {kind}" for kind, count in one.contributions.items() if count)
    toned = {"active": good, "disabled": dim}.get(one.state, warn)
    context.output.fields(
        [
            ("plugin", [bold(one.id), f" {one.version}"]),
            ("state", toned(f"{one.state}{f' in {one.phase} with {one.error}' if one.phase else ''}")),
            *([("because", clean(one.message))] if one.message else []),
            ("source", one.source),
            ("required", "yes" if one.is_required else "no"),
            ("brings", brings or dim("nothing")),
            *(("warning", clean(said)) for said in one.warnings),
        ]
    )
    return Exit.OK


def _switch(context: Context, plugin: str, *, is_enabled: bool) -> int:
    prepare_home(context.home)
    path = context.home.path / _FILE
    document = _read(path)
    entries = cast("list[dict[str, Any]]", document.setdefault("runtimePlugins", []))
    entry = next((one for one in entries if one.get("id") == plugin), None)
    if entry is None:
        # An entry for what is nowhere would keep every later agent from starting.
        if plugin not in {one.id for one in _look(context)[0]}:
            raise UsageError(f"There is no plugin {plugin!r}.", hint="`inspan agent plugins` lists them.")
        entries.append({"id": plugin, "enabled": is_enabled})
    else:
        entry["enabled"] = is_enabled
    _write(path, document)
    if context.output.is_json:
        context.output.value({"id": plugin, "enabled": is_enabled, "file": str(path)})
    else:
        context.output.line(
            bold(plugin),
            f" is {'enabled' if is_enabled else 'disabled'} from the next agent on",
            dim(f"  ({path})"),
        )
    return Exit.OK


def _read(path: Path) -> dict[str, Any]:
    try:
        document: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise HostError(
            f"{path} cannot be read: {error.strerror or error}.", code="home_read_only"
        ) from error
    except (ValueError, RecursionError) as error:
        raise _invalid(path, "it is no JSON") from error
    if not isinstance(document, dict):
        raise _invalid(path, "it holds no object")
    told = cast("dict[str, Any]", document)
    entries: object = told.get("runtimePlugins", [])
    if not isinstance(entries, list) or not all(
        isinstance(one, dict) for one in cast("list[object]", entries)
    ):
        raise _invalid(path, "its runtimePlugins are no list of objects")
    return told


def _write(path: Path, document: dict[str, Any]) -> None:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{_FILE}-", dir=path.parent)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(name, path.stat().st_mode & 0o777)
        os.replace(name, path)
    except OSError as error:
        raise HostError(
            f"{path} cannot be written: {error.strerror or error}.", code="home_read_only"
        ) from error


def _invalid(path: Path, fact: str) -> UsageError:
    return UsageError(
        f"{path} was left as it is: {fact}.",
        code="plugin_config_invalid",
        hint="Mend the file, then try again.",
    )
