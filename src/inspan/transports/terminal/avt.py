"""The second screen: asciinema's `avt`, through `pyavt`. It shows, but it answers nothing and hands out nothing.

It stands behind the same interface so that a recording can be looked at with other eyes. No seat uses it: a
program on it would be left without the answers that it waits for. It breaks over a few things that a terminal takes,
and is then empty.

source: pyavt 0.1.2, driven with the cases of the suite
verified: 2026-11-30
"""

from __future__ import annotations

import codecs
import importlib
from collections.abc import Callable
from typing import Any

from .marks import MarkWatch
from .screen import CursorPlace, EventHandler, ScreenSize, Snapshot, ignore_event

__all__ = ["AvtScreen"]


class AvtScreen:
    """A `Screen` of text and cursor alone: title, progress, bells, modes and alternate screen are not told."""

    engine = "avt"
    answers = False

    def __init__(
        self, size: ScreenSize, *, on_event: EventHandler = ignore_event, scrollback_lines: int = 1000
    ) -> None:
        """Open a screen. `on_event` hears of resets only."""
        package: Any = importlib.import_module("avt")
        self._open: Callable[[ScreenSize], Any] = lambda one: package.Vt(
            one.columns, one.rows, scrollback_lines
        )
        self._screen: Any = self._open(size)
        self._size = size
        self._on_event = on_event
        self._marks = MarkWatch()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._revision = 0
        self._seen: Snapshot | None = None

    def feed(self, data: bytes) -> bytes:
        """See `Screen.feed`."""
        failure: Exception | None = None
        for piece, mark in self._marks.cut(data):
            text = self._decoder.decode(piece)
            self._carry_out(lambda screen, text=text: screen.feed_str(text))
            if mark is not None:
                try:
                    self._on_event(mark)
                except Exception as error:  # noqa: BLE001 - raised again once all was shown
                    failure = failure or error
        self._revision += 1
        if failure is not None:
            raise failure
        return b""

    def resize(self, size: ScreenSize) -> bytes:
        """See `Screen.resize`."""
        self._size = size
        self._carry_out(lambda screen: screen.resize(size.columns, size.rows))
        self._revision += 1
        return b""

    def snapshot(self) -> Snapshot:
        """See `Screen.snapshot`."""
        if self._seen is None or self._seen.revision != self._revision:
            cursor: Any = self._screen.cursor
            self._seen = Snapshot(
                size=self._size,
                lines=tuple(line.text.rstrip() for line in self._screen.view()),
                cursor=CursorPlace(row=cursor.row, column=cursor.col, is_visible=cursor.visible),
                revision=self._revision,
            )
        return self._seen

    def painted(self) -> Snapshot:
        """See `Screen.painted`. This emulator does not tell."""
        return self.snapshot()

    @property
    def is_at_ground(self) -> bool:
        """See `Screen.is_at_ground`. This emulator does not tell."""
        return False

    def scrollback(self, lines: int) -> tuple[str, ...]:
        """See `Screen.scrollback`."""
        above = self._screen.lines()[: -self._size.rows]
        return tuple(line.text.rstrip() for line in above[max(0, len(above) - lines) :])

    def dump(self, *, scrollback_lines: int = 1000) -> bytes:
        """See `Screen.dump`.

        It is the emulator's own: without the rows that scrolled out and without the
        content of a string that is not whole.
        """
        del scrollback_lines
        pending, _ = self._decoder.getstate()
        written: str = self._screen.dump()
        return written.encode() + pending

    def close(self) -> None:
        """See `Screen.close`."""
        self._screen = None

    def _carry_out(self, action: Callable[[Any], None]) -> None:
        """Do something to the emulator; where it breaks over it, as over a wide sign in one column, begin anew."""
        try:
            action(self._screen)
        except BaseException as error:
            # Its own faults are no `Exception`, and their class can be had by name only.
            if type(error).__name__ != "PanicException":
                raise
            self._screen = self._open(self._size)
