"""A terminal in memory, for the scripted service: a text that is its screen, and everybody who looks at it."""

from __future__ import annotations

from inspan.model.console_views import CursorView, PressKeys, ResizeTerminal, ScreenView
from inspan.model.errors import UsageError
from inspan.seats.viewers import Viewer, Viewers

__all__ = ["FakeTerminals"]


class FakeTerminals:
    """The part of the scripted service that is about terminals: one terminal, whose seat is `console`.

    Attributes:
        console: The seat that has the terminal.
        screen: What is on it.
        size: Its columns and rows.
        typed: Every byte that was typed into it.
        pressed: What keys an operator had pressed, and why.
        viewers: Everybody who looks at it.
    """

    def __init__(self) -> None:
        self.console = ""
        self.screen = b"the screen"
        self.size = (80, 24)
        self.typed = b""
        self.pressed: list[PressKeys] = []
        self.viewers = Viewers()

    def write(self, data: bytes) -> None:
        """Writes as the program does."""
        self.viewers.show(data)

    def end_console(self) -> None:
        """Ends as the program does."""
        self.console = ""
        self.viewers.end()

    async def show_screen(self, name: str, *, scrollback: int = 0) -> ScreenView:
        self._check(name)
        columns, rows = self.size
        return ScreenView(
            seat=name,
            columns=columns,
            rows=rows,
            lines=(self.screen.decode(),),
            cursor=CursorView(row=0, column=3, is_visible=True),
            title="a title",
            scrollback=tuple(f"above {number}" for number in range(scrollback)),
        )

    async def view_terminal(self, name: str, *, writes: bool = False, takes_over: bool = False) -> Viewer:
        self._check(name)
        columns, rows = self.size
        return self.viewers.open(
            lambda: self.screen, seat=name, columns=columns, rows=rows, writes=writes, takes_over=takes_over
        )

    async def type_keys(self, name: str, *, writer: str, keys: bytes) -> None:
        self._check(name)
        self.viewers.check_writer(writer, seat=name)
        self.typed += keys

    async def resize_terminal(self, name: str, request: ResizeTerminal, *, writer: str = "") -> None:
        self._check(name)
        if self.viewers.has_writer:
            self.viewers.check_writer(writer, seat=name)
        self.size = (request.columns, request.rows)
        self.viewers.redraw()

    def press(self, name: str, request: PressKeys) -> None:
        """Has keys pressed."""
        self._check(name)
        self.pressed.append(request)

    def _check(self, name: str) -> None:
        if name != self.console:
            raise UsageError(f"{name} has no terminal now.", code="no_terminal", hint="Start it.")
