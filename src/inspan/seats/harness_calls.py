"""Calls about harnesses themselves: which there are, what an installed one says, and where it reads resources."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from inspan.model.plan import ProbeResult
from inspan.model.resource_views import ResourcesView
from inspan.model.views import HarnessView
from inspan.plugin.resources import check_resource_id, look_at_place

from .checks import check_workspace
from .harnesses import Harnesses

__all__ = ["HarnessCalls"]


class HarnessCalls:
    """The part of the service that needs no seat."""

    _harnesses: Harnesses

    async def list_harnesses(self) -> Sequence[HarnessView]:
        """See `SeatService`."""
        return self._harnesses.views()

    async def get_harness(self, harness: str) -> HarnessView:
        """See `SeatService`."""
        return self._harnesses.view(harness)

    async def probe_harness(self, harness: str) -> ProbeResult:
        """See `SeatService`."""
        return await self._harnesses.probe(harness)

    async def list_resources(
        self, harness: str, workspace: str, *, resource: str | None = None
    ) -> ResourcesView:
        """See `SeatService`."""
        manifest = self._harnesses.registry.manifest(harness)
        folder = check_workspace(workspace)
        if resource is not None:
            check_resource_id(resource)
        places = await asyncio.to_thread(
            lambda: tuple(look_at_place(place, folder, resource) for place in manifest.resources)
        )
        return ResourcesView(harness=manifest.id, workspace=folder, places=places)
