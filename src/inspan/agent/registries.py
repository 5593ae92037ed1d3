"""What an agent has of tools, pages and ways to sign in, and who brought each.

A taken name is refused, whoever has it: nobody replaces what another brought. What is registered is taken out by who
registered it alone. Nothing here starts a task or opens a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.leases import Lease, OwnerLease
from inspan.agent.plugins.contract import Page, PageContext
from inspan.agent.tools.contract import TOOL_NAME, Tool
from inspan.agent.values import Json, JsonObject
from inspan.model.errors import PluginError, UsageError

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

_PAGE_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
_ItemT = TypeVar("_ItemT", bound="OwnedTool | OwnedPage")


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


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedPage:
    """A page and who brought it; see `OwnedTool`."""

    page: Page
    owner: str
    lease: Lease


class _Named(Generic[_ItemT]):
    """Items by name, in the order in which they came."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._items: dict[str, _ItemT] = {}

    def put(self, name: str, item: _ItemT) -> None:
        if (taken := self._items.get(name)) is not None:
            raise _conflict(self._kind, name, item.owner, taken.owner)
        self._items[name] = item

    def remove(self, name: str, owner: str) -> None:
        """Takes it out if `owner` has it; does nothing else otherwise."""
        if (item := self._items.get(name)) is not None and item.owner == owner:
            del self._items[name]

    def get(self, name: str) -> _ItemT | None:
        return self._items.get(name)

    def list(self) -> tuple[_ItemT, ...]:
        return tuple(self._items.values())


class ToolRegistry:
    """The tools of one agent."""

    def __init__(self) -> None:
        self._named = _Named[OwnedTool]("tool")

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
        if (taken := self._shared.get(tool.name)) is not None:
            raise _conflict("tool", tool.name, owner, taken.owner)
        super().add(tool, owner, lease)

    def get(self, name: str) -> OwnedTool | None:
        """The tool of this name, the agent's first, or None."""
        return self._shared.get(name) or super().get(name)

    def list(self) -> tuple[OwnedTool, ...]:
        """All tools: the agent's, then its own."""
        shared = self._shared.list()
        names = {owned.tool.name for owned in shared}
        return (*shared, *(owned for owned in super().list() if owned.tool.name not in names))


class PageRegistry:
    """The pages of one agent. The host draws them; here their handlers are asked."""

    def __init__(self) -> None:
        self._named = _Named[OwnedPage]("page")

    def add(self, page: Page, owner: str, lease: Lease) -> None:
        """Adds a page.

        Raises:
            PluginError: `plugin_conflict` or `plugin_contribution_invalid`.
        """
        _check_page(page, owner)
        self._named.put(page.id, OwnedPage(page=page, owner=owner, lease=lease))

    def remove(self, name: str, owner: str) -> None:
        """Takes out the page of this id if this owner has it. Calling it twice is safe."""
        self._named.remove(name, owner)

    def get(self, name: str) -> OwnedPage | None:
        """The page of this id, or None."""
        return self._named.get(name)

    def list(self) -> tuple[OwnedPage, ...]:
        """All pages, in the order in which they came."""
        return self._named.list()

    async def read(self, page_id: str, cancel: CancelSignal, *, workspace: Path | None = None) -> Json:
        """The page's data, as it is for a session in `workspace`.

        Raises:
            UsageError: `invalid_argument`: there is no such page.
            PluginError: `plugin_failed` with the class of what its handler raised, or `plugin_stopped`.
        """
        owned = self._owned(page_id)
        return await self._ask(owned, owned.page.read, cancel, workspace)

    async def act(
        self,
        page_id: str,
        action: str,
        arguments: JsonObject,
        cancel: CancelSignal,
        *,
        workspace: Path | None = None,
    ) -> Json:
        """Does what a person asked for on the page. Errors are those of `read`; an unknown action is one too."""
        owned = self._owned(page_id)
        handler = owned.page.actions.get(action)
        if handler is None:
            raise UsageError(
                f"The page '{page_id}' has no action '{action}'.",
                hint=f"It has: {', '.join(owned.page.actions) or 'none'}.",
                detail={"page": page_id, "actions": list(owned.page.actions)},
            )
        return await self._ask(owned, lambda ctx: handler(arguments, ctx), cancel, workspace)

    def _owned(self, page_id: str) -> OwnedPage:
        owned = self.get(page_id)
        if owned is None:
            known = [one.page.id for one in self.list()]
            raise UsageError(
                f"There is no page '{page_id}'.",
                hint=f"There are: {', '.join(known) or 'none'}.",
                detail={"pages": known},
            )
        return owned

    async def _ask(
        self,
        owned: OwnedPage,
        handler: Callable[[Any], Awaitable[Json]],
        cancel: CancelSignal,
        workspace: Path | None,
    ) -> Json:
        joined = CancelSource(cancel, owned.lease.signal)
        try:
            with owned.lease.enter():
                failed = ""
                try:
                    return await handler(PageContext(cancel=joined.signal, workspace=workspace))
                except BaseException as error:
                    if not is_fault(error):
                        raise
                    failed = fault_name(error)
        finally:
            joined.close()
        raise PluginError(
            f"The page '{owned.page.id}' of '{owned.owner}' failed with {failed}.",
            detail={"page": owned.page.id, "owner": owned.owner, "error": failed},
        )


