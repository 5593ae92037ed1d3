"""Looking back: the lines above a seat's screen, page by page on the person's own terminal."""

from __future__ import annotations

import os
import re
import select

from .own_terminal import FRESH, OwnTerminal
from .plain_screen import draw_lines

__all__ = ["page"]

_KEYS = {
    **dict.fromkeys(("k", "\x1b[A", "\x1bOA", "\x10"), "up"),
    **dict.fromkeys(("j", "\r", "\x1b[B", "\x1bOB", "\x0e"), "down"),
    **dict.fromkeys(("b", "\x1b[5~", "\x02"), "page up"),
    **dict.fromkeys((" ", "f", "\x1b[6~", "\x06"), "page down"),
    **dict.fromkeys(("g", "<", "\x1b[H", "\x1b[1~", "\x1bOH"), "top"),
    **dict.fromkeys(("G", ">", "\x1b[F", "\x1b[4~", "\x1bOF"), "bottom"),
    **dict.fromkeys(("q", "\x1b", "\x03", "\x04"), "leave"),
}
_HELP = "arrows, PgUp, PgDn, g, G; q goes back to the screen"
_KEY = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|.", re.DOTALL)


def page(own: OwnTerminal, lines: list[str]) -> None:
    """Shows `lines`, the last ones first, until the person has seen enough.

    Raises:
        OSError: The terminal is gone.
    """
    top: int | None = None
    own.write(FRESH)
    while True:
        columns, rows = own.size()
        height = max(rows - 1, 1)
        lowest = max(len(lines) - height, 0)
        top = lowest if top is None else min(max(top, 0), lowest)
        bar = f" {min(top + height, len(lines))} of {len(lines)} lines   {_HELP}"
        own.write(draw_lines(lines[top : top + height], bar, columns=columns, rows=rows))
        readable, _, _ = select.select([own.keys, own.resized], [], [])
        if own.resized in readable:
            own.take_resized()
        if own.keys not in readable:
            continue
        typed = os.read(own.keys, 4096)
        if not typed:
            return
        for key in _KEY.findall(typed.decode("latin-1")):
            match _KEYS.get(key):
                case "up":
                    top -= 1
                case "down":
                    top += 1
                case "page up":
                    top -= height
                case "page down":
                    top += height
                case "top":
                    top = 0
                case "bottom":
                    top = lowest
                case "leave":
                    return
                case _:
                    pass
