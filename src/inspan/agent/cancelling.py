"""A signal that says "stop": made by whoever may stop something, handed to whoever has to notice.

It is not an asyncio cancellation. A task's cancellation reaches one task and can be swallowed; this signal stays
raised, can be read by a thread, and several can be joined into one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from inspan.agent.faults import fault_name, is_fault

__all__ = ["CancelSignal", "CancelSource", "run_until"]

_LOG = logging.getLogger(__name__)
_R = TypeVar("_R")


class CancelSignal:
    """Read whether to stop, or wait for it. One `CancelSource`, or several joined, raise it.

    It belongs to the event loop in which it was made; `is_set` and `reason` may be read from any thread.
    """

    __slots__ = ("_event", "_listeners", "_reason")

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._reason = ""
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether to stop. Never false again once true."""
        return self._event.is_set()

    @property
    def reason(self) -> str:
        """Why, as a short word such as `cancelled` or `plugin_stopped`; empty until it is set."""
        return self._reason

    async def wait(self) -> None:
        """Returns when it is set."""
        await self._event.wait()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` once when it is set, at once if it is already. Returns what takes the listener off again."""
        if self.is_set:
            listener()
            return lambda: None
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def _raise(self, reason: str) -> None:
        if self._event.is_set():
            return
        self._reason = reason
        self._event.set()
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            try:
                listener()
            except (
                BaseException
            ) as error:  # a plugin's may raise, and the others have to be told all the same
                if not is_fault(error):
                    raise
                _LOG.warning("Who listened for a cancel failed with %s.", fault_name(error))


class CancelSource:
    """Raises one signal.

    Args:
        *parents: Signals that raise this one too, each with its own reason. `close()` lets go of them.
    """

    __slots__ = ("_leave", "signal")

    def __init__(self, *parents: CancelSignal) -> None:
        self.signal = CancelSignal()
        self._leave = [parent.listen(lambda parent=parent: self.cancel(parent.reason)) for parent in parents]

    def cancel(self, reason: str = "cancelled") -> None:
        """Raises the signal. A second call changes nothing."""
        self.signal._raise(reason)  # pyright: ignore[reportPrivateUsage]

    def close(self) -> None:
        """Listens to the parents no longer, so that a long-lived parent does not keep this one alive."""
        for leave in self._leave:
            leave()
        self._leave = []


async def run_until(signal: CancelSignal, work: Coroutine[Any, Any, _R]) -> _R | None:
    """Does work, and gives what it returns or raises; None if the signal was raised before it was done.

    The work is cancelled then, and has ended when this returns. So it is when this task is cancelled.
    """
    task = asyncio.ensure_future(work)

    def give_up() -> None:
        task.cancel()

    leave = signal.listen(give_up)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        if not task.cancelling():  # a second one would break off what the first one has it do
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # seen: whoever waited for it is gone
        raise
    finally:
        leave()
    if task.cancelled() and signal.is_set:
        return None
    return task.result()
