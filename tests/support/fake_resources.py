"""The part of the scripted service that is about resources: it says what it was asked."""

from __future__ import annotations

from inspan.model.resource import ResourceKind, ResourceMode
from inspan.model.resource_views import ResourcesView, ResourceView

__all__ = ["FakeResources"]


class FakeResources:
    """Resources in memory."""

    async def list_resources(
        self, harness: str, workspace: str, *, resource: str | None = None
    ) -> ResourcesView:
        place = ResourceView(
            kind=ResourceKind.SKILL,
            mode=ResourceMode.DIRECTORY,
            target="{projectRoot}/skills/{id}",
            path=f"{workspace}/skills/{resource}",
            exists="no",
        )
        return ResourcesView(harness=harness, workspace=workspace, places=(place,))
