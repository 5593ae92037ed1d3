"""The models that can be chosen by `provider:model`: those that were registered, and whoever else can be looked up."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from inspan.agent.faults import fault_name, is_fault
from inspan.agent.leases import Lease
from inspan.agent.models.contract import ModelDefinition, ModelProvider
from inspan.model.errors import PluginError

__all__ = ["PROVIDER_ID", "FoundModel", "ModelCatalogue", "ModelSource"]

_LOG = logging.getLogger(__name__)

PROVIDER_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""What a provider may be called, whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundModel:
    """A model with whoever answers for it.

    Attributes:
        name: `provider:model`.
        provider: Answers its requests.
        definition: What is known of it.
        owner: Who registered it: a plugin's id, `builtin` or `embedder`.
        lease: Under which each of its streams runs; None if its owner never stops.
    """

    name: str
    provider: ModelProvider
    definition: ModelDefinition
    owner: str
    lease: Lease | None = None

    def described(self) -> ModelDefinition:
        """What is known of it by now: a provider that learns more on the way tells it by a method `describe`."""
        try:
            describe = getattr(self.provider, "describe", None)
            known = describe(self.definition.id) if callable(describe) else None
        except BaseException as error:
            if not is_fault(error):
                raise
            _LOG.debug("The provider of %s could not describe it: %s.", self.name, fault_name(error))
            known = None
        return known if isinstance(known, ModelDefinition) else self.definition


class ModelSource(Protocol):
    """Looks up models that nobody registered, such as those of well-known providers."""

    def find(self, name: str) -> FoundModel | None:
        """The model `provider:model`, or None if this source knows no such provider.

        Raises:
            HarnessError: The provider is known and cannot be used, with what to do about it.
        """
        ...


class ModelCatalogue:
    """Keeps one agent's models. A name is registered once; nobody overwrites another's.

    Args:
        fallback: Asked for the providers that nobody registered.
        reserved: Ids of providers that nobody may register.
    """

    def __init__(
        self, fallback: ModelSource | None = None, *, reserved: frozenset[str] = frozenset()
    ) -> None:
        self._fallback = fallback
        self._reserved = reserved
        self._providers: dict[str, tuple[str, dict[str, FoundModel]]] = {}

    def add(
        self,
        provider: ModelProvider,
        models: Sequence[ModelDefinition],
        owner: str,
        lease: Lease | None = None,
    ) -> None:
        """Adds a provider with its models: all of it, or nothing if anything is wrong.

        Raises:
            PluginError: `plugin_conflict` for a provider that is there already or reserved;
                `plugin_contribution_invalid` for a bad id, no models, or a model that is there twice.
        """
        provider_id = cast(object, provider.id)
        if not isinstance(provider_id, str) or not PROVIDER_ID.fullmatch(provider_id):
            raise _invalid(f"{provider_id!r} cannot name a model provider.")
        if provider_id in self._providers or provider_id in self._reserved:
            raise PluginError(
                f"A model provider {provider_id!r} is there already.",
                code="plugin_conflict",
                hint="Give the provider another id.",
            )
        if not callable(getattr(provider, "stream", None)):
            raise _invalid(f"The model provider {provider_id!r} has no method `stream`.")
        found: dict[str, FoundModel] = {}
        for model in models:
            if not isinstance(model, ModelDefinition) or not model.id:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise _invalid(
                    f"The model provider {provider_id!r} brings something that is no model definition."
                )
            if model.id in found:
                raise _invalid(f"The model provider {provider_id!r} defines {model.id!r} twice.")
            name = f"{provider_id}:{model.id}"
            found[model.id] = FoundModel(
                name=name, provider=provider, definition=model, owner=owner, lease=lease
            )
        if not found:
            raise _invalid(f"The model provider {provider_id!r} brings no models.")
        self._providers[provider_id] = (owner, found)

    def remove(self, owner: str, provider: str = "") -> None:
        """Takes away an owner's providers, or one of them. Nothing happens if there are none."""
        for provider_id, (its_owner, _) in tuple(self._providers.items()):
            if its_owner == owner and provider in ("", provider_id):
                del self._providers[provider_id]

    def find(self, name: str) -> FoundModel | None:
        """The model `provider:model`; None if there is none. `provider:` alone is the provider's first.

        Raises:
            HarnessError: A well-known provider cannot be used, with what to do about it.
        """
        provider_id, _, model = name.partition(":")
        known = self._providers.get(provider_id)
        if known is None:
            return self._fallback.find(name) if self._fallback else None
        models = known[1]
        return models.get(model) if model else next(iter(models.values()))

    def list(self) -> tuple[FoundModel, ...]:
        """All registered models, in the order of their registration."""
        return tuple(model for _, models in self._providers.values() for model in models.values())


def _invalid(fact: str) -> PluginError:
    return PluginError(fact, code="plugin_contribution_invalid")
