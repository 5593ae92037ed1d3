"""What a plugin's code can raise, and what of it may be told.

Its message may hold a secret: nothing but the class leaves here, except to a logger that a person turns on by name.
"""

from __future__ import annotations

import asyncio
import logging

__all__ = ["TRACEBACKS", "fault_name", "is_fault"]

TRACEBACKS = logging.getLogger("inspan.agent.tracebacks")
"""Whole tracebacks, messages included. Silent until somebody sets its level, whatever the root logger's is."""

if TRACEBACKS.level == logging.NOTSET:  # somebody may have turned it on before this was imported
    TRACEBACKS.setLevel(logging.CRITICAL + 1)


def is_fault(error: BaseException) -> bool:
    """Whether what a plugin's code raised is its own fault, rather than somebody else's wish that goes on.

    Ctrl-C goes on, and so does a cancellation that this task was asked for. Everything else is a fault, a program's own
    end (`SystemExit`) and a cancellation that nobody asked for included.
    """
    if isinstance(error, asyncio.CancelledError):
        try:
            task = asyncio.current_task()
        except RuntimeError:
            return False
        return task is not None and not task.cancelling()
    return not isinstance(error, (KeyboardInterrupt, GeneratorExit))


def fault_name(error: BaseException) -> str:
    """The class of what was raised, for status, logs and errors. The rest goes to `TRACEBACKS`."""
    if TRACEBACKS.isEnabledFor(logging.DEBUG):
        TRACEBACKS.debug("A plugin's code raised.", exc_info=error)
    return type(error).__name__[:80]
