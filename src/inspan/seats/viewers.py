"""Viewers: the people who look at a seat's terminal, each at their own pace, and the one of them who may type."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from inspan.model.errors import UsageError

__all__ = ["BEHIND_BYTES", "Viewer", "Viewers"]

BEHIND_BYTES = 1024 * 1024
"""How far a viewer may fall behind before it is shown the newest screen instead of all that led to it."""
START_AGAIN = b"\x1bc"
"""A full reset: what a terminal is given before a screen is drawn on it again."""


class Viewer:
    """One who looks on.

    Attributes:
        token: What proves that this viewer may type; empty for one that only looks on.
        columns: Width of the terminal when it was opened.
        rows: Its height.
        was_replaced: Another one took the keyboard.
    """

    def __init__(
        self, draw: Callable[[], bytes], forget: Callable[[Viewer], None], *, columns: int, rows: int
    ) -> None:
        self.token = ""
        self.columns = columns
        self.rows = rows
        self.was_replaced = False
        self._draw = draw
        self._forget = forget
        self._waiting = bytearray(draw())
        self._is_behind = False
        self._is_over = False
        self._wake = asyncio.Event()

    def show(self, data: bytes) -> None:
        """Takes what the program wrote. Never waits."""
        if self._is_behind:
            return
        if len(self._waiting) + len(data) > BEHIND_BYTES:
            self._waiting.clear()
            self._is_behind = True
        else:
            self._waiting += data
        self._wake.set()

    def redraw(self) -> None:
        """Shows the whole screen again, as after another size."""
        self._waiting.clear()
        self._is_behind = True
        self._wake.set()

    def end(self) -> None:
        """Says that nothing comes any more. May be called twice."""
        self._is_over = True
        self._wake.set()

    async def read(self) -> bytes | None:
        """The next piece, of any size; `None` at the end."""
        while True:
            if self._is_behind:
                self._is_behind = False
                return START_AGAIN + self._draw()
            if self._waiting:
                piece = bytes(self._waiting)
                self._waiting.clear()
                return piece
            if self._is_over:
                return None
            self._wake.clear()
            await self._wake.wait()

    def close(self) -> None:
        """Looks on no more, and gives the keyboard back. May be called twice."""
        self._forget(self)


class Viewers:
    """Everybody who looks at one terminal."""

    def __init__(self) -> None:
        self._all: set[Viewer] = set()
        self._writer: Viewer | None = None

    @property
    def count(self) -> int:
        """How many look on."""
        return len(self._all)

    @property
    def has_writer(self) -> bool:
        """Whether one of them may type."""
        return self._writer is not None

    def open(
        self, draw: Callable[[], bytes], *, seat: str, columns: int, rows: int, writes: bool, takes_over: bool
    ) -> Viewer:
        """One more viewer.

        Args:
            draw: Draws the whole screen.
            seat: The seat, for messages.
            columns: Width of the terminal.
            rows: Its height.
            writes: The viewer wants to type.
            takes_over: It takes the keyboard from who has it.

        Raises:
            UsageError: `writer_exists`, where another one types and is not to be replaced.
        """
        if writes and self._writer is not None and not takes_over:
            raise UsageError(
                f"Somebody else is attached to {seat} and may type.",
                code="writer_exists",
                hint=f"`inspan attach {seat} --watch` looks on; `--steal` takes the keyboard over.",
            )
        viewer = Viewer(draw, self._forget, columns=columns, rows=rows)
        self._all.add(viewer)
        if writes:
            if self._writer is not None:
                self._writer.token, self._writer.was_replaced = "", True
            viewer.token = secrets.token_urlsafe(16)
            self._writer = viewer
        return viewer

    def check_writer(self, token: str, *, seat: str) -> None:
        """Refuses whoever may not type.

        Raises:
            UsageError: `not_the_writer`.
        """
        writer = self._writer
        if writer is None or not token or not secrets.compare_digest(writer.token, token):
            raise UsageError(
                f"Only one who is attached to {seat} with the keyboard may do that.",
                code="not_the_writer",
                hint=f"`inspan attach {seat}` attaches; another one may have taken the keyboard over.",
            )

    def show(self, data: bytes) -> None:
        """Shows everybody what the program wrote."""
        for viewer in self._all:
            viewer.show(data)

    def redraw(self) -> None:
        """Shows everybody the whole screen again."""
        for viewer in self._all:
            viewer.redraw()

    def end(self) -> None:
        """Says to everybody that nothing comes any more."""
        for viewer in self._all:
            viewer.end()

    def _forget(self, viewer: Viewer) -> None:
        self._all.discard(viewer)
        if self._writer is viewer:
            self._writer = None
