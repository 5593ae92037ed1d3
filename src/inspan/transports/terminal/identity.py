"""Identity: what a seat's terminal says of itself, always the same.

Programs do different things on different terminals: a spinner leaves the title once status reports are answered,
progress is reported only to a terminal of a known name. So the identity belongs to the evidence: it is fixed
here, and stored with a launch.
"""

from __future__ import annotations

import msgspec

__all__ = ["IDENTITY", "PROGRAM_STATUS_ANSWER", "Rgb", "TerminalIdentity"]

Rgb = tuple[int, int, int]


class TerminalIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What a terminal answers about itself.

    Attributes:
        name: Its answer to XTVERSION.
        term: The variable `TERM`.
        colorterm: The variable `COLORTERM`.
        foreground: Its text colour (OSC 10).
        background: Its background colour (OSC 11); dark, as it also says when asked for its colour scheme.
        cell_width: The width of a cell in pixels.
        cell_height: Its height in pixels.
        has_program_status: Whether it says that it takes program status reports (OSC 7501).
        has_graphics: Whether it says that it shows kitty graphics.
    """

    name: str = "libghostty"
    term: str = "xterm-256color"
    colorterm: str = "truecolor"
    foreground: Rgb = (0xD8, 0xD8, 0xD8)
    background: Rgb = (0x10, 0x10, 0x10)
    cell_width: int = 8
    cell_height: int = 16
    has_program_status: bool = True
    has_graphics: bool = False

    def environment(self) -> dict[str, str]:
        """The variables that a program on this terminal is started with."""
        return {"TERM": self.term, "COLORTERM": self.colorterm}


IDENTITY = TerminalIdentity()
"""The identity of every seat's terminal."""

PROGRAM_STATUS_ANSWER = b"7501;?"
"""What a terminal that takes program status reports answers: the question itself, ended as the question ended."""
