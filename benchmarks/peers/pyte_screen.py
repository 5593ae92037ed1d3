"""`pyte` 0.8.2 as a follower of consoles: a screen in Python, in this process, read by the same rules.

It takes a parameter of newer sequences for one of its own and ends with an error; such sequences are left out for it,
as every program that uses it for a console has to do.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, cast

from inspan.transports.terminal.screen import CursorPlace, ScreenSize, Snapshot

from .installing import installed

__all__ = ["PyteScreen"]


class PyteScreen:
    """A screen that takes bytes, and shows what a rule reads."""

    def __init__(self, size: ScreenSize, *, history: int | None = None) -> None:
        """Open a screen, with that many rows of history where a number is given."""
        pyte = _load()
        kind: Any = _tolerant(pyte.Screen if history is None else pyte.HistoryScreen)
        self._size = size
        self._screen: Any = (
            kind(size.columns, size.rows)
            if history is None
            else kind(size.columns, size.rows, history=history)
        )
        self._stream: Any = pyte.ByteStream(self._screen)
        self._revision = 0

    def feed(self, data: bytes) -> None:
        """Show what a program wrote."""
        self._stream.feed(data)
        self._revision += 1

    def snapshot(self) -> Snapshot:
        """What is shown now."""
        screen = self._screen
        return Snapshot(
            size=self._size,
            lines=tuple(line.rstrip() for line in screen.display),
            cursor=CursorPlace(
                row=screen.cursor.y, column=screen.cursor.x, is_visible=not screen.cursor.hidden
            ),
            revision=self._revision,
            title=cast("str", screen.title),
            is_alternate=False,
        )


def _load() -> Any:
    for place in (installed("pyte") / "lib").glob("python*/site-packages"):
        if str(place) not in sys.path:
            sys.path.append(str(place))
    return importlib.import_module("pyte")


def _tolerant(kind: Any) -> Any:
    """The class, deaf to what it would break over."""

    def select_graphic_rendition(self: Any, *attributes: int, private: bool = False) -> None:
        if not private:
            kind.select_graphic_rendition(self, *attributes)

    def report_device_status(self: Any, mode: int, *, private: bool = False) -> None:
        if not private:
            kind.report_device_status(self, mode)

    return type(
        "Tolerant",
        (kind,),
        {
            "select_graphic_rendition": select_graphic_rendition,
            "report_device_status": report_device_status,
        },
    )
