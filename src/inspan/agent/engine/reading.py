"""Reads one answer of a provider, in a task of its own, so that no provider can hold up a cancel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from typing import cast

from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.agent.channel import Channel
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.models.catalogue import FoundModel
from inspan.agent.models.contract import ModelEvent, ModelRequest
from inspan.agent.models.failure import FailureKind, ModelFailure

__all__ = ["open_answer"]

_LOG = logging.getLogger(__name__)
_WAITING = 64
"""How many pieces of an answer may wait; beyond that the provider does."""


@asynccontextmanager
async def open_answer(
    found: FoundModel, request: ModelRequest, cancel: CancelSignal, *, grace_s: float
) -> AsyncGenerator[AsyncGenerator[ModelEvent]]:
    """Gives the pieces of an answer, until it is complete or `cancel` is raised.

    What the provider raises comes out of the iterator. When the block ends, the provider's stream is closed, within
    `grace_s`; one that does not let go is left behind, and said.

    Raises:
        PluginError: `plugin_stopped`, on entering: the provider's owner has stopped.
    """
    channel: Channel[ModelEvent] = Channel(_WAITING)
    source = CancelSource(cancel, *([found.lease.signal] if found.lease else ()))
    failure: list[BaseException] = []

    async def pump() -> None:
        stream: object = None
        try:
            stream = found.provider.stream(request, source.signal)
            async for event in stream:
                await channel.put(_something(event))
        except BaseException as error:
            if not is_fault(error):
                raise
            failure.append(error)
        finally:
            channel.close()
            if isinstance(stream, AsyncGenerator):
                await _closed(cast("AsyncGenerator[ModelEvent]", stream), found.owner)

    def stop() -> None:
        channel.discard()
        channel.close()

    async def pieces() -> AsyncGenerator[ModelEvent]:
        while (event := await channel.get()) is not None:
            yield event
        if failure and not source.signal.is_set:
            raise failure[0]

    with found.lease.enter() if found.lease is not None else nullcontext():
        task = asyncio.create_task(pump())
        leave = source.signal.listen(stop)
        reader = pieces()
        try:
            yield reader
        finally:
            leave()
            await reader.aclose()
            source.close()
            channel.lift()
            if not task.done():
                task.cancel()
                _, pending = await asyncio.wait({task}, timeout=grace_s)
                if pending:
                    _LOG.warning("A model's stream of '%s' did not end when it was cancelled.", found.owner)


async def _closed(stream: AsyncGenerator[ModelEvent], owner: str) -> None:
    try:
        await stream.aclose()
    except BaseException as error:
        if not is_fault(error):
            raise
        _LOG.warning("A model's stream of '%s' failed with %s when it was closed.", owner, fault_name(error))


def _something(event: ModelEvent) -> ModelEvent:
    if cast(object, event) is None:  # in the channel, nothing is its end
        raise ModelFailure(FailureKind.GARBAGE, "The model provider gave nothing for an event.")
    return event
