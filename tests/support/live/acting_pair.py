"""Two consoles of two harnesses in one home, as seats named after their harnesses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from inspan.model.turn import TurnOutcome
from inspan.model.views import AddSeat, SeatView, SendPrompt
from inspan.seats.core import Seats
from support.live.arena import FAKE_KEY
from support.live.console_seats import ConsoleSeats
from support.live.console_walks import WALKS
from support.live.install import install
from support.live.netns import Namespace
from support.live.target import ReadyTarget, open_target

__all__ = ["add_pair", "ask", "open_pair", "until"]

_DEADLINE_S = 60.0
_POLL_S = 0.02


@contextmanager
def open_pair(one: str, other: str, namespace: Namespace) -> Generator[ReadyTarget]:
    """An arena in which both harnesses are on the `PATH` and set up."""
    second = WALKS[other].target
    installed = install(second.pin)
    with open_target(WALKS[one].target, namespace) as ready:
        second.write_settings(ready.arena.home, ready.arena.model.url)
        folders = [*installed.needs, installed.folder]
        path = [*map(str, folders), ready.arena.environment["PATH"]]
        ready.arena.environment.update(second.variables, PATH=":".join(path))
        yield ready


async def add_pair(seats: Seats, ground: ConsoleSeats, *names: str) -> None:
    """Adds a seat in terminal mode for each harness."""
    keys = {name: value for name, value in ground.arena.environment.items() if value == FAKE_KEY}
    for name in names:
        await seats.add_seat(
            AddSeat(
                name=name,
                harness=name,
                mode="terminal",
                workspace=str(ground.arena.workspace),
                posture=WALKS[name].posture,
                environment=keys,
            )
        )


async def until(seats: Seats, name: str, holds: Callable[[SeatView], bool]) -> SeatView:
    """A seat's view, once it is as wanted."""
    view = await seats.get_seat(name)
    try:
        async with asyncio.timeout(_DEADLINE_S):
            while not holds(view):
                await asyncio.sleep(_POLL_S)
                view = await seats.get_seat(name)
    except TimeoutError:
        raise AssertionError(str(view)) from None
    return view


async def ask(seats: Seats, name: str, text: str) -> None:
    """Sends a prompt and waits until its turn is completed."""
    sent = await seats.send_prompt(name, SendPrompt(text=text))
    async with asyncio.timeout(_DEADLINE_S):
        while (found := await seats.get_delivery(sent.id)).turn_outcome is None:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)
    assert found.turn_outcome is TurnOutcome.COMPLETED, found
