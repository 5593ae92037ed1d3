"""A well-known provider as the agent knows providers. The library is loaded by its first request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from inspan.agent.cancelling import CancelSignal
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest

if TYPE_CHECKING:
    from .wire import LibraryModel

__all__ = ["LibraryProvider"]


class LibraryProvider:
    """Answers for the models of one provider at one address.

    Args:
        provider: The library's id of it.
        key: What signs in; empty where a server wants none.
        key_variable: The variable from which the key came; some mean another way to sign in.
        base_url: Another address than the provider's own; empty for that.
    """

    def __init__(self, provider: str, *, key: str, key_variable: str, base_url: str) -> None:
        self._provider = provider
        self._key = key
        self._key_variable = key_variable
        self._base_url = base_url
        self._models: dict[str, LibraryModel] = {}
        self._loading = asyncio.Lock()

    @property
    def id(self) -> str:
        """The part before the colon in `provider:model`."""
        return self._provider

    def describe(self, model: str) -> ModelDefinition | None:
        """What the library knows of a model; None before its first request."""
        loaded = self._models.get(model)
        return loaded.definition if loaded is not None else None

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncGenerator[ModelEvent]:
        """Answers one request. It raises `ModelFailure` alone, free of secrets."""
        del cancel  # the stream is closed from outside, and that ends the connection
        model = await self._model(request.model)
        events = model.stream(request)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    async def close(self) -> None:
        """Closes the connections. Calling it twice is safe; a later request opens new ones."""
        models, self._models = self._models, {}
        for model in models.values():
            await model.close()

    async def _model(self, name: str) -> LibraryModel:
        async with self._loading:
            if name not in self._models:
                # In a thread: it takes the better part of a second, and the loop has other sessions to serve.
                wire = await asyncio.to_thread(_load)
                self._models[name] = await wire.open_model(
                    self._provider,
                    name,
                    key=self._key,
                    key_variable=self._key_variable,
                    base_url=self._base_url,
                )
            return self._models[name]


def _load():
    from . import wire

    return wire
