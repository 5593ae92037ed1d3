"""Requests: the whole of what somebody wants done, across attempts and seats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from litestar import get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from inspan.daemon.services import Seats
from inspan.model.request_views import HandOffRequest, RequestView

__all__ = ["REQUEST_ROUTES"]

WholeId = Annotated[str, PathParameter(description="The request's id, as its prompts named it.")]


@get("/v1/requests", operation_id="list_requests", tags=["requests"], summary="List requests")
async def list_requests(
    seats: Seats,
    all_: Annotated[bool, QueryParameter(name="all", description="The settled ones too.")] = False,  # noqa: FBT002
) -> Sequence[RequestView]:
    """The open requests, or all, in the order in which they were opened."""
    return await seats.list_requests(include_settled=all_)


@get("/v1/requests/{request_id:str}", operation_id="get_request", tags=["requests"], summary="Show a request")
async def get_request(seats: Seats, request_id: WholeId) -> RequestView:
    """One request, with every attempt at it and every handoff."""
    return await seats.get_request(request_id)


@post(
    "/v1/requests/{request_id:str}/handoff",
    operation_id="hand_off_request",
    tags=["requests"],
    summary="Hand a request off",
    status_code=202,
)
async def hand_off_request(seats: Seats, request_id: WholeId, data: JSONBody[HandOffRequest]) -> RequestView:
    """Has the request go on in another seat: at once, or when the attempt that is under way has ended.

    An attempt that completes settles the request, whatever was declared.
    """
    return await seats.hand_off_request(request_id, data)


@post(
    "/v1/requests/{request_id:str}/settle",
    operation_id="settle_request",
    tags=["requests"],
    summary="Close a request",
    status_code=200,
)
async def settle_request(seats: Seats, request_id: WholeId) -> RequestView:
    """Closes a request that nobody will go on with."""
    return await seats.settle_request(request_id)


REQUEST_ROUTES = (list_requests, get_request, hand_off_request, settle_request)
"""The routes of this module."""
