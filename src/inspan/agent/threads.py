"""Blocking work in a thread that nobody has to wait for.

The event loop's own pool is joined when the loop or the program ends, so one call that never returns would keep the
program from ending. A thread of its own, as here, dies with the program.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

__all__ = ["run_in_thread"]

_R = TypeVar("_R")


async def run_in_thread(work: Callable[[], _R], *, name: str) -> _R:
    """Runs `work` in a new thread with this task's context variables, and gives what it returns or raises.

    A cancellation leaves the thread to itself: its result is thrown away when it comes.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_R] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Callable[[], None]) -> None:
        if not answer.done():
            result()

    def run() -> None:
        try:
            value = context.run(work)
        except StopIteration:  # a future cannot raise it
            result = _fail(answer, RuntimeError("the work raised StopIteration"))
        except BaseException as error:  # noqa: BLE001  goes to whoever waits
            result = _fail(answer, error)
        else:
            result = _give(answer, value)
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await answer


def _fail(answer: asyncio.Future[_R], error: BaseException) -> Callable[[], None]:
    return lambda: answer.set_exception(error)


def _give(answer: asyncio.Future[_R], value: _R) -> Callable[[], None]:
    return lambda: answer.set_result(value)
