"""The files in which harnesses look for guidance in a project, as their manifests say."""

from __future__ import annotations

import tomllib
from typing import Any

from inspan.host.sources import built_in_folders

__all__ = ["COMMON_POINTER", "pointer_names"]

COMMON_POINTER = "AGENTS.md"
"""Read by most harnesses, so it is written even where no manifest could be read."""

_ROOT = "{projectRoot}/"


def pointer_names() -> list[str]:
    """The names of such files that stand in a project's root, in order, each once."""
    names = {COMMON_POINTER}
    for folder in built_in_folders():
        try:
            manifest: dict[str, Any] = tomllib.loads((folder / "manifest.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for place in manifest.get("resources", []):
            name = str(place.get("target", "")).removeprefix(_ROOT)
            if (
                place.get("kind") == "guidance"
                and name.endswith(".md")
                and "/" not in name
                and "{" not in name
            ):
                names.add(name)
    return sorted(names)
