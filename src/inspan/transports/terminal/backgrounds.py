"""Backgrounds: on which colour each character of a row stands, read from the bytes that draw the row.

Some consoles mark an answer by its colours alone. Which colours those are depends on the theme and on the terminal, so
a background is a name to compare, not a colour to know.
"""

from __future__ import annotations

import re

__all__ = ["read_backgrounds"]

_TOKEN = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|(?P<character>[^\r\n])",
    re.DOTALL,
)
_LONG = {"5": 2, "2": 4}
"""How many numbers a colour takes behind 38 or 48, by the first of them."""


def read_backgrounds(drawn: bytes) -> tuple[str, tuple[str, ...]]:
    """The text of a row, and the name of the background below each of its characters; empty for the terminal's own.

    Where the pen is inverted the background is the colour of the text.

    Args:
        drawn: The bytes that draw the row on a terminal with a plain pen.
    """
    text: list[str] = []
    grounds: list[str] = []
    pen = _Pen()
    for token in _TOKEN.finditer(drawn.decode("utf-8", "replace")):
        if (numbers := token["sgr"]) is not None:
            pen.set(numbers.replace(":", ";").split(";"))
        elif token["character"] is not None:
            text.append(token["character"])
            grounds.append(pen.ground)
    return "".join(text), tuple(grounds)


class _Pen:
    """Colours and inversion; all else that a pen has is nobody's background."""

    def __init__(self) -> None:
        self.fore = ""
        self.back = ""
        self.is_inverse = False

    @property
    def ground(self) -> str:
        return f"text {self.fore}" if self.is_inverse else self.back

    def set(self, numbers: list[str]) -> None:
        at = 0
        while at < len(numbers):
            number = int(numbers[at] or 0)
            at += 1
            match number:
                case 0:
                    self.fore, self.back, self.is_inverse = "", "", False
                case 7 | 27:
                    self.is_inverse = number == 7
                case 38 | 48:
                    end = at + _LONG.get(numbers[at] if at < len(numbers) else "", 0)
                    self._colour(";".join(numbers[at:end]), is_back=number == 48)
                    at = max(end, at)
                case 39 | 49:
                    self._colour("", is_back=number == 49)
                case _ if 30 <= number <= 37 or 90 <= number <= 97:
                    self._colour(str(number), is_back=False)
                case _ if 40 <= number <= 47 or 100 <= number <= 107:
                    self._colour(str(number - 10), is_back=True)
                case _:
                    pass

    def _colour(self, name: str, *, is_back: bool) -> None:
        if is_back:
            self.back = name
        else:
            self.fore = name
