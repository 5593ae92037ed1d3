"""A link: one launch as this daemon follows it. It says nothing durable of its own."""

from __future__ import annotations

import asyncio
import time

from inspan.store import LaunchCursor, OutboxRow
from inspan.transports.machine import Machine, Outgoing, Step
from inspan.transports.watching import WatchingMachine

__all__ = ["Link"]


class Link:
    """The machine of a launch, how far the launch was followed, and what waits to be written.

    Attributes:
        launch: The launch.
        seat: Its seat.
        machine: Speaks its wire.
        offset: Up to which byte of the harness's output everything is durable.
        next_op: The number of the next write.
        snapshot: The machine's state as it is durable.
        writes: Writes that are durable, in the order of their numbers.
        heard_at: When the harness last said anything, in seconds of the monotonic clock.
    """

    def __init__(self, cursor: LaunchCursor, machine: Machine) -> None:
        self.launch = cursor.launch
        self.seat = cursor.seat
        self.machine = machine
        self.offset = cursor.offset
        self.next_op = cursor.next_op
        self.snapshot = cursor.snapshot
        self.writes: asyncio.Queue[OutboxRow] = asyncio.Queue()
        self.heard_at = time.monotonic()
        self._tail = bytearray()

    @property
    def fed(self) -> int:
        """The offset of the next byte that the machine has not seen."""
        return self.offset + len(self._tail)

    @property
    def watching(self) -> WatchingMachine | None:
        """The machine, where it has a screen."""
        return self.machine if isinstance(self.machine, WatchingMachine) else None

    def feed(self, data: bytes) -> Step:
        """Feeds the machine; nothing counts until `commit`."""
        self.heard_at = time.monotonic()
        return self.machine.feed(data)

    def number(self, outgoing: list[Outgoing]) -> tuple[OutboxRow, ...]:
        """Gives writes their numbers; nothing counts until `commit`."""
        return tuple(
            OutboxRow(
                launch=self.launch,
                op=self.next_op + index,
                data=one.data,
                purpose=one.purpose,
                delivery=one.delivery,
                request=one.request,
            )
            for index, one in enumerate(outgoing)
        )

    def cursor(self, *, consumed: int, writes: int, snapshot: bytes) -> LaunchCursor:
        """The cursor that says that so much more is done."""
        return LaunchCursor(
            launch=self.launch,
            seat=self.seat,
            offset=self.offset + consumed,
            next_op=self.next_op + writes,
            snapshot=snapshot,
        )

    def commit(self, cursor: LaunchCursor, rows: tuple[OutboxRow, ...], data: bytes) -> None:
        """Takes over what became durable, and lets the writes go."""
        self._tail += data
        del self._tail[: cursor.offset - self.offset]
        self.offset, self.next_op, self.snapshot = cursor.offset, cursor.next_op, cursor.snapshot
        for row in rows:
            self.writes.put_nowait(row)

    def keep(self, data: bytes) -> None:
        """Keeps bytes that were fed and neither said nor completed anything."""
        self._tail += data

    def rollback(self) -> None:
        """Returns the machine to what is durable, and to the beginning of a message that it had seen."""
        self.machine.rollback(self.snapshot)
        if self._tail:
            self.machine.feed(bytes(self._tail))
        if self.watching is not None:
            # What the terminal answered to these bytes was written before.
            self.watching.take_reply()

    def close(self) -> None:
        """Frees what the machine holds. May be called twice."""
        if self.watching is not None:
            self.watching.close()
