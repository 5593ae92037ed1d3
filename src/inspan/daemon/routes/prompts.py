"""Prompts: send, follow, withdraw, cancel; deliveries and turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from litestar import Request, delete, get, post
from litestar.params import JSONBody

from inspan.daemon.connection import peer_of
from inspan.daemon.services import DeliveryId, Limit, SeatName, Seats, TurnId
from inspan.model.views import DeliveryView, SeatView, SendPrompt, TurnView

__all__ = ["PROMPT_ROUTES"]


@post(
    "/v1/seats/{name:str}/prompts",
    operation_id="send_prompt",
    tags=["prompts"],
    summary="Send a prompt",
    status_code=202,
)
async def send_prompt(
    seats: Seats, name: SeatName, data: JSONBody[SendPrompt], request: Request[Any, Any, Any]
) -> DeliveryView:
    """Accepts a prompt into the seat's queue, durably, once per id; the same id again reads the outcome back.

    One that comes from a seat's harness is stamped with that seat, by who is at the other end of the connection.
    """
    return await seats.send_prompt(name, data, peer=peer_of(request.scope))


@post(
    "/v1/seats/{name:str}/cancel",
    operation_id="cancel_turn",
    tags=["prompts"],
    summary="Cancel the turn that runs",
    status_code=202,
)
async def cancel_turn(seats: Seats, name: SeatName) -> SeatView:
    """Asks the harness to stop its turn. That is a wish, not an outcome: the turn's own end says what came of it."""
    return await seats.cancel_turn(name)


@get(
    "/v1/seats/{name:str}/deliveries",
    operation_id="list_deliveries",
    tags=["prompts"],
    summary="List a seat's deliveries",
)
async def list_deliveries(seats: Seats, name: SeatName, limit: Limit = 100) -> Sequence[DeliveryView]:
    """The newest deliveries of a seat, in the order in which they were accepted."""
    return await seats.list_deliveries(name, limit=limit)


@get("/v1/seats/{name:str}/turns", operation_id="list_turns", tags=["prompts"], summary="List a seat's turns")
async def list_turns(seats: Seats, name: SeatName, limit: Limit = 100) -> Sequence[TurnView]:
    """The newest turns of a seat, in the order in which they began."""
    return await seats.list_turns(name, limit=limit)


@get(
    "/v1/deliveries/{delivery:str}",
    operation_id="get_delivery",
    tags=["prompts"],
    summary="Show a delivery",
)
async def get_delivery(seats: Seats, delivery: DeliveryId) -> DeliveryView:
    """How far one prompt got."""
    return await seats.get_delivery(delivery)


@delete(
    "/v1/deliveries/{delivery:str}",
    operation_id="withdraw_delivery",
    tags=["prompts"],
    summary="Withdraw a prompt",
    status_code=200,
)
async def withdraw_delivery(seats: Seats, delivery: DeliveryId) -> DeliveryView:
    """Takes a prompt out of the queue, unless it went out already."""
    return await seats.withdraw_delivery(delivery)


@get("/v1/turns/{turn:str}", operation_id="get_turn", tags=["prompts"], summary="Show a turn")
async def get_turn(seats: Seats, turn: TurnId) -> TurnView:
    """One turn; it is open while it has no outcome."""
    return await seats.get_turn(turn)


PROMPT_ROUTES = (
    send_prompt,
    cancel_turn,
    list_deliveries,
    list_turns,
    get_delivery,
    withdraw_delivery,
    get_turn,
)
"""The routes of this module."""
