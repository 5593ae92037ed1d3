"""The providers that come with the model library, chosen by `provider:model` and the usual environment variables.

Nothing is imported or asked before a model is used; whether its key is there is known at once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from inspan.agent.models.catalogue import FoundModel
from inspan.agent.models.contract import ModelDefinition
from inspan.model.errors import HarnessError

if TYPE_CHECKING:
    from inspan.agent.engine.pydantic_ai import LibraryProvider

__all__ = ["MODEL_VARIABLE", "WELL_KNOWN", "WellKnownModels", "WellKnownProvider", "default_model"]

MODEL_VARIABLE = "INSPAN_MODEL"
"""The environment variable that names the model when nobody else does."""


class WellKnownProvider(Struct, frozen=True, kw_only=True):
    """A provider.

    Attributes:
        id: The part before the colon.
        title: For people.
        key_variables: Where its key may be; the first that is set counts.
        base_url_variable: Where another address may be, for whoever speaks like it.
        default_model: Its model when only its key is there; a fact of the library's list of models.
    """

    id: str
    title: str
    key_variables: tuple[str, ...]
    base_url_variable: str = ""
    default_model: str = ""


class _Providers(Struct, frozen=True, forbid_unknown_fields=True):
    providers: tuple[WellKnownProvider, ...]


def _read_providers() -> tuple[WellKnownProvider, ...]:
    """They are facts of the agent as a harness, so they stand in its folder."""
    data = files("inspan.harnesses").joinpath("inspan", "providers.toml").read_bytes()
    return msgspec.toml.decode(data, type=_Providers).providers


WELL_KNOWN = _read_providers()
"""In the order in which their keys are looked for when no model is named."""

_BY_ID = {provider.id: provider for provider in WELL_KNOWN}


def default_model(environment: Mapping[str, str]) -> str:
    """The model when nobody named one: `INSPAN_MODEL`, else that of the first provider whose key is set.

    The order is that of `WELL_KNOWN`: Anthropic, OpenAI, Google.

    Raises:
        HarnessError: `model_missing`: there is neither.
    """
    named = environment.get(MODEL_VARIABLE, "").strip()
    if named:
        return named
    for provider in WELL_KNOWN:
        if provider.default_model and key_of(provider, environment):
            return f"{provider.id}:{provider.default_model}"
    keys = ", ".join(provider.key_variables[0] for provider in WELL_KNOWN if provider.default_model)
    raise HarnessError(
        "No model is chosen, and no provider's key is set.",
        code="model_missing",
        hint=f"Set one of {keys}, name a model (`provider:model`, or in {MODEL_VARIABLE}), or try `scripted:demo`, which needs nothing.",
    )


def key_of(provider: WellKnownProvider, environment: Mapping[str, str]) -> str:
    """The variable that holds the provider's key; empty if none does."""
    return next((name for name in provider.key_variables if environment.get(name)), "")


class WellKnownModels:
    """Finds the models of the well-known providers; a `ModelSource`.

    Args:
        environment: Where keys and addresses are; read anew at every search.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._found: dict[tuple[str, str, str], FoundModel] = {}
        self._opened: list[LibraryProvider] = []

    def find(self, name: str) -> FoundModel | None:
        """The model `provider:model`; None if no such provider is known.

        A key that is missing at an address of one's own is no fault: many a server there wants none.

        Raises:
            HarnessError: `agent_extra_missing`, `model_key_missing`, or `model_unknown` for no model after the colon.
        """
        provider_id, _, model = name.partition(":")
        provider = _BY_ID.get(provider_id)
        if provider is None:
            return None
        if not model:
            raise HarnessError(
                f"{name!r} names no model of {provider.title}.",
                code="model_unknown",
                hint=f"Name one, such as `{provider_id}:{provider.default_model or 'gpt-6.1-terra'}`.",
            )
        require_extra("pydantic_ai")
        key_variable = key_of(provider, self._environment)
        base_url = self._environment.get(provider.base_url_variable, "")
        if not key_variable and not base_url:
            raise HarnessError(
                f"No key for {provider.title} is set.",
                code="model_key_missing",
                hint=f"Set {provider.key_variables[0]}, or choose another model.",
            )
        key = self._environment.get(key_variable, "") if key_variable else ""
        place = (name, base_url, key)
        found = self._found.get(place)
        if found is None:
            from inspan.agent.engine.pydantic_ai import LibraryProvider

            speaks = LibraryProvider(provider_id, key=key, key_variable=key_variable, base_url=base_url)
            self._opened.append(speaks)
            found = self._found[place] = FoundModel(
                name=name,
                provider=speaks,
                definition=ModelDefinition(id=model),
                owner="builtin",
            )
        return found

    async def close(self) -> None:
        """Closes all connections. Calling it twice is safe."""
        self._found.clear()
        while self._opened:
            await self._opened.pop().close()


def require_extra(*modules: str) -> None:
    """Whether libraries of the extra `agent` are there; none is read.

    Raises:
        HarnessError: `agent_extra_missing`.
    """
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise HarnessError(
            "The agent needs libraries that are not installed.",
            code="agent_extra_missing",
            hint="Run `pip install 'inspan[agent]'`.",
        )
