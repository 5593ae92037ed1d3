"""Who calls, and what that caller may do."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from inspan.apps.model.app_model import AppModel

__all__ = ["ANONYMOUS", "EVERYTHING", "UI", "Caller", "Grant", "Scopes", "all_scopes", "anonymous_scopes"]

ANONYMOUS = "anonymous"
"""The credential id of who shows none."""

UI = "ui"
"""The credential id of the app's own page."""

EVERYTHING = "*"
"""The scope that stands for all of them."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What the holder of a token may do.

    Attributes:
        token: The secret. Never shown.
        credential_id: Its name, which is shown.
        agent_name: Who it was given to.
        principal: On whose behalf they act.
        scopes: `data:ENTITY:read`, `data:ENTITY:write`, `op:NAME`, or `*` for all.
    """

    token: str
    credential_id: str
    agent_name: str | None = None
    principal: str | None = "owner"
    scopes: tuple[str, ...] = (EVERYTHING,)

    def __repr__(self) -> str:
        """Its name; the token stays out of logs and tracebacks."""
        return f"Grant(credential_id={self.credential_id!r})"


class Scopes:
    """A set of scopes, asked by what they allow."""

    def __init__(self, scopes: Iterable[str]) -> None:
        """Holds `scopes`, which are expanded: no `*` is among them."""
        self.held = frozenset(scopes)

    def can_read(self, entity: str) -> bool:
        """Whether records of the entity may be read."""
        return f"data:{entity}:read" in self.held

    def can_write(self, entity: str) -> bool:
        """Whether records of the entity may be written."""
        return f"data:{entity}:write" in self.held

    def can_run(self, operation: str) -> bool:
        """Whether the operation may be called."""
        return f"op:{operation}" in self.held


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls.

    Attributes:
        credential_id: `anonymous`, `ui`, or the id of the grant.
        agent_name: Who the credential was given to, or who the caller says it is.
        principal: On whose behalf it acts.
        scopes: What it may do.
    """

    credential_id: str
    agent_name: str | None
    principal: str | None
    scopes: Scopes


def all_scopes(model: AppModel) -> Scopes:
    """Every scope that the app has."""
    data = [f"data:{entity.name}:{right}" for entity in model.entities for right in ("read", "write")]
    return Scopes([*data, *(f"op:{operation.name}" for operation in model.operations)])


def anonymous_scopes(model: AppModel) -> Scopes:
    """What needs no credential: on a single-user app reads and read-only operations, else nothing."""
    if model.auth_mode != "none":
        return Scopes(())
    reads = [f"data:{entity.name}:read" for entity in model.entities]
    return Scopes(
        [*reads, *(f"op:{operation.name}" for operation in model.operations if operation.read_only)]
    )
