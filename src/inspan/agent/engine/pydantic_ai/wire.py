"""Speaks to one model through the library: the conversation goes out, the pieces of an answer come in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import PartDeltaEvent, PartEndEvent, PartStartEvent
from pydantic_ai.messages import TextPart as TheirText
from pydantic_ai.messages import TextPartDelta as TheirTextDelta
from pydantic_ai.messages import ThinkingPart as TheirThinking
from pydantic_ai.messages import ThinkingPartDelta as TheirThinkingDelta
from pydantic_ai.messages import ToolCallPart as TheirCall
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as TheirTool

from inspan.agent.conversation import AssistantPart, CallPart, TextPart, ThinkingPart
from inspan.agent.models.contract import (
    Finished,
    ModelDefinition,
    ModelEvent,
    ModelRequest,
    PartDone,
    TextDelta,
    ThinkingDelta,
    UsageSeen,
)
from inspan.agent.models.failure import FailureKind, ModelFailure

from .conversing import call_of, state_of, to_library
from .failing import failure_of
from .pricing import usage_of

__all__ = ["LibraryModel", "open_model"]

_FIRST_EVENT_S = 300.0
"""How long a provider may take until its answer begins."""


class LibraryModel:
    """One model of one provider, with its connections."""

    def __init__(self, model: Model[Any], *, closes: Callable[[], Any] | None = None) -> None:
        self._model = model
        self._closes = closes
        self.definition = ModelDefinition(id=model.model_name, context_tokens=model.context_window)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Answers one request. Raises `ModelFailure` alone."""
        try:
            async with model_request_stream(
                self._model,
                to_library(request.messages, request.instructions),
                model_settings=_settings(request, self._model.system),
                model_request_parameters=_parameters(request),
                instrument=False,
            ) as response:
                async for event in _events(response):
                    yield event
        except ModelFailure:
            raise
        except Exception as error:  # noqa: BLE001 - each becomes a failure
            raise failure_of(error) from None

    async def close(self) -> None:
        """Closes its connections."""
        await self._model.__aexit__(None, None, None)
        if self._closes is not None:
            await self._closes()


async def open_model(provider: str, name: str, *, key: str, key_variable: str, base_url: str) -> LibraryModel:
    """Makes a model, without asking anybody anything.

    Raises:
        ModelFailure: The library does not take it.
    """
    try:
        model, closes = _make(provider, name, key=key, key_variable=key_variable, base_url=base_url or None)
        await model.__aenter__()
        return LibraryModel(model, closes=closes)
    except Exception as error:  # noqa: BLE001 - each becomes a failure
        raise failure_of(error) from None


def _make(
    provider: str, name: str, *, key: str, key_variable: str, base_url: str | None
) -> tuple[Model[Any], Callable[[], Any] | None]:
    match provider:
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            if key_variable == "ANTHROPIC_AUTH_TOKEN":
                from anthropic import AsyncAnthropic

                client = AsyncAnthropic(auth_token=key, base_url=base_url)
                return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client)), client.close
            speaks = AnthropicProvider(api_key=key or _NO_KEY, base_url=base_url)
            return AnthropicModel(name, provider=speaks), None
        case "google":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            return GoogleModel(name, provider=GoogleProvider(api_key=key or _NO_KEY, base_url=base_url)), None
        case _:
            from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
            from pydantic_ai.providers.openai import OpenAIProvider

            speaks = OpenAIProvider(base_url=base_url or _OPENAI, api_key=key or _NO_KEY)
            # Whoever speaks like OpenAI from another address mostly knows its older interface alone.
            is_chat = provider == "openai-chat" or (provider == "openai" and base_url is not None)
            kind = OpenAIChatModel if is_chat else OpenAIResponsesModel
            return kind(name, provider=speaks), None


_NO_KEY = "none"
_OPENAI = "https://api.openai.com/v1"


def _settings(request: ModelRequest, system: str) -> ModelSettings:
    settings = ModelSettings(max_retries=0, first_event_timeout=_FIRST_EVENT_S)
    if request.max_output_tokens is not None:
        settings["max_tokens"] = request.max_output_tokens
    match request.effort:
        case "low" | "medium" | "high":
            settings["thinking"] = request.effort
        case _:
            pass
    if system == "anthropic":
        settings["cache"] = True
    return settings


def _parameters(request: ModelRequest) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            TheirTool(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.input_schema),
                strict=False,
            )
            for tool in request.tools
        ]
    )


async def _events(response: StreamedResponse) -> AsyncGenerator[ModelEvent]:
    async for event in response:
        match event:
            case PartStartEvent(part=TheirText(content=text)) if text:
                yield TextDelta(text=text)
            case PartStartEvent(part=TheirThinking(content=text)) if text:
                yield ThinkingDelta(text=text)
            case PartDeltaEvent(delta=TheirTextDelta(content_delta=text)) if text:
                yield TextDelta(text=text)
            case PartDeltaEvent(delta=TheirThinkingDelta(content_delta=text)) if text:
                yield ThinkingDelta(text=text)
            case PartEndEvent(part=part):
                done = _part(part)
                if done is not None:
                    yield PartDone(part=done)
            case _:
                pass
    whole = response.get()
    yield UsageSeen(usage=usage_of(whole))
    match whole.finish_reason:
        case "length":
            yield Finished(reason="max_tokens")
        case "content_filter":
            yield Finished(reason="refused")
        case "error":
            raise ModelFailure(FailureKind.UNAVAILABLE, "The provider ended the answer with an error.")
        case _:
            if whole.state == "incomplete":
                raise ModelFailure(FailureKind.CONNECTION, "The connection broke in mid-answer.")
            yield Finished(reason="stop")


def _part(part: object) -> AssistantPart | None:
    match part:
        case TheirText():
            return TextPart(text=part.content, provider_state=state_of(part))
        case TheirThinking():
            return ThinkingPart(text=part.content, provider_state=state_of(part))
        case TheirCall():
            call = cast(TheirCall, part)
            return CallPart(call=call_of(call), provider_state=state_of(call))
        case _:
            return None