def check_tool(tool: Tool, owner: str) -> None:
    """Whether a tool can be shown to a model and called.

    Raises:
        PluginError: `plugin_contribution_invalid`: not a `Tool`, a name that providers refuse, no description, or an
            input schema that is no JSON Schema of an object.
    """
    if not isinstance(cast(object, tool), Tool):
        raise _invalid(owner, "tool", "", "it is no inspan.agent.tools.contract.Tool")
    name = cast(object, tool.name)
    if not isinstance(name, str) or TOOL_NAME.fullmatch(name) is None:
        raise _invalid(owner, "tool", "", f"its name does not match {TOOL_NAME.pattern}")
    description = cast(object, tool.description)
    if not isinstance(description, str) or not description.strip():
        raise _invalid(owner, "tool", name, "it has no description")
    if not callable(tool.execute):
        raise _invalid(owner, "tool", name, "its execute cannot be called")
    schema = cast(object, tool.input_schema)
    if not isinstance(schema, dict) or cast(dict[str, object], schema).get("type") != "object":
        raise _invalid(owner, "tool", name, "its input schema is no JSON Schema of type 'object'")
    if not _is_json_schema(cast(dict[str, Any], schema)):
        raise _invalid(owner, "tool", name, "its input schema is no valid JSON Schema")


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


def _check_page(page: Page, owner: str) -> None:
    if not isinstance(cast(object, page), Page):
        raise _invalid(owner, "page", "", "it is no inspan.agent.plugins.contract.Page")
    page_id = cast(object, page.id)
    if not isinstance(page_id, str) or _PAGE_ID.fullmatch(page_id) is None:
        raise _invalid(owner, "page", "", f"its id does not match {_PAGE_ID.pattern}")
    title = cast(object, page.title)
    if not isinstance(title, str) or not title.strip():
        raise _invalid(owner, "page", page_id, "it has no title")
    if not callable(page.read) or not all(callable(action) for action in page.actions.values()):
        raise _invalid(owner, "page", page_id, "one of its handlers cannot be called")
    for block in page.blocks:
        kind = block.get("type") if isinstance(cast(object, block), dict) else None
        if kind not in _BLOCKS:
            raise _invalid(owner, "page", page_id, f"a block is none of {', '.join(sorted(_BLOCKS))}")


_BLOCKS = frozenset({"text", "table", "list", "form", "keyvalue"})


def _conflict(kind: str, name: str, owner: str, taken_by: str) -> PluginError:
    return PluginError(
        f"'{owner}' wants to register the {kind} '{name}', which '{taken_by}' has already.",
        code="plugin_conflict",
        hint=f"Give the {kind} another name; nothing is replaced.",
        detail={"kind": kind, "name": name, "owner": owner, "taken_by": taken_by},
    )


def _invalid(owner: str, kind: str, name: str, fact: str) -> PluginError:
    named = f" '{name}'" if name else ""
    return PluginError(
        f"The {kind}{named} of '{owner}' is refused: {fact}.",
        code="plugin_contribution_invalid",
        detail={"owner": owner, "kind": kind, "name": name},
    )
