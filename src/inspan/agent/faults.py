"""What a plugin's code can raise, and what of it may be told.

Its message may hold a secret: nothing but the class leaves here, except to a logger that a person turns on by name.
"""

from __future__ import annotations

import logging

__all__ = ["FAULTS", "TRACEBACKS", "fault_name"]

FAULTS: tuple[type[BaseException], ...] = (Exception, SystemExit, BaseExceptionGroup)
"""What counts as the fault of whoever was called. A program's own end (`SystemExit`) is no more than that inside an
agent; a task's cancellation and Ctrl-C are somebody else's wish and go on."""

TRACEBACKS = logging.getLogger("inspan.agent.tracebacks")
"""Whole tracebacks, messages included. Silent until somebody sets its level, whatever the root logger's is."""

TRACEBACKS.setLevel(logging.CRITICAL + 1)


def fault_name(error: BaseException) -> str:
    """The class of what was raised, for status, logs and errors. The rest goes to `TRACEBACKS`."""
    if TRACEBACKS.isEnabledFor(logging.DEBUG):
        TRACEBACKS.debug("A plugin's code raised.", exc_info=error)
    return type(error).__name__[:80]
