"""Names that are taken once: nobody replaces what another brought, and who brought it alone takes it out again."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from inspan.model.errors import PluginError

__all__ = ["Owned", "TakenNames", "invalid"]


class Owned(Protocol):
    """Something that somebody brought."""

    @property
    def owner(self) -> str:
        """A plugin's id, `builtin` or `embedder`."""
        ...


_ItemT = TypeVar("_ItemT", bound=Owned)


class TakenNames(Generic[_ItemT]):
    """Items by name, in the order in which they came.

    Args:
        kind: What they are, for the refusal.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._items: dict[str, _ItemT] = {}

    def put(self, name: str, item: _ItemT) -> None:
        """Adds an item.

        Raises:
            PluginError: `plugin_conflict`: the name is taken.
        """
        self.refuse_taken(name, item.owner)
        self._items[name] = item

    def refuse_taken(self, name: str, owner: str) -> None:
        """Raises what `put` would, for whoever keeps further items under these names."""
        if (taken := self._items.get(name)) is not None:
            raise PluginError(
                f"'{owner}' wants to register the {self._kind} '{name}', which '{taken.owner}' has already.",
                code="plugin_conflict",
                hint=f"Give the {self._kind} another name; nothing is replaced.",
                detail={"kind": self._kind, "name": name, "owner": owner, "taken_by": taken.owner},
            )

    def remove(self, name: str, owner: str) -> None:
        """Takes it out if `owner` has it; does nothing else otherwise."""
        if (item := self._items.get(name)) is not None and item.owner == owner:
            del self._items[name]

    def get(self, name: str) -> _ItemT | None:
        """The item of this name, or None."""
        return self._items.get(name)

    def list(self) -> tuple[_ItemT, ...]:
        """All items."""
        return tuple(self._items.values())


def invalid(owner: str, kind: str, name: str, fact: str) -> PluginError:
    """The refusal of something that is not what its kind has to be; `name` may be empty."""
    named = f" '{name}'" if name else ""
    return PluginError(
        f"The {kind}{named} of '{owner}' is refused: {fact}.",
        code="plugin_contribution_invalid",
        detail={"owner": owner, "kind": kind, "name": name},
    )
