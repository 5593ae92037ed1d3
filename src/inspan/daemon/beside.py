"""Beside: a task that lives exactly as long as a block, and whose end changes nothing about the block's own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

__all__ = ["running_beside"]

_LOG = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def running_beside(work: Coroutine[Any, Any, None], *, name: str) -> AsyncGenerator[asyncio.Task[None]]:
    """Runs `work` beside the block, and cancels it at the block's end.

    Unlike a `TaskGroup` it leaves the block's own exception as it is: a caller of `open_local` who raises a
    `ValueError` sees that, and no group around it. What `work` itself raises is written to the log.
    """
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(result, Exception):
            _LOG.error("%s failed", name, exc_info=result)
