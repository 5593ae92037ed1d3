"""Calls about a seat's terminal: look at it, attach to it, type into it, give it another size."""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

from inspan.model.console_views import PressKeys, ResizeTerminal, ScreenView
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.state import QueuedPrompt, SeatState
from inspan.model.typing_recipe import TypingBlock
from inspan.model.views import DeliveryView, SeatView

from . import inputs
from .actor import SeatActor
from .console_turns import HELD_BY, what_is_ignored
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


def with_live_console(view: SeatView, console: LiveConsole, state: SeatState | None) -> SeatView:
    """A seat's view with what only this daemon knows of its console: who looks on, and what keeps prompts waiting."""
    if view.console is None:
        return view
    blocks = console.typing_blocks() if console.can_type else ()
    shown = msgspec.structs.replace(
        view.console,
        can_type=console.can_type,
        typing_block=blocks[0] if blocks else "",
        viewers=console.viewers.count,
        has_writer=console.viewers.has_writer,
    )
    if view.in_flight is not None:
        return msgspec.structs.replace(view, console=shown)
    prompts = {} if state is None else {prompt.delivery: prompt for prompt in state.queue}
    queue = tuple(_held_now(view.name, one, prompts.get(one.id), blocks) for one in view.queue)
    return msgspec.structs.replace(view, console=shown, queue=queue)


def _held_now(
    seat: str, shown: DeliveryView, prompt: QueuedPrompt | None, blocks: tuple[TypingBlock, ...]
) -> DeliveryView:
    """A queued prompt with what keeps it waiting, less what its operator said not to mind."""
    ignored = () if prompt is None else what_is_ignored(prompt)
    why = next((HELD_BY.get(block) for block in blocks if block not in ignored), None)
    if shown.state is not DeliveryState.QUEUED or why is None or why is HeldReason.BUSY:
        return shown
    return msgspec.structs.replace(shown, state=DeliveryState.HELD, held=why, hint=held_hint(seat, why))
