"""What an agent has of tools, and who brought each; the tools that a session has beside them.

A taken name is refused, whoever has it: nobody replaces what another brought. What is registered is taken out by who
registered it alone. Nothing here starts a task or opens a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from inspan.agent.leases import Lease, OwnerLease
from inspan.agent.pages import OwnedPage, PageRegistry
from inspan.agent.taken_names import TakenNames, invalid
from inspan.agent.tools.contract import TOOL_NAME, Tool

__all__ = [
    "Lease",
    "OwnedPage",
    "OwnedTool",
    "OwnerLease",
    "PageRegistry",
    "SessionTools",
    "ToolRegistry",
    "check_tool",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedTool:
    """A tool and who brought it.

    Attributes:
        tool: The tool.
        owner: A plugin's id, `builtin` or `embedder`.
        lease: Under which each of its calls is made.
    """

    tool: Tool
    owner: str
    lease: Lease


class ToolRegistry:
    """The tools of one agent."""

    def __init__(self) -> None:
        self._named = TakenNames[OwnedTool]("tool")

    def add(self, tool: Tool, owner: str, lease: Lease) -> None:
        """Adds a tool.

        Raises:
            PluginError: `plugin_conflict`: the name is taken; `plugin_contribution_invalid`: see `check_tool`.
        """
        check_tool(tool, owner)
        self._named.put(tool.name, OwnedTool(tool=tool, owner=owner, lease=lease))

    def remove(self, name: str, owner: str) -> None:
        """Takes out the tool of this name if this owner has it. Calling it twice is safe."""
        self._named.remove(name, owner)

    def get(self, name: str) -> OwnedTool | None:
        """The tool of this name, or None."""
        return self._named.get(name)

    def refuse_taken(self, name: str, owner: str) -> None:
        """Raises what `add` would for a name that is taken, for whoever keeps further tools beside these."""
        self._named.refuse_taken(name, owner)

    def list(self) -> tuple[OwnedTool, ...]:
        """All tools, in the order in which they came."""
        return self._named.list()


class SessionTools(ToolRegistry):
    """The tools of one session: those of its agent, and what it alone has. Nothing of it is seen by another session.

    Args:
        shared: The agent's, as they are at any time.
    """

    def __init__(self, shared: ToolRegistry) -> None:
        super().__init__()
        self._shared = shared

    def add(self, tool: Tool, owner: str, lease: Lease) -> None:
        """Adds a tool to this session alone; see `ToolRegistry.add`. The agent's names are taken here too."""
        check_tool(tool, owner)
        self.refuse_taken(tool.name, owner)
        super().add(tool, owner, lease)

    def refuse_taken(self, name: str, owner: str) -> None:
        """Raises what `add` would for a name that is taken here or in the agent."""
        self._shared.refuse_taken(name, owner)
        super().refuse_taken(name, owner)

    def get(self, name: str) -> OwnedTool | None:
        """The tool of this name, the agent's first, or None."""
        return self._shared.get(name) or super().get(name)

    def list(self) -> tuple[OwnedTool, ...]:
        """All tools: the agent's, then its own."""
        shared = self._shared.list()
        names = {owned.tool.name for owned in shared}
        return (*shared, *(owned for owned in super().list() if owned.tool.name not in names))


def check_tool(tool: Tool, owner: str) -> None:
    """Whether a tool can be shown to a model and called.

    Raises:
        PluginError: `plugin_contribution_invalid`: not a `Tool`, a name that providers refuse, no description, or an
            input schema that is no JSON Schema of an object.
    """
    if not isinstance(cast(object, tool), Tool):
        raise invalid(owner, "tool", "", "it is no inspan.agent.tools.contract.Tool")
    name = cast(object, tool.name)
    if not isinstance(name, str) or TOOL_NAME.fullmatch(name) is None:
        raise invalid(owner, "tool", "", f"its name does not match {TOOL_NAME.pattern}")
    description = cast(object, tool.description)
    if not isinstance(description, str) or not description.strip():
        raise invalid(owner, "tool", name, "it has no description")
    if not callable(tool.execute):
        raise invalid(owner, "tool", name, "its execute cannot be called")
    schema = cast(object, tool.input_schema)
    if not isinstance(schema, dict) or cast(dict[str, object], schema).get("type") != "object":
        raise invalid(owner, "tool", name, "its input schema is no JSON Schema of type 'object'")
    if not _is_json_schema(cast(dict[str, Any], schema)):
        raise invalid(owner, "tool", name, "its input schema is no valid JSON Schema")


def _is_json_schema(schema: dict[str, Any]) -> bool:
    try:
        text = json.dumps(schema, sort_keys=True)
    except (TypeError, ValueError, RecursionError):  # something in it is no JSON
        return False
    return _is_schema_text(text)


@lru_cache(maxsize=1_024)
def _is_schema_text(text: str) -> bool:
    """Whether a schema is one. It takes a millisecond, and each agent brings the same ones again."""
    try:
        from jsonschema import Draft202012Validator, SchemaError
    except ImportError:  # the extra is not there: what calls tools says so
        return True
    try:
        Draft202012Validator.check_schema(json.loads(text))
    except SchemaError:
        return False
    return True
