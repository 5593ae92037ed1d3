"""A conversation as the agent keeps it: in its own words, so that no model library's version is part of a session.

One turn is a `UserMessage`, then an `AssistantMessage` a model request, each followed by a `ToolMessage` if it made
calls. A `Summary` stands for all that came before it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from .values import Content, Json, ToolCall, ToolResult, Usage

__all__ = [
    "AssistantMessage",
    "AssistantPart",
    "CallPart",
    "CallResult",
    "Message",
    "Summary",
    "TextPart",
    "ThinkingPart",
    "ToolMessage",
    "UserMessage",
]


class UserMessage(Struct, frozen=True, kw_only=True, tag="user"):
    """What was sent in: a person's prompt, or what the agent adds itself (`source` then says who)."""

    at: datetime
    content: tuple[Content, ...]
    source: str = "user"


class TextPart(Struct, frozen=True, kw_only=True, tag="text"):
    """Text that the model wrote. `provider_state` is the provider's own, given back to it unchanged."""

    text: str
    provider_state: Json = None


class ThinkingPart(Struct, frozen=True, kw_only=True, tag="thinking"):
    """What the model thought. `provider_state` is the provider's own, given back to it unchanged."""

    text: str
    provider_state: Json = None


class CallPart(Struct, frozen=True, kw_only=True, tag="call"):
    """A call that the model asked for. `provider_state` is the provider's own, given back to it unchanged."""

    call: ToolCall
    provider_state: Json = None


AssistantPart: TypeAlias = TextPart | ThinkingPart | CallPart


class AssistantMessage(Struct, frozen=True, kw_only=True, tag="assistant"):
    """What the model answered to one request.

    Attributes:
        at: When it was complete.
        model: The model that wrote it, `provider:model`.
        parts: In the order in which they came.
        usage: Of this request.
        is_partial: Whether it was cut: by a cancel, or by a model that died. Its calls were never run.
    """

    at: datetime
    model: str
    parts: tuple[AssistantPart, ...]
    usage: Usage = Usage()
    is_partial: bool = False


class CallResult(Struct, frozen=True, kw_only=True):
    """What one call gave."""

    call_id: str
    tool: str
    result: ToolResult


class ToolMessage(Struct, frozen=True, kw_only=True, tag="tool"):
    """The results of the calls of the assistant message before it, in its order."""

    at: datetime
    results: tuple[CallResult, ...]


class Summary(Struct, frozen=True, kw_only=True, tag="summary"):
    """Stands for every message before it, which stay in the log and are no longer sent."""

    at: datetime
    text: str
    usage: Usage = Usage()


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage | Summary
