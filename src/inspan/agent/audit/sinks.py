"""Brings audit events to whoever observes, without ever holding up what is observed.

Each sink has a queue of its own: events come to it one after another, in order; a slow sink falls behind alone, and
what no longer fits into its queue is dropped, counted and said. A sink that raises gets the next event all the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from inspan.agent.audit.events import AuditEvent, PermissionEvent, ToolExecution
from inspan.agent.faults import fault_name, is_fault

__all__ = ["QUEUE_LIMIT", "AuditBus", "SinkCounts", "snapshot"]

QUEUE_LIMIT = 1_000
"""How many events wait for one sink at most."""

_log = logging.getLogger(__name__)


class _Sink(Protocol):
    def write(self, event: AuditEvent, /) -> Awaitable[None]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkCounts:
    """How an owner's sinks fared, added up.

    Attributes:
        written: Events that were taken.
        failed: Events at which a sink raised.
        dropped: Events that found the queue full.
        pending: Events that wait or are being written.
    """

    written: int = 0
    failed: int = 0
    dropped: int = 0
    pending: int = 0


def snapshot(event: AuditEvent) -> AuditEvent:
    """The event as a value of its own: nothing that a sink does with it is seen by another one.

    All of an event is frozen but for the patterns of a rule's arguments, so only those are copied.
    """
    match event:
        case PermissionEvent(record=record) if record.rule is not None:
            rule = msgspec.structs.replace(record.rule, arguments=dict(record.rule.arguments))
            return PermissionEvent(record=msgspec.structs.replace(record, rule=rule))
        case PermissionEvent() | ToolExecution():
            return event


class AuditBus:
    """The sinks of one agent.

    Args:
        is_enabled: Whether anything is published at all.
        queue_limit: How many events wait for one sink at most.
    """

    def __init__(self, *, is_enabled: bool = True, queue_limit: int = QUEUE_LIMIT) -> None:
        self._is_enabled = is_enabled
        self._queue_limit = queue_limit
        self._pumps: list[_Pump] = []

    def add(self, sink: _Sink, owner: str) -> Callable[[], None]:
        """Adds an observer. Returns what takes it off again, with whatever still waits for it; `drain` before."""
        pump = _Pump(sink, owner, self._queue_limit)
        self._pumps.append(pump)

        def remove() -> None:
            if pump in self._pumps:
                self._pumps.remove(pump)
            pump.stop()

        return remove

    def publish(self, event: AuditEvent) -> None:
        """Gives every sink its own snapshot. Never waits, never raises; call it in the agent's event loop."""
        for pump in self._pumps if self._is_enabled else ():
            pump.put(snapshot(event))

    async def drain(self, timeout_s: float, *, owner: str | None = None) -> tuple[str, ...]:
        """Waits until the sinks have all that was published, at most this long.

        Args:
            timeout_s: The limit for all of them together, seconds.
            owner: Only this owner's sinks; None for all.

        Returns:
            The owners of sinks that still have something to write.
        """
        pumps = [one for one in self._pumps if owner is None or one.owner == owner]
        tasks = {pump.task for pump in pumps if pump.task is not None and not pump.task.done()}
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)
        return tuple(dict.fromkeys(pump.owner for pump in pumps if pump.pending))

    def counts(self, owner: str) -> SinkCounts:
        """How this owner's sinks fared, those that were taken off not counted."""
        pumps = [one for one in self._pumps if one.owner == owner]
        return SinkCounts(
            written=sum(one.written for one in pumps),
            failed=sum(one.failed for one in pumps),
            dropped=sum(one.dropped for one in pumps),
            pending=sum(one.pending for one in pumps),
        )


class _Pump:
    """One sink's queue and, while something is in it, the task that empties it."""

    def __init__(self, sink: _Sink, owner: str, limit: int) -> None:
        self._sink = sink
        self._limit = limit
        self._queue: deque[AuditEvent] = deque()
        self._is_writing = False
        self._is_stopped = False
        self._said_at = 1
        self.owner = owner
        self.task: asyncio.Task[None] | None = None
        self.written = self.failed = self.dropped = 0

    @property
    def pending(self) -> int:
        return len(self._queue) + self._is_writing

    def put(self, event: AuditEvent) -> None:
        if self._is_stopped:
            return
        if self.pending >= self._limit:
            self.dropped += 1
            if self.dropped == self._said_at:
                # A sink that stays slow drops one event after the other: each tenfold is said, and the sum at its end.
                self._said_at *= 10
                _log.warning(
                    "A sink of '%s' is %d events behind; dropped so far: %d.",
                    self.owner,
                    self._limit,
                    self.dropped,
                )
            return
        self._queue.append(event)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._run())

    def stop(self) -> None:
        self._is_stopped = True
        if self._queue:
            _log.warning("A sink of '%s' stopped with %d events unwritten.", self.owner, self.pending)
        if self.dropped:
            _log.warning("A sink of '%s' was too slow for %d events in all.", self.owner, self.dropped)
        self._queue.clear()
        if self.task is not None and not self.task.done():
            self.task.cancel()

    async def _run(self) -> None:
        # No await between the last look at the queue and the end: what is put then starts a new task.
        while self._queue:
            event = self._queue.popleft()
            self._is_writing = True
            try:
                await self._sink.write(event)
                self.written += 1
            except BaseException as error:
                if not is_fault(error):
                    raise
                self._failed(fault_name(error))
            finally:
                self._is_writing = False

    def _failed(self, exception: str) -> None:
        self.failed += 1
        if self.failed == 1 or self.failed % self._limit == 0:
            _log.warning(
                "A sink of '%s' failed with %s, %d times so far.", self.owner, exception, self.failed
            )
