"""Terminals: what a seat's console shows, and the keyboard of whoever is attached to it."""

from __future__ import annotations

from typing import Annotated

from litestar import get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import HeaderParameter, JSONBody, QueryParameter, RawBody
from litestar.types import ASGIApp

from inspan.daemon.services import SeatName, Seats, With
from inspan.daemon.terminal_stream import TerminalStream
from inspan.model.console_views import PressKeys, ResizeTerminal, ScreenView
from inspan.model.views import SeatView

__all__ = ["KEYS_CAP_BYTES", "TERMINAL_ROUTES"]

KEYS_CAP_BYTES = 64 * 1024
"""The most keys that one request may type."""

Writer = Annotated[
    str,
    HeaderParameter(
        name="Inspan-Writer",
        description="What the stream's header of that name said to who has the keyboard.",
    ),
]

Guest = Annotated[
    bool,
    QueryParameter(
        description="Leave out what a terminal would answer, and what would stay with it afterwards."
    ),
]


@get("/v1/seats/{name:str}/screen", operation_id="show_screen", tags=["terminals"], summary="Show a screen")
async def show_screen(
    seats: Seats,
    name: SeatName,
    scrollback: Annotated[
        int, QueryParameter(ge=0, description="So many of the lines above the screen too.")
    ] = 0,
) -> ScreenView:
    """What the seat's terminal shows now, as text."""
    return await seats.show_screen(name, scrollback=scrollback)


@get(
    "/v1/seats/{name:str}/terminal",
    operation_id="view_terminal",
    tags=["terminals"],
    summary="Attach to a terminal",
    responses={
        200: ResponseSpec(
            data_container=bytes,
            media_type="application/octet-stream",
            description="The terminal.",
            generate_examples=False,
        )
    },
)
async def view_terminal(
    services: With,
    name: SeatName,
    write: Annotated[bool, QueryParameter(description="Have the keyboard; one has it at a time.")] = False,  # noqa: FBT002
    steal: Annotated[bool, QueryParameter(description="Take it from who has it.")] = False,  # noqa: FBT002
    guest: Guest = False,  # noqa: FBT002
) -> ASGIApp:
    """The bytes that draw the seat's terminal: the whole screen first, then all that the harness writes.

    The headers `Inspan-Columns` and `Inspan-Rows` say how large it is, and `Inspan-Writer` is what proves that
    this client may type. Whoever reads slowly is shown the newest screen, which begins with a full reset. The
    body ends when the harness does.
    """
    viewer = await services.seats.view_terminal(name, writes=write or steal, takes_over=steal)
    return TerminalStream(viewer, lifetime=services.lifetime, guest=guest)


@post(
    "/v1/seats/{name:str}/terminal/keys",
    operation_id="type_keys",
    tags=["terminals"],
    summary="Type keys",
    status_code=204,
    request_max_body_size=KEYS_CAP_BYTES,
)
async def type_keys(seats: Seats, name: SeatName, body: RawBody, writer: Writer = "") -> None:
    """Types the body, which is at most 64 KiB, as it is. It is kept nowhere."""
    await seats.type_keys(name, writer=writer, keys=body)


@post(
    "/v1/seats/{name:str}/terminal/size",
    operation_id="resize_terminal",
    tags=["terminals"],
    summary="Resize a terminal",
    status_code=204,
)
async def resize_terminal(
    seats: Seats, name: SeatName, data: JSONBody[ResizeTerminal], writer: Writer = ""
) -> None:
    """Gives the terminal another size; where somebody has the keyboard, only they may."""
    await seats.resize_terminal(name, data, writer=writer)


@post(
    "/v1/seats/{name:str}/keys",
    operation_id="press_keys",
    tags=["terminals"],
    summary="Press keys",
    status_code=200,
)
async def press_keys(seats: Seats, name: SeatName, data: JSONBody[PressKeys]) -> SeatView:
    """Has keys pressed by name, whatever the console shows; keys and reason are recorded first."""
    return await seats.press_keys(name, data)


TERMINAL_ROUTES = (show_screen, view_terminal, type_keys, resize_terminal, press_keys)
"""The routes of this module."""
