"""What an agent has of pages, and who brought each. Nothing here starts a task or opens a file."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.leases import Lease
from inspan.agent.plugins.contract import Page, PageContext
from inspan.agent.taken_names import TakenNames, invalid
from inspan.agent.values import Json, JsonObject
from inspan.model.errors import PluginError, UsageError

__all__ = ["OwnedPage", "PageRegistry"]

_PAGE_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
_BLOCKS = frozenset({"text", "table", "list", "form", "keyvalue"})


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedPage:
    """A page and who brought it.

    Attributes:
        page: The page.
        owner: A plugin's id, `builtin` or `embedder`.
        lease: Under which each of its handlers is asked.
    """

    page: Page
    owner: str
    lease: Lease


class PageRegistry:
    """The pages of one agent. The host draws them; here their handlers are asked."""

    def __init__(self) -> None:
        self._named = TakenNames[OwnedPage]("page")

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


def _check_page(page: Page, owner: str) -> None:
    if not isinstance(cast(object, page), Page):
        raise invalid(owner, "page", "", "it is no inspan.agent.plugins.contract.Page")
    page_id = cast(object, page.id)
    if not isinstance(page_id, str) or _PAGE_ID.fullmatch(page_id) is None:
        raise invalid(owner, "page", "", f"its id does not match {_PAGE_ID.pattern}")
    title = cast(object, page.title)
    if not isinstance(title, str) or not title.strip():
        raise invalid(owner, "page", page_id, "it has no title")
    if not callable(page.read) or not all(callable(action) for action in page.actions.values()):
        raise invalid(owner, "page", page_id, "one of its handlers cannot be called")
    for block in page.blocks:
        kind = block.get("type") if isinstance(cast(object, block), dict) else None
        if kind not in _BLOCKS:
            raise invalid(owner, "page", page_id, f"a block is none of {', '.join(sorted(_BLOCKS))}")
