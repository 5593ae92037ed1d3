"""Stop signals: at every instant of the process's life they end it with status 0 and nothing left behind.

Installed before anything heavy is imported, so it uses the standard library alone. While nothing was made yet,
and again once everything was undone, a signal ends the process on the spot; in between it only asks.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

__all__ = ["STOP_SIGNALS", "Interrupts"]

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The signals that stop the daemon cleanly."""


class Interrupts:
    """What a stop signal does at this moment."""

    def __init__(self) -> None:
        self._ask: Callable[[], object] | None = None

    def install(self) -> None:
        """Takes the signals over; from here they never end the process with a signal's status.

        `signal.signal` and not the event loop's own registration: a loop that closes gives the signals their
        default action back, which would be a moment in which a stop looks like a crash.
        """
        for number in STOP_SIGNALS:
            signal.signal(number, self._handle)

    def arm(self, ask: Callable[[], object]) -> None:
        """From here a signal calls `ask`, in the main thread, between any two steps of it."""
        self._ask = ask

    def disarm(self) -> None:
        """From here a signal ends the process at once: there is nothing left to undo."""
        self._ask = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._ask is None:
            os._exit(0)
        self._ask()
