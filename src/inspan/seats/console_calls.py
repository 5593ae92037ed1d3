"""Calls about a seat's terminal: look at it, attach to it, type into it, give it another size."""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

from inspan.model.console_views import PressKeys, ResizeTerminal, ScreenView
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.views import SeatView

from . import inputs
from .actor import SeatActor
from .console_turns import HELD_BY
from .consoles import LiveConsole
from .view import held_hint
from .viewers import Viewer

__all__ = ["SCROLLBACK_LINES", "ConsoleCalls", "with_live_console"]

SCROLLBACK_LINES = 100_000
"""The most lines above the screen that can be asked for at once."""


class ConsoleCalls(ABC):
    """The part of the service that is about terminals."""

    @abstractmethod
    def actor(self, name: str) -> SeatActor:
        """The actor of a seat. Raises `unknown_seat`."""

    @abstractmethod
    async def get_seat(self, name: str) -> SeatView:
        """See `SeatService`."""

    async def show_screen(self, name: str, *, scrollback: int = 0) -> ScreenView:
        """See `SeatService`."""
        if not 0 <= scrollback <= SCROLLBACK_LINES:
            raise UsageError(
                f"{scrollback} lines above the screen cannot be shown.",
                hint=f"Ask for 0 to {SCROLLBACK_LINES}.",
            )
        return self._console(name).show_screen(scrollback=scrollback)

    async def view_terminal(self, name: str, *, writes: bool = False, takes_over: bool = False) -> Viewer:
        """See `SeatService`."""
        return self._console(name).open_viewer(writes=writes, takes_over=takes_over)

    async def type_keys(self, name: str, *, writer: str, keys: bytes) -> None:
        """See `SeatService`."""
        await self._console(name).type_keys(writer, keys)

    async def press_keys(self, name: str, request: PressKeys) -> SeatView:
        """See `SeatService`."""
        await self.actor(name).give(inputs.PressKeys(keys=request.keys, reason=request.reason))
        return await self.get_seat(name)

    async def resize_terminal(self, name: str, request: ResizeTerminal, *, writer: str = "") -> None:
        """See `SeatService`."""
        await self._console(name).resize(writer, columns=request.columns, rows=request.rows)

    def _console(self, name: str) -> LiveConsole:
        console = self.actor(name).console
        if console is None:
            raise UsageError(
                f"{name} has no terminal now.",
                code="no_terminal",
                hint=f"`inspan start {name}` starts its harness; only a mode that runs a console has a terminal.",
            )
        return console


def with_live_console(view: SeatView, console: LiveConsole) -> SeatView:
    """A seat's view with what only this daemon knows of its console: who looks on, and what keeps prompts waiting."""
    if view.console is None:
        return view
    block = console.typing_block() if console.can_type else ""
    shown = msgspec.structs.replace(
        view.console,
        can_type=console.can_type,
        typing_block=block,
        viewers=console.viewers.count,
        has_writer=console.viewers.has_writer,
    )
    why = HELD_BY.get(block)
    if why is None or why is HeldReason.BUSY or view.in_flight is not None:
        return msgspec.structs.replace(view, console=shown)
    queue = tuple(
        msgspec.structs.replace(prompt, state=DeliveryState.HELD, held=why, hint=held_hint(view.name, why))
        if prompt.state is DeliveryState.QUEUED
        else prompt
        for prompt in view.queue
    )
    return msgspec.structs.replace(view, console=shown, queue=queue)
