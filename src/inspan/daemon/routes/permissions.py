"""Permission requests: which are open, and the answer to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from litestar import get, post
from litestar.params import JSONBody, QueryParameter

from inspan.daemon.services import RequestId, Seats
from inspan.model.views import AnswerPermission, PermissionView

__all__ = ["PERMISSION_ROUTES"]


@get(
    "/v1/permissions",
    operation_id="list_permissions",
    tags=["permissions"],
    summary="List permission requests",
)
async def list_permissions(
    seats: Seats,
    seat: Annotated[str | None, QueryParameter(description="Only those of this seat.")] = None,
    all_: Annotated[bool, QueryParameter(name="all", description="The closed ones too.")] = False,  # noqa: FBT002
) -> Sequence[PermissionView]:
    """The open permission requests, or all, in the order in which they were opened."""
    return await seats.list_permissions(seat=seat, include_closed=all_)


@get(
    "/v1/permissions/{request_id:str}",
    operation_id="get_permission",
    tags=["permissions"],
    summary="Show a permission request",
)
async def get_permission(seats: Seats, request_id: RequestId) -> PermissionView:
    """One permission request, with what was decided."""
    return await seats.get_permission(request_id)


@post(
    "/v1/permissions/{request_id:str}/answer",
    operation_id="answer_permission",
    tags=["permissions"],
    summary="Answer a permission request",
    status_code=200,
)
async def answer_permission(
    seats: Seats, request_id: RequestId, data: JSONBody[AnswerPermission]
) -> PermissionView:
    """Answers an open request, once. A second answer, the same one included, is refused."""
    return await seats.answer_permission(request_id, data)


PERMISSION_ROUTES = (list_permissions, get_permission, answer_permission)
"""The routes of this module."""
