"""Ctrl-C as something to wait for: the first press is an event, the second leaves."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Self

__all__ = ["Interrupts"]


class Interrupts:
    """While entered, the first Ctrl-C makes `fileno()` readable; a further one raises `KeyboardInterrupt`."""

    def __init__(self) -> None:
        self._count = 0
        self._ends: tuple[int, int] | None = None
        self._before = signal.getsignal(signal.SIGINT)

    def __enter__(self) -> Self:
        self._ends = os.pipe()
        signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self._ends is not None:
            for end in self._ends:
                os.close(end)
            self._ends = None

    def fileno(self) -> int:
        """The descriptor to wait for."""
        assert self._ends is not None  # noqa: S101 - entered
        return self._ends[0]

    def take(self) -> None:
        """Takes the press that `fileno()` announced."""
        os.read(self.fileno(), 1)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count > 1 or self._ends is None:
            raise KeyboardInterrupt
        os.write(self._ends[1], b"!")
