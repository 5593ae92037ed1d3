"""Shows runtime plugins next to declarative packages, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspan.agent.plugins.contract import PluginStatus
from inspan.agent.plugins.packages import PackageStatus
from inspan.agent.values import JsonObject

__all__ = ["overview_json", "overview_markdown", "overview_text"]


def overview_json(plugins: Sequence[PluginStatus], packages: Sequence[PackageStatus]) -> JsonObject:
    """Both kinds, every field, in configured order."""
    return {
        "runtime_plugins": [
            {
                "id": one.id,
                "version": one.version,
                "source": one.source,
                "state": one.state,
                "is_required": one.is_required,
                "phase": one.phase,
                "error": one.error,
                "message": one.message,
                "contributions": dict(one.contributions),
                "warnings": list(one.warnings),
            }
            for one in plugins
        ],
        "packages": [
            {
                "name": one.name,
                "version": one.version,
                "description": one.description,
                "folder": str(one.folder),
                "state": one.state,
                "message": one.message,
                "contributions": dict(one.contributions),
            }
            for one in packages
        ],
    }


def overview_text(plugins: Sequence[PluginStatus], packages: Sequence[PackageStatus]) -> str:
    """The same in lines: what there is, how it is, what it brings, and what went wrong."""
    lines = ["Runtime plugins"]
    for one in plugins:
        named = f"{one.id} {one.version}".rstrip()
        required = ", required" if one.is_required else ""
        failed = f" in {one.phase} with {one.error}" if one.phase else ""
        lines.append(f"  {named} ({one.source}{required}): {one.state}{failed}{_brought(one.contributions)}")
        lines += [f"    {said}" for said in ((one.message,) if one.message else ()) + one.warnings]
    if not plugins:
        lines.append("  none")
    lines.append("Packages")
    for one in packages:
        lines.append(f"  {f'{one.name} {one.version}'.rstrip()}: {one.state}{_brought(one.contributions)}")
        lines += [f"    {one.message}"] if one.message else []
    if not packages:
        lines.append("  none")
    return "\n".join(lines)


def overview_markdown(plugins: Sequence[PluginStatus], packages: Sequence[PackageStatus]) -> str:
    """The same as a table each, for where Markdown is shown."""
    lines = ["| plugin | state | source | brings |", "|---|---|---|---|"]
    for one in plugins:
        state = f"{one.state} ({one.phase}: {one.error})" if one.phase else one.state
        lines.append(
            f"| {_cell(f'{one.id} {one.version}')} | {_cell(state)} | {one.source} | {_listed(one.contributions)} |"
        )
        lines += [f"| | {_cell(said)} | | |" for said in (*filter(None, [one.message]), *one.warnings)]
    lines = lines if plugins else ["No runtime plugins."]
    if not packages:
        return "\n".join(lines)
    lines += ["", "| package | state | brings |", "|---|---|---|"]
    for one in packages:
        state = f"{one.state}: {one.message}" if one.message else one.state
        lines.append(
            f"| {_cell(f'{one.name} {one.version}')} | {_cell(state)} | {_listed(one.contributions)} |"
        )
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _listed(contributions: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in contributions.items() if count) or "-"


def _brought(contributions: Mapping[str, int]) -> str:
    return "".join(f", {count} {kind}" for kind, count in contributions.items())
