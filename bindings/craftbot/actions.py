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
        shapes = tool["parameters"]["properties"]
        # The host adds keys of its own, and leaves out nothing: what is not given comes as None.
        given = {key: value for key, value in input_data.items() if key in shapes and value is not None}
        return call_tool(name, {key: _read(value, shapes[key]["type"]) for key, value in given.items()})

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


def _read(value: Any, wanted: str) -> Any:
    """A value that the host gives as text, as what it stands for; what it cannot stand for stays as it is."""
    if not isinstance(value, str) or wanted == "string":
        return value
    if wanted == "boolean":
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
            value.strip().lower(), value
        )
    try:
        return json.loads(value)
    except ValueError:
        return value
