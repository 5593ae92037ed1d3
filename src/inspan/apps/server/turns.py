"""A lock that code on an event loop and code in threads wait for alike, in the order in which they came.

Who waits on a loop holds no thread: with a thread for each waiter, enough of them would keep the one that has its turn
from ever getting a thread to work in.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future

__all__ = ["Turns"]


class Turns:
    """One at a time. A turn may be taken in one thread and given back in another."""

    def __init__(self) -> None:
        """Nobody has it."""
        self._mutex = threading.Lock()
        self._is_taken = False
        self._waiting: deque[Future[None]] = deque()

    def take(self, timeout_s: float) -> bool:
        """Waits for the turn in this thread; whether it came in time."""
        waiter = self._ask()
        if waiter is None:
            return True
        try:
            waiter.result(timeout_s)
        except TimeoutError:
            return not waiter.cancel()
        return True

    async def take_async(self, timeout_s: float) -> bool:
        """Waits for the turn without holding a thread; whether it came in time. Cancelled, it has no turn."""
        waiter = self._ask()
        if waiter is None:
            return True
        try:
            await asyncio.wait_for(asyncio.wrap_future(waiter), timeout_s)
        except TimeoutError:
            return not waiter.cancel()
        except asyncio.CancelledError:
            if not waiter.cancel():
                self.give_back()
            raise
        return True

    def give_back(self) -> None:
        """Ends the turn; the next in the line has it."""
        with self._mutex:
            while self._waiting:
                following = self._waiting.popleft()
                # From here on it can no longer give up.
                if following.set_running_or_notify_cancel():
                    break
            else:
                self._is_taken = False
                return
        following.set_result(None)

    def _ask(self) -> Future[None] | None:
        """Takes the turn if it is free; else a place in the line."""
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return None
            waiter: Future[None] = Future()
            self._waiting.append(waiter)
            return waiter
