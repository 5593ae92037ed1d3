"""Opening a screen, by the name of its emulator."""

from __future__ import annotations

from typing import Literal

from .avt import AvtScreen
from .ghostty import GhosttyScreen
from .screen import EventHandler, Screen, ScreenSize, ignore_event

__all__ = ["Engine", "load_engine", "open_screen"]

Engine = Literal["ghostty", "avt"]


def open_screen(
    size: ScreenSize,
    *,
    on_event: EventHandler = ignore_event,
    scrollback_lines: int = 1000,
    engine: Engine = "ghostty",
) -> Screen:
    """A new screen, empty, with its cursor at home.

    Args:
        size: Height and width.
        on_event: Takes what the emulator hands out, and answers it.
        scrollback_lines: How many rows that scrolled out are kept, at least; with 0 none have to be.
        engine: The emulator; `ghostty` for everything that has a program at its other end.

    Raises:
        ImportError: The emulator is not installed on this machine; `avt` comes with the extra `avt`.
    """
    match engine:
        case "ghostty":
            return GhosttyScreen(size, on_event=on_event, scrollback_lines=scrollback_lines)
        case "avt":
            return AvtScreen(size, on_event=on_event, scrollback_lines=scrollback_lines)


def load_engine(engine: Engine = "ghostty") -> None:
    """Load an emulator, with everything that a screen of it may need.

    The first screen of a process does this by itself, and takes a third of a second for it. Who has a loop to keep
    going has it done on another thread before. Doing it twice costs next to nothing.

    Raises:
        ImportError: As `open_screen`.
    """
    screen = open_screen(ScreenSize(rows=2, columns=2), engine=engine)
    screen.feed(b"\x1b[?1049hx")
    screen.snapshot()
    screen.dump()
    screen.scrollback(1)
    screen.close()
