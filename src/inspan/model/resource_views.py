"""Views of resources: where a harness's places are in one workspace, and what lies there."""

from __future__ import annotations

from typing import Literal

import msgspec

from .plan import Problem
from .resource import ResourceKind, ResourceMode

__all__ = ["ResourceView", "ResourcesView"]


class ResourceView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place of resources in one workspace.

    Attributes:
        kind: What they are.
        mode: How one lies there.
        target: The manifest's own template.
        path: Where that is here, absolute; `{id}` stays where no resource was named.
        exists: Whether something is there, of the form that `mode` says; for a place of many, whether any is.
        found: The names of the resources that are there, where the target has an `{id}`.
        problem: Why nothing may be read or written there.
        source: Where the fact comes from.
        verified: Date and version.
    """

    kind: ResourceKind
    mode: ResourceMode
    target: str
    path: str
    exists: Literal["yes", "no", "unknown"]
    found: tuple[str, ...] = ()
    problem: Problem | None = None
    source: str = ""
    verified: str = ""


class ResourcesView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a harness reads resources in one workspace; none where its manifest names no place."""

    harness: str
    workspace: str
    places: tuple[ResourceView, ...] = ()
