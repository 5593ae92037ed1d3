"""Who hears of the moments in an agent's life, and how far a handler's fault reaches.

A handler that only observes cannot harm: what it raises is logged by its class alone, and the next one is asked. A
handler that may veto guards something, so where its owner is required a fault of it is a veto; else it is passed over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from inspan.agent.cancelling import CancelSignal
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.hook_events import HOOK_EVENTS, VETOABLE, HookEvent, Veto
from inspan.model.errors import PluginError

__all__ = ["HANDLER_TIMEOUT_S", "Handler", "HookBus"]

HANDLER_TIMEOUT_S = 60.0
"""How long one handler may take. After that it counts as one that raised."""

Handler: TypeAlias = Callable[[Any], Awaitable[Veto | None] | Veto | None]
"""Gets the event's typed value; see `plugins.contract.Hooks`."""

_log = logging.getLogger(__name__)
_NAMES = {event: name for name, event in HOOK_EVENTS.items()}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Subscription:
    handler: Handler
    owner: str
    is_required: bool


class HookBus:
    """Tells handlers of events, one after another in the order in which they came.

    Args:
        timeout_s: How long one handler may take, seconds.
    """

    def __init__(self, *, timeout_s: float = HANDLER_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._subscriptions: dict[str, list[_Subscription]] = {name: [] for name in HOOK_EVENTS}
        self._left_behind: set[asyncio.Task[tuple[Veto | None, str]]] = set()
        self._is_closed = False

    def on(
        self, event: str, handler: Handler, owner: str, *, is_required: bool = False
    ) -> Callable[[], None]:
        """Subscribes. Returns what takes the subscription off again; calling that twice is safe.

        Raises:
            PluginError: `plugin_contribution_invalid`: there is no such event, or the handler cannot be called.
        """
        if event not in self._subscriptions or not callable(cast(object, handler)):
            raise PluginError(
                f"The hook of '{owner}' is refused: "
                + (
                    "its handler cannot be called."
                    if event in self._subscriptions
                    else "there is no such event."
                ),
                code="plugin_contribution_invalid",
                hint=f"The events are {', '.join(HOOK_EVENTS)}.",
                detail={"owner": owner, "kind": "hook"},
            )
        subscription = _Subscription(handler=handler, owner=owner, is_required=is_required)
        self._subscriptions[event].append(subscription)

        def leave() -> None:
            if subscription in self._subscriptions[event]:
                self._subscriptions[event].remove(subscription)

        return leave

    def close(self) -> None:
        """Vetoes everything that can be vetoed from now on.

        The guards are about to go. What still runs in spite of having been stopped must not slip by them.
        """
        self._is_closed = True

    async def emit(self, event: HookEvent, cancel: CancelSignal | None = None) -> Veto | None:
        """Tells everybody who subscribed, until somebody vetoes. Never raises, but for the task's own cancellation.

        Args:
            event: What happened.
            cancel: When it is raised, no handler is waited for any more; what can be vetoed is.
        """
        name = _NAMES[type(event)]
        can_veto = name in VETOABLE
        if self._is_closed and can_veto:
            return Veto(reason="The agent is closing.")
        answer, fault = None, ""
        for subscription in tuple(self._subscriptions[name]):
            if cancel is None or not cancel.is_set:
                answer, fault = await self._ask(subscription, event, cancel)
            if cancel is not None and cancel.is_set:
                return Veto(reason="It was cancelled.") if can_veto else None
            if not fault and can_veto and answer is not None:
                return answer
            if not fault and answer is not None:
                fault = "a veto where none can be"
            if not fault:
                continue
            _log.warning("A handler of '%s' for %s failed: %s.", subscription.owner, name, fault)
            if can_veto and subscription.is_required:
                return Veto(reason=f"The guard '{subscription.owner}' failed, and it is required.")
        return None

    async def _ask(
        self, subscription: _Subscription, event: HookEvent, cancel: CancelSignal | None
    ) -> tuple[Veto | None, str]:
        """What the handler said, and the class of its fault or an empty text."""
        try:
            answer = subscription.handler(event)
            if isinstance(answer, Awaitable):
                answer, fault = await self._wait_for(answer, cancel)
                if fault:
                    return None, fault
        except BaseException as error:
            if not is_fault(error):
                raise
            return None, fault_name(error)
        if answer is not None and not isinstance(cast(object, answer), Veto):
            return None, "TypeError"
        return answer, ""

    async def _wait_for(
        self, answer: Awaitable[Veto | None], cancel: CancelSignal | None
    ) -> tuple[Veto | None, str]:
        """The answer, waited for in a task of its own, so that one which cannot be cancelled is left behind."""
        task = asyncio.create_task(_guarded(answer))
        stopped = asyncio.Event()
        leave = cancel.listen(stopped.set) if cancel is not None else None
        waiting = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({task, waiting}, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return (None, "CancelledError") if task.cancelled() else task.result()
            return None, "TimeoutError"
        finally:
            if leave is not None:
                leave()
            waiting.cancel()
            self._let_go(task)

    def _let_go(self, task: asyncio.Task[tuple[Veto | None, str]]) -> None:
        if task.done():
            return
        self._left_behind.add(task)
        task.add_done_callback(self._left_behind.discard)
        task.cancel()


async def _guarded(answer: Awaitable[Veto | None]) -> tuple[Veto | None, str]:
    try:
        return await answer, ""
    except BaseException as error:
        if not is_fault(error):
            raise
        return None, fault_name(error)
