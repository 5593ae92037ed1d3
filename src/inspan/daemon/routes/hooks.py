"""Hooks: where a harness is told of the hook relay."""

from __future__ import annotations

from typing import Annotated

from litestar import delete, get, post
from litestar.params import PathParameter, QueryParameter

from inspan.daemon.services import Seats
from inspan.model.hook_views import HooksView

__all__ = ["HOOK_ROUTES"]

Target = Annotated[str, PathParameter(description="A seat's name, or else a harness's id.")]


@get(
    "/v1/hooks/{target:str}", operation_id="show_hooks", tags=["harnesses"], summary="Show a harness's hooks"
)
async def show_hooks(seats: Seats, target: Target) -> HooksView:
    """Where a harness is told of the hook relay, and how it stands with each place."""
    return await seats.show_hooks(target)


@post(
    "/v1/hooks/{target:str}",
    operation_id="install_hooks",
    tags=["harnesses"],
    summary="Install a harness's hooks",
    status_code=200,
)
async def install_hooks(
    seats: Seats,
    target: Target,
    *,
    shared: Annotated[
        bool,
        QueryParameter(description="Into the operator's own file, also where each launch is told by itself."),
    ] = False,
) -> HooksView:
    """Puts the relay into the operator's own file, where no launch is told of it by itself. Twice is once."""
    return await seats.install_hooks(target, shared=shared)


@delete(
    "/v1/hooks/{target:str}",
    operation_id="remove_hooks",
    tags=["harnesses"],
    summary="Remove a harness's hooks",
    status_code=200,
)
async def remove_hooks(seats: Seats, target: Target) -> HooksView:
    """Takes the relay out of the operator's own files, which are not deleted."""
    return await seats.remove_hooks(target)


HOOK_ROUTES = (show_hooks, install_hooks, remove_hooks)
"""The routes of this module."""
