"""The one task in which a plugin's own steps run: its setup, its starts, and its disposers.

A cancel scope, as most async libraries use them, has to be closed in the task that opened it. So what a plugin opens in
its setup and closes in a disposer is opened and closed in the same task. A step is bounded by waiting for it from
outside: a time limit inside the task could be swallowed along with the cancellation by which it works.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import TypeAlias

from inspan.agent.faults import fault_name

__all__ = ["PluginOwner", "Step"]

Step: TypeAlias = Callable[[], object]
"""A plugin's own function; what it gives is awaited if it can be."""

_TIME_TO_HEED = 0.2
"""The part of a step's time that is kept to wait for it to heed its cancellation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    step: Step
    fault: asyncio.Future[str]


class PluginOwner:
    """Runs a plugin's steps one after another in one task, which `end` ends.

    Args:
        name: The task's name.
        lost: Runs in the task when somebody else cancels it, such as an event loop that is shut down before the agent
            was closed; the task then ends.
    """

    def __init__(self, name: str, lost: Callable[[], Awaitable[None]]) -> None:
        self._lost = lost
        self._asked: asyncio.Queue[_Asked | None] = asyncio.Queue()
        self._given_up: _Asked | None = None
        self._is_interrupted = False
        self._is_stuck = False
        self._task = asyncio.create_task(self._run(), name=name)

    @property
    def is_usable(self) -> bool:
        """Whether it can run another step: neither stuck in one that cannot be cancelled, nor ended."""
        return not self._is_stuck and not self._task.done()

    async def run(self, step: Step, timeout_s: float) -> str:
        """Runs a step, and returns when it is done or its time is over.

        If the caller is cancelled, so is the step.

        Returns:
            Empty if it went well, else the class of what it raised: `TimeoutError` if it took too long. One that does
            not heed its cancellation either is left behind, and `is_usable` is false from then on.
        """
        if self._given_up is not None:
            self._is_stuck = not await self._is_answered(self._given_up, timeout_s * _TIME_TO_HEED)
            self._given_up = None
        if not self.is_usable:
            return "CancelledError"
        asked = _Asked(step=step, fault=asyncio.get_running_loop().create_future())
        self._is_interrupted = False
        self._asked.put_nowait(asked)
        try:
            if await self._is_answered(asked, timeout_s * (1 - _TIME_TO_HEED)):
                return asked.fault.result()
            if self._task.done():
                return "CancelledError"
            self._interrupt()
            self._is_stuck = not await self._is_answered(asked, timeout_s * _TIME_TO_HEED)
        except asyncio.CancelledError:
            if not asked.fault.done():
                self._interrupt()
                self._given_up = asked
            raise
        return "TimeoutError"

    def end(self) -> None:
        """Ends the task once its step is done, or tells it to if that step hangs. Calling it twice is safe."""
        self._asked.put_nowait(None)

    async def ended(self, timeout_s: float) -> bool:
        """Whether the task is over within this time."""
        await asyncio.wait({self._task}, timeout=timeout_s)
        return self._task.done()

    def _interrupt(self) -> None:
        self._is_interrupted = True
        self._task.cancel()

    async def _is_answered(self, asked: _Asked, timeout_s: float) -> bool:
        await asyncio.wait({asked.fault, self._task}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        return asked.fault.done()

    async def _run(self) -> None:
        while True:
            try:
                asked = await self._asked.get()
            except asyncio.CancelledError:
                break
            if asked is None:
                return
            fault = await self._answer(asked.step)
            is_cancelled = _is_cancelled() and not self._is_interrupted
            _forget_cancellations()
            asked.fault.set_result(fault)
            if self._is_stuck:
                return
            if is_cancelled:
                break
        _forget_cancellations()
        await self._lost()

    async def _answer(self, step: Step) -> str:
        try:
            result = step()
            if isawaitable(result):
                await result
        except asyncio.CancelledError as error:
            return "TimeoutError" if self._is_interrupted else fault_name(error)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  whatever a plugin raises is told by its class
            return fault_name(error)
        return "TimeoutError" if self._is_interrupted else ""


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _forget_cancellations() -> None:
    """Lets the task go on after a cancellation was dealt with."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
