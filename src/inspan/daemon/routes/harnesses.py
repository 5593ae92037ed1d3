"""Harnesses: which there are, and what an installed one says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from litestar import get, post
from litestar.params import QueryParameter

from inspan.daemon.services import HarnessId, Seats
from inspan.model.plan import ProbeResult
from inspan.model.resource_views import ResourcesView
from inspan.model.views import HarnessView

__all__ = ["HARNESS_ROUTES"]


@get("/v1/harnesses", operation_id="list_harnesses", tags=["harnesses"], summary="List harnesses")
async def list_harnesses(seats: Seats) -> Sequence[HarnessView]:
    """All harnesses that are registered, with what keeps one from being used."""
    return await seats.list_harnesses()


@get("/v1/harnesses/{harness:str}", operation_id="get_harness", tags=["harnesses"], summary="Show a harness")
async def get_harness(seats: Seats, harness: HarnessId) -> HarnessView:
    """One harness."""
    return await seats.get_harness(harness)


@post(
    "/v1/harnesses/{harness:str}/probe",
    operation_id="probe_harness",
    tags=["harnesses"],
    summary="Probe a harness",
    status_code=200,
)
async def probe_harness(seats: Seats, harness: HarnessId) -> ProbeResult:
    """Asks the installed program what it is. No model is called."""
    return await seats.probe_harness(harness)


@get(
    "/v1/harnesses/{harness:str}/resources",
    operation_id="list_resources",
    tags=["harnesses"],
    summary="List a harness's resources in a project",
)
async def list_resources(
    seats: Seats,
    harness: HarnessId,
    workspace: Annotated[str, QueryParameter(description="The project, an absolute path.")],
    resource: Annotated[str | None, QueryParameter(description="Only where one of this name is.")] = None,
) -> ResourcesView:
    """Where the harness reads guidance, skills and the like in a project, and what lies there."""
    return await seats.list_resources(harness, workspace, resource=resource)


HARNESS_ROUTES = (list_harnesses, get_harness, probe_harness, list_resources)
"""The routes of this module."""
