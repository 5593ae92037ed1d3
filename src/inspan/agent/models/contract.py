"""What a model provider is, in the agent's own words. No model library is named here.

A plugin registers a `ModelProvider`; the scripted model is one too. The well-known providers (OpenAI and whoever
speaks like it, Anthropic, Google) come with the model library and are chosen by the same `provider:model` names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import AssistantPart, Message
from inspan.agent.values import JsonObject, Usage

__all__ = [
    "Finished",
    "ModelDefinition",
    "ModelEvent",
    "ModelProvider",
    "ModelRequest",
    "PartDone",
    "TextDelta",
    "ThinkingDelta",
    "ToolDefinition",
    "UsageSeen",
]


class ModelDefinition(Struct, frozen=True, kw_only=True):
    """A model that can be chosen.

    Attributes:
        id: The provider's own name of it; chosen as `provider:id`.
        title: For people; empty shows the id.
        context_tokens: How many tokens fit into one request; None if it is not known.
        max_output_tokens: The most it writes in one request; None if it is not known.
        input_usd_per_mtok: Price of a million input tokens; None if it is not known.
        output_usd_per_mtok: Price of a million output tokens; None if it is not known.
    """

    id: str
    title: str = ""
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    input_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as a model sees it."""

    name: str
    description: str
    input_schema: JsonObject


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One request.

    Attributes:
        model: The id of one of the provider's models, without the provider.
        instructions: The system prompt, the same for all requests of a turn.
        messages: The conversation, oldest first.
        tools: What may be called.
        max_output_tokens: None leaves it to the provider.
        effort: How hard to think (`low`, `medium`, `high`), empty to leave it.
    """

    model: str
    instructions: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    max_output_tokens: int | None = None
    effort: str = ""


class TextDelta(Struct, frozen=True, kw_only=True, tag="text_delta"):
    """Some more of the text."""

    text: str


class ThinkingDelta(Struct, frozen=True, kw_only=True, tag="thinking_delta"):
    """Some more of the thinking."""

    text: str


class PartDone(Struct, frozen=True, kw_only=True, tag="part_done"):
    """A whole part: a call, or text or thinking whose deltas came before or are left out."""

    part: AssistantPart


class UsageSeen(Struct, frozen=True, kw_only=True, tag="usage"):
    """What the request spent, once, near its end."""

    usage: Usage


class Finished(Struct, frozen=True, kw_only=True, tag="finished"):
    """Why the answer is complete, where the provider says it. A provider that never does means `stop`.

    Attributes:
        reason: `stop`: it said all, calls included; `max_tokens`: it was cut by its length; `refused`: the provider
            refused for its content.
    """

    reason: Literal["stop", "max_tokens", "refused"]


ModelEvent: TypeAlias = TextDelta | ThinkingDelta | PartDone | UsageSeen | Finished


class ModelProvider(Protocol):
    """Answers requests for its models."""

    @property
    def id(self) -> str:
        """The part before the colon in `provider:model`: lower-case letters, digits, `.`, `_`, `-`."""
        ...

    def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        """Answers one request, piece by piece; ends when the answer is complete.

        It raises a `ModelFailure` (`models.failure`), or what it likes: then the turn fails with the exception's class
        alone. It should end soon after `cancel` is
        raised; its iterator is closed in any case.
        """
        ...
