"""The client's call about resources: where a harness reads guidance, skills and the like."""

from __future__ import annotations

import os

from inspan.model.resource_views import ResourcesView

from .wire import Wire, segment

__all__ = ["ResourceCalls"]


class ResourceCalls:
    """A part of `inspan.client.client.Client`."""

    _wire: Wire

    async def list_resources(
        self, harness: str, workspace: str | os.PathLike[str], *, resource: str | None = None
    ) -> ResourcesView:
        """Where a harness reads guidance, skills and the like in a project, and what lies there.

        Args:
            harness: The harness's id.
            workspace: The project; a relative path starts at this program's current folder.
            resource: Only where one of this name is, or would be.

        Raises:
            UsageError: `unknown_harness`, `workspace_missing`, `invalid_argument`.
        """
        params = {"workspace": _absolute(workspace), "resource": resource}
        path = f"/v1/harnesses/{segment(harness, 'harness')}/resources"
        return await self._wire.call("GET", path, ResourcesView, params=params)


def _absolute(path: str | os.PathLike[str]) -> str:
    # The daemon's current folder is another.
    return os.path.abspath(path)
