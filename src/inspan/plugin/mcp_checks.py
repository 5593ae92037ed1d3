"""What a manifest's place for MCP servers must keep: a path that leads somewhere, and an entry that starts the server."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator

from inspan.model.manifest import Manifest

from .faults import Fault

__all__ = ["check_mcp"]

_PLACES = ("/", "{config}/", "{home}/")


def check_mcp(manifest: Manifest) -> Iterator[Fault]:
    """The faults of a manifest's place for MCP servers."""
    place = manifest.mcp
    if place is None:
        return
    if not place.path.startswith(_PLACES):
        yield Fault(
            key_path="mcp.path",
            problem=f"is {place.path!r}",
            expected="an absolute path, or one that begins with {config}/ or {home}/",
        )
    if place.path.startswith("{config}") and not manifest.config.folder:
        yield Fault(
            key_path="mcp.path", problem="is in {config}", expected="config.folder to say where that is"
        )
    if not (place.source and place.verified):
        yield Fault(
            key_path="mcp", problem="has no proof", expected="source (where it was seen) and verified"
        )
    if not place.under or not all(place.under):
        yield Fault(key_path="mcp.under", problem="is empty", expected="the keys that lead to the servers")
    starts = "{command}" in place.entry or ("{program}" in place.entry and "{args}" in place.entry)
    if not starts:
        yield Fault(
            key_path="mcp.entry", problem="starts nothing", expected="{command}, or {program} and {args}"
        )
        return
    filled = place.entry
    for word, value in (("program", '"p"'), ("args", '["a"]'), ("command", '["p", "a"]'), ("name", "n")):
        filled = filled.replace(f"{{{word}}}", value)
    try:
        match place.format:
            case "json":
                if not isinstance(json.loads(filled), dict):
                    yield Fault(key_path="mcp.entry", problem="is no object", expected="a JSON object")
            case "toml":
                tomllib.loads(filled)
                if "{name}" not in place.entry:
                    yield Fault(
                        key_path="mcp.entry", problem="names no server", expected="a table with {name} in it"
                    )
            case "yaml":
                if len(place.under) != 1:
                    yield Fault(key_path="mcp.under", problem="is nested", expected="one key, with yaml")
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        yield Fault(
            key_path="mcp.entry", problem=f"is no {place.format} ({error})", expected=f"{place.format} text"
        )
