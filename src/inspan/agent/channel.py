"""A bounded queue from one writer task to one reader, whose end can be told from outside at any moment."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

__all__ = ["Channel"]

T = TypeVar("T")


class Channel(Generic[T]):
    """Passes items in order.

    Args:
        capacity: How many items may wait before the writer does.
    """

    __slots__ = ("_capacity", "_is_closed", "_items", "_reader", "_writers")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._writers: deque[asyncio.Future[None]] = deque()
        self._is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether a writer would wait."""
        return len(self._items) >= self._capacity

    def push(self, item: T) -> None:
        """Adds an item without waiting, over the capacity too; nothing once it is closed."""
        if not self._is_closed:
            self._items.append(item)
            _wake(self._reader)

    async def put(self, item: T) -> None:
        """Adds an item, then waits while there are more than may wait. Returns at once when it is closed."""
        self.push(item)
        while len(self._items) > self._capacity and not self._is_closed:
            waiter = asyncio.get_running_loop().create_future()
            self._writers.append(waiter)
            await waiter

    async def get(self) -> T | None:
        """The next item; None when it is closed and nothing is left."""
        while not self._items:
            if self._is_closed:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        item = self._items.popleft()
        self._let_write()
        return item

    def discard(self) -> None:
        """Throws away what waits."""
        self._items.clear()
        self._let_write()

    def close(self) -> None:
        """Takes no more; what is in it can still be read."""
        self._is_closed = True
        _wake(self._reader)
        self._let_write()

    def lift(self) -> None:
        """Makes no writer wait from now on."""
        self._capacity = 1 << 60
        self._let_write()

    def _let_write(self) -> None:
        if len(self._items) > self._capacity and not self._is_closed:
            return
        while self._writers:
            _wake(self._writers.popleft())


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
