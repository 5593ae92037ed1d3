"""Agent Apps as actions of CraftBot: each tool of the table, registered by `agent_core.action`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .running import call_tool
from .shim import HostAction, load_action

__all__ = ["register_actions"]

_TABLE = json.loads((Path(__file__).parent / "tools.json").read_text(encoding="utf-8"))
_OUTPUT = {
    "status": {
        "type": "string",
        "example": "success",
        "description": "success, or error for what could not be run",
    },
    "output": {"type": "string", "description": "what the program said; a refusal is in it, with what to do"},
    "exit_code": {
        "type": "integer",
        "example": 0,
        "description": "of the program; 3 where the app cannot be reached",
    },
}


def register_actions(action: HostAction | None = None) -> list[Any]:
    """Registers every tool, and gives the registered functions. `action` is the host's, unless another is given."""
    decorate = action or load_action()
    return [_registered(tool, decorate) for tool in _TABLE["tools"]]


def _registered(tool: dict[str, Any], decorate: HostAction) -> Any:
    name = tool["name"]
    required = set(tool["parameters"]["required"])

    def run(input_data: dict[str, Any]) -> dict[str, Any]:
        given = {key: value for key, value in input_data.items() if key in tool["parameters"]["properties"]}
        return call_tool(name, given)

    run.__name__ = name
    run.__doc__ = tool["description"]
    schema = {
        key: {
            "type": shape["type"],
            "description": shape["description"] + ("" if key in required else " Optional."),
        }
        for key, shape in tool["parameters"]["properties"].items()
    }
    return decorate(
        name=name,
        description=tool["description"],
        mode="CLI",
        action_sets=["agent_app"],
        input_schema=schema,
        output_schema=_OUTPUT,
        parallelizable=tool["isReadOnly"],
    )(run)
