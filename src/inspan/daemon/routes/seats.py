"""Seats: add, look at, start, stop, remove."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from litestar import delete, get, post
from litestar.params import JSONBody, QueryParameter

from inspan.daemon.services import SeatName, Seats
from inspan.model.views import AddSeat, ExplainView, SeatView

__all__ = ["SEAT_ROUTES", "StartSeat"]


class StartSeat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asks for a seat to be started.

    Attributes:
        fresh: Begin a new conversation instead of resuming the seat's own.
        session: Take up this conversation of the harness's instead; it becomes the seat's own once it is open.
    """

    fresh: bool = False
    session: str | None = None


@get("/v1/seats", operation_id="list_seats", tags=["seats"], summary="List seats")
async def list_seats(seats: Seats) -> Sequence[SeatView]:
    """All seats that were not removed, in the order in which they were added."""
    return await seats.list_seats()


@post("/v1/seats", operation_id="add_seat", tags=["seats"], summary="Add a seat", status_code=201)
async def add_seat(seats: Seats, data: JSONBody[AddSeat]) -> SeatView:
    """Makes a seat. Nothing is started yet."""
    return await seats.add_seat(data)


@get("/v1/seats/{name:str}", operation_id="get_seat", tags=["seats"], summary="Show a seat")
async def get_seat(seats: Seats, name: SeatName) -> SeatView:
    """One seat."""
    return await seats.get_seat(name)


@delete(
    "/v1/seats/{name:str}",
    operation_id="remove_seat",
    tags=["seats"],
    summary="Remove a seat",
    status_code=200,
)
async def remove_seat(
    seats: Seats,
    name: SeatName,
    stop: Annotated[bool, QueryParameter(description="Stop its harness first, where one runs.")] = False,  # noqa: FBT002
    delete_config: Annotated[  # noqa: FBT002
        bool, QueryParameter(description="Remove its own configuration folder too, where it has one.")
    ] = False,
) -> SeatView:
    """Removes a seat; its history stays in the log."""
    return await seats.remove_seat(name, stop=stop, delete_config=delete_config)


@post(
    "/v1/seats/{name:str}/start",
    operation_id="start_seat",
    tags=["seats"],
    summary="Start a seat",
    status_code=202,
)
async def start_seat(seats: Seats, name: SeatName, data: JSONBody[StartSeat | None] = None) -> SeatView:
    """Starts the seat's harness. Answers once the launch is decided on, not once it is ready."""
    wanted = data or StartSeat()
    return await seats.start_seat(name, fresh=wanted.fresh, session=wanted.session)


@post(
    "/v1/seats/{name:str}/stop",
    operation_id="stop_seat",
    tags=["seats"],
    summary="Stop a seat",
    status_code=202,
)
async def stop_seat(seats: Seats, name: SeatName) -> SeatView:
    """Stops the seat's harness in steps. The queue is kept. Stopping a stopped seat does nothing."""
    return await seats.stop_seat(name)


@post(
    "/v1/seats/{name:str}/release",
    operation_id="release_seat",
    tags=["seats"],
    summary="Release held prompts",
    status_code=202,
)
async def release_seat(seats: Seats, name: SeatName) -> SeatView:
    """Lets prompts go on that were held since they would have failed as the one before: a limit, a sign-in."""
    return await seats.release_seat(name)


@get("/v1/seats/{name:str}/explain", operation_id="explain_seat", tags=["seats"], summary="Explain a seat")
async def explain_seat(seats: Seats, name: SeatName) -> ExplainView:
    """Why the seat shows what it shows: the evidence, with its sources, rules and ages."""
    return await seats.explain_seat(name)


SEAT_ROUTES = (list_seats, add_seat, get_seat, remove_seat, start_seat, stop_seat, release_seat, explain_seat)
"""The routes of this module."""
