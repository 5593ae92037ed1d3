"""Seats as a rung: a seat of Inspan that works in the app's folder, or that was named, takes a task as a prompt.

No daemon is started for it: where none serves, no seat runs.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspan.model.errors import InspanError

from .routes import SeatRoute

if TYPE_CHECKING:
    from inspan.model.views import SeatView

__all__ = ["SeatBook", "SeatTurn", "prompt_seat"]

_LOOK_S = 0.25
_NO_TURN_COMES = frozenset({"refused", "failed", "unknown"})
_LIVE = frozenset({"connecting", "ready"})


class SeatTurn(NamedTuple):
    """What came of a prompt.

    Attributes:
        has_ended: Whether its turn ran and ended; else it was given up or never began.
        detail: One line.
    """

    has_ended: bool
    detail: str


class SeatBook:
    """The seats that there are, asked for once, when the first rung needs to know."""

    def __init__(self) -> None:
        self._seats: tuple[SeatView, ...] | None = None
        self._problem = ""

    def find(self, route: SeatRoute, app: Path) -> str | None:
        """The name of the seat that `route` leads to, if it can take work."""
        return next((seat.name for seat in self._of(route, app) if _can_take(seat, route)), None)

    def look(self, route: SeatRoute, app: Path) -> tuple[bool, str]:
        """Whether `route` leads to a seat that can take work, and one line about it."""
        seats = self._of(route, app)
        name = next((seat.name for seat in seats if _can_take(seat, route)), None)
        if name is not None:
            return (
                True,
                f"The seat {name} takes each task as a prompt of its conversation; its posture is its operator's.",
            )
        if self._problem:
            return False, self._problem
        if not seats:
            wanted = (
                f"no seat is called {route.seat}" if route.seat else "no seat of it works in the app's folder"
            )
            return False, f"Inspan runs, but {wanted}: `inspan seat add` makes one."
        seat = seats[0]
        if seat.problem is not None:
            return False, f"The seat {seat.name} cannot work: {seat.problem.message}"
        return False, f"The seat {seat.name} does not run: `inspan start {seat.name}`."

    def _of(self, route: SeatRoute, app: Path) -> list[SeatView]:
        if self._seats is None:
            self._seats, self._problem = _ask()
        if route.seat:
            return [one for one in self._seats if one.name == route.seat]
        here = os.path.realpath(app)
        return [
            one
            for one in self._seats
            if one.harness == route.harness and os.path.realpath(one.workspace) == here
        ]


def prompt_seat(seat: str, text: str, *, delivery: str, give_up: Callable[[], str]) -> SeatTurn:
    """Sends a prompt and waits for the end of its turn.

    Args:
        seat: The seat.
        text: The prompt.
        delivery: A name for this delivery: the same one again never sends twice.
        give_up: Called several times a second; a text that is not empty says why to stop waiting. What was sent is
            then taken back: out of the queue, or its turn is cancelled.
    """
    try:
        return asyncio.run(_prompt(seat, text, delivery, give_up))
    except InspanError as error:
        return SeatTurn(False, str(error))


async def _prompt(seat: str, text: str, delivery: str, give_up: Callable[[], str]) -> SeatTurn:
    from inspan import connect

    async with connect(start=False) as client:
        view = await client.send(seat, text, id=delivery)
        while True:
            if view.turn_outcome is not None:
                return SeatTurn(True, f"the seat's turn ended: {view.turn_outcome}")
            if view.state in _NO_TURN_COMES:
                return SeatTurn(False, f"the seat's delivery is {view.state}")
            if why := give_up():
                if view.turn is not None:
                    await client.cancel_turn(seat)
                else:
                    await client.withdraw_delivery(delivery)
                return SeatTurn(False, why)
            await asyncio.sleep(_LOOK_S)
            view = await client.get_delivery(delivery)


def _can_take(seat: SeatView, route: SeatRoute) -> bool:
    if seat.problem is not None:
        return False
    # One that was named is started by its first prompt; no other is.
    return bool(route.seat) or (seat.launch is not None and seat.launch.status in _LIVE)


def _ask() -> tuple[tuple[SeatView, ...], str]:
    from inspan.client.autostart import is_serving
    from inspan.home import locate_home

    try:
        if not is_serving(locate_home()):
            return (
                (),
                "Inspan does not run: `inspan daemon start`, and a seat in the app's folder, would open this rung.",
            )
        return asyncio.run(_list()), ""
    except InspanError as error:
        return (), f"Inspan cannot be asked for its seats: {error}"


async def _list() -> tuple[SeatView, ...]:
    from inspan import connect

    async with connect(start=False) as client:
        return tuple(await client.list_seats())
