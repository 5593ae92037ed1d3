"""Fill a tool's arguments, or a demanded answer, from its JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from support.model_server.asked import Tool

__all__ = ["sample", "shell_arguments", "shell_tool", "write_arguments", "write_tool"]

WRITTEN_TEXT = "scripted content\n"

_COMMAND = {"command", "cmd", "commands", "script"}
_PATH = {"absolutepath", "file", "filename", "filepath", "path", "targetfile"}
_CONTENT = {"content", "contents", "filecontent", "filetext", "newstring", "text"}
_SHELL_NAME = re.compile(r"bash|shell|terminal|exec|run.?command", re.IGNORECASE)
_WRITE_NAME = re.compile(r"write|create.?file|fs.?write|edit|patch", re.IGNORECASE)
_WRITE_FIRST = re.compile(r"(^|[_.])write(_?(to_?)?(text_?)?file)?$", re.IGNORECASE)


def shell_tool(tools: tuple[Tool, ...]) -> Tool | None:
    """Pick the offered tool that runs a command line, by its name and by having a place for the command."""
    for tool in tools:
        if _SHELL_NAME.search(tool.name) and (tool.name == "local_shell" or _has(tool, _COMMAND)):
            return tool
    return None


def write_tool(tools: tuple[Tool, ...]) -> Tool | None:
    """Pick the offered tool that writes a whole file; an editing or patching tool only where none does."""
    fitting = [
        tool
        for tool in tools
        if _WRITE_NAME.search(tool.name)
        and (tool.is_freeform or (_has(tool, _PATH) and _has(tool, _CONTENT)))
    ]
    return next((tool for tool in fitting if _WRITE_FIRST.search(tool.name)), next(iter(fitting), None))


def shell_arguments(tool: Tool, command: str, *, escalate: bool) -> dict[str, Any]:
    """Arguments with which `tool` runs `command`, with a request to leave the sandbox if `escalate`."""
    if tool.name == "local_shell":
        return {"command": ["bash", "-lc", command]}
    known: dict[str, Any] = {"description": "Run a scripted command"}
    if escalate:
        known |= {"sandboxpermissions": "require_escalated", "justification": "Allow the scripted command?"}
    filled = _filled(tool.schema, known)
    for name, schema in _properties(tool.schema).items():
        if _plain(name) in _COMMAND:
            filled[name] = _command_value(schema, command)
    return filled


def write_arguments(tool: Tool, path: str) -> dict[str, Any]:
    """Arguments with which `tool` writes the scripted text to `path`."""
    known = dict.fromkeys(_PATH, path) | dict.fromkeys(_CONTENT, WRITTEN_TEXT)
    filled = _filled(tool.schema, known)
    for name, schema in _properties(tool.schema).items():
        # Some editors are one tool with a `command` member that names the operation.
        if _plain(name) == "command" and "create" in schema.get("enum", ()):
            filled[name] = "create"
    return filled


def sample(schema: Mapping[str, Any]) -> Any:
    """Make the plainest value that fits `schema`: first alternatives, required members only."""
    if schema.get("enum"):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for union in ("anyOf", "oneOf"):
        if schema.get(union):
            return sample(schema[union][0])
    match _kind(schema):
        case "object":
            required = schema.get("required") or list(_properties(schema))
            return {name: sample(_properties(schema).get(name, {"type": "string"})) for name in required}
        case "array":
            return [sample(schema.get("items") or {"type": "string"})]
        case "number" | "integer":
            return 1
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return "scripted"


def _command_value(schema: Mapping[str, Any], command: str) -> Any:
    if _kind(schema) != "array":
        return command
    item: Mapping[str, Any] = schema.get("items") or {}
    if _kind(item) == "object":
        return [_filled(item, dict.fromkeys(_COMMAND, command))]
    return ["bash", "-lc", command]


def _filled(schema: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    required: list[str] = schema.get("required") or []
    filled: dict[str, Any] = {}
    for name, member in _properties(schema).items():
        if _plain(name) in known:
            filled[name] = known[_plain(name)]
        elif name in required:
            filled[name] = sample(member)
    return filled


def _has(tool: Tool, names: set[str]) -> bool:
    return any(_plain(name) in names for name in _properties(tool.schema))


def _properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return cast(dict[str, Mapping[str, Any]], schema.get("properties") or {})


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _kind(schema: Mapping[str, Any]) -> str:
    kind: Any = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in cast(list[str], kind) if one != "null"), "null")
    if kind is None:
        return "object" if schema.get("properties") else "string"
    return str(kind).lower()
