"""The part of the client that is about terminals: look at one, attach to it, press keys in it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from inspan.model.console_views import PressKeys, ScreenView
from inspan.model.views import SeatView

from .terminal import Terminal, open_terminal
from .wire import Wire, segment

__all__ = ["TerminalCalls"]


class TerminalCalls:
    """Calls about a seat's terminal."""

    _wire: Wire

    async def screen(self, name: str, *, scrollback: int = 0) -> ScreenView:
        """What the seat's terminal shows, with so many of the lines above it. Raises `no_terminal`."""
        return await self._wire.call(
            "GET", _seat(name) + "/screen", ScreenView, params={"scrollback": scrollback}
        )

    def terminal(
        self, name: str, *, write: bool = False, steal: bool = False, guest: bool = False
    ) -> AbstractAsyncContextManager[Terminal]:
        """Attaches to the seat's terminal inside the block: what draws it, and with `write` its keyboard.

        Args:
            name: The seat.
            write: Have the keyboard; one has it at a time, and it goes back at the block's end.
            steal: With `write`: take it from who has it.
            guest: Leave out what a terminal of its own would answer, and what would stay with it afterwards. For
                bytes that are shown on a terminal; to record or to emulate one, leave it off.

        Raises:
            UsageError: On entry: `no_terminal`, `writer_exists`, `unknown_seat`.
        """
        return open_terminal(self._wire, _seat(name) + "/terminal", write=write, steal=steal, guest=guest)

    async def press_keys(self, name: str, *keys: str, reason: str) -> SeatView:
        """Has keys pressed in the seat's console, whatever is seen there; keys and reason are recorded first.

        Args:
            name: The seat.
            keys: `enter`, `escape`, `tab`, `space`, `backspace`, arrows, `ctrl-` and a letter, or one character.
            reason: Why, for the log.

        Raises:
            UsageError: `no_terminal`, `unknown_seat`, `invalid_argument` for a key that is none.
        """
        body = PressKeys(keys=keys, reason=reason)
        return await self._wire.call("POST", _seat(name) + "/keys", SeatView, body=body)


def _seat(name: str) -> str:
    return f"/v1/seats/{segment(name, 'seat')}"
