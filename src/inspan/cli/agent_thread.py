"""The agent's event loop in a thread of its own, so that a person can type, and interrupt, in the main one."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from inspan.agent.agent import Agent
from inspan.agent.events import SessionEvent
from inspan.agent.permissions.values import Answer, PermissionQuestion, Responder
from inspan.agent.session import Session

__all__ = ["AgentThread", "Asked", "Interrupted", "Over"]

_T = TypeVar("_T")
_END_S = 20.0


class Asked(NamedTuple):
    """A permission question; `answer` may be called once, from any thread."""

    question: PermissionQuestion
    answer: Callable[[Answer], None]


class Interrupted(NamedTuple):
    """The person pressed Ctrl-C."""


class Over(NamedTuple):
    """A turn is over; `error` is what it raised, if that was more than an ending of its own."""

    error: BaseException | None


class AgentThread:
    """One agent. Use it as a context manager.

    Args:
        create: Makes the agent, given whom to ask; called in the thread.
        asks: Whether somebody is there to answer; otherwise what would be asked is denied.
    """

    def __init__(
        self, create: Callable[[Responder | None], Coroutine[Any, Any, Agent]], *, asks: bool
    ) -> None:
        # A simple queue can be put into by a signal's handler at any instant.
        self.happenings: queue.SimpleQueue[SessionEvent | Asked | Interrupted | Over] = queue.SimpleQueue()
        self._create = create
        self._asks = asks
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="agent", daemon=True)
        self._agent: Agent | None = None

    def __enter__(self) -> AgentThread:
        self._thread.start()
        try:
            self._agent = self.call(self._create(self._ask if self._asks else None))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._agent is not None:
                self.call(self._agent.close(), timeout_s=_END_S)
        finally:
            self._stop()

    @property
    def agent(self) -> Agent:
        """The agent. Only what changes nothing may be read of it from another thread."""
        if self._agent is None:
            raise RuntimeError("the agent is not open")
        return self._agent

    def call(self, work: Coroutine[Any, Any, _T], *, timeout_s: float | None = None) -> _T:
        """Runs a coroutine in the agent's loop, and waits for what it gives. Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except (KeyboardInterrupt, TimeoutError):
            future.cancel()
            raise

    def begin(self, session: Session, prompt: str) -> None:
        """Begins a turn. What happens comes in `happenings`, at last an `Over`."""
        future: Future[None] = asyncio.run_coroutine_threadsafe(self._turn(session, prompt), self._loop)
        future.add_done_callback(
            lambda done: self.happenings.put(Over(None if done.cancelled() else done.exception()))
        )

    def cancel(self, session: Session) -> None:
        """Asks the running turn to stop."""
        self._loop.call_soon_threadsafe(session.cancel)

    async def _turn(self, session: Session, prompt: str) -> None:
        async with session.prompt(prompt) as turn:
            async for event in turn:
                self.happenings.put(event)

    async def _ask(self, question: PermissionQuestion) -> Answer:
        future: asyncio.Future[Answer] = self._loop.create_future()

        def settle(answer: Answer) -> None:
            if not future.done():
                future.set_result(answer)

        def answer(given: Answer) -> None:
            self._loop.call_soon_threadsafe(settle, given)

        self.happenings.put(Asked(question, answer))
        return await future

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_END_S)
