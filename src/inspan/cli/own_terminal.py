"""The person's own terminal, lent for a while: raw keys, a screen of its own, and everything as before at the end."""

from __future__ import annotations

import contextlib
import os
import signal
import termios
import tty
from collections.abc import Callable, Generator
from types import FrameType
from typing import Self

__all__ = ["FRESH", "OwnTerminal", "Signalled"]

FRESH = (
    b"\x1b[?2026l\x1b[!p\x1b[?1;5;6;9;66;69;1000;1002;1003;1004;1005;1006;1015;1016;2004l\x1b[?7;25h\x1b[r\x1b[0m"
    b"\x1b(B\x1b)B\x0f\x1b[<99u\x1b[>4m\x1b[0 q\x1b]8;;\x1b\\"
)
"""Takes back what a program may have set: no mouse, no reports, the plain keyboard, the usual colours and cursor."""

_ENTER = b"\x1b[22;0t\x1b[?1049h\x1b[H\x1b[2J"
_LEAVE = b"\x1b[H\x1b[2J\x1b[?1049l\x1b[23;0t"
_PROGRESS_ON, _PROGRESS_OFF = b"\x1b]9;4;", b"\x1b]9;4;0\x1b\\"
_STATUS_ON, _STATUS_OFF = b"\x1b]7501;", b"\x1b]7501;state=clear\x1b\\"
_FATAL = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
_LARGEST = 1000


class Signalled(BaseException):
    """A signal that ends the process came; the terminal is to be given back first.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class OwnTerminal:
    """A terminal that is lent inside the block.

    At the end, however it comes, the screen, the title, the modes and the line discipline are as they were, and
    keys that were typed and not read are dropped. Inside, SIGTERM and its like raise `Signalled`, and a change
    of the size makes `resized` readable.

    Args:
        keys: The descriptor that keys are read from.
        screen: The descriptor that is drawn on.
    """

    def __init__(self, keys: int = 0, screen: int = 1) -> None:
        self.keys = keys
        self._screen = screen
        self._wake: tuple[int, int] = (-1, -1)
        self._owed = b""
        self._stack = contextlib.ExitStack()

    @property
    def resized(self) -> int:
        """The descriptor that is readable when the size has changed."""
        return self._wake[0]

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._wake = os.pipe()
            for end in self._wake:
                stack.callback(os.close, end)
                os.set_blocking(end, False)
            before = termios.tcgetattr(self.keys)
            stack.enter_context(_signals(self._note_size))
            stack.callback(self._restore, before)
            tty.setraw(self.keys)
            self.write(_ENTER)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def size(self) -> tuple[int, int]:
        """Columns and rows, as far as a seat's terminal can have them; a terminal that tells none has 80x24."""
        columns, rows = os.get_terminal_size(self._screen)
        return min(columns or 80, _LARGEST), min(rows or 24, _LARGEST)

    def take_resized(self) -> None:
        """Takes what made `resized` readable."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake[0], 512):
                pass

    def write(self, data: bytes) -> None:
        """Draws.

        Raises:
            OSError: The terminal is gone.
        """
        for begun, ended in ((_PROGRESS_ON, _PROGRESS_OFF), (_STATUS_ON, _STATUS_OFF)):
            if begun in data and ended not in self._owed:
                self._owed += ended
        view = memoryview(data)
        while view:
            view = view[os.write(self._screen, view) :]

    def _restore(self, before: list[int | list[bytes | int]]) -> None:
        for number in _FATAL:
            signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            self.write(FRESH + self._owed + _LEAVE)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.keys, termios.TCSAFLUSH, before)

    def _note_size(self, _number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake[1], b"!")


@contextlib.contextmanager
def _signals(note_size: Callable[[int, FrameType | None], None]) -> Generator[None]:
    def end(number: int, _frame: FrameType | None) -> None:
        raise Signalled(number)

    before = {number: signal.getsignal(number) for number in (*_FATAL, signal.SIGWINCH)}
    try:
        for number in _FATAL:
            signal.signal(number, end)
        signal.signal(signal.SIGWINCH, note_size)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
