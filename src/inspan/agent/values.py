"""What tools, models and sessions pass to one another: content, calls and their results, usage.

Nothing here knows a model library, a plugin or a protocol. Everything is frozen; what arrives as JSON is kept as
plain Python values (`Json`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

__all__ = [
    "Content",
    "Diff",
    "ImageContent",
    "Json",
    "JsonObject",
    "Location",
    "TextContent",
    "ToolCall",
    "ToolResult",
    "Usage",
]

if TYPE_CHECKING:
    Json: TypeAlias = str | int | float | bool | Sequence["Json"] | Mapping[str, "Json"] | None
    JsonObject: TypeAlias = Mapping[str, Json]
else:  # msgspec reads the annotations, and knows no type that contains itself
    Json = Any
    """Any JSON value."""

    JsonObject = dict[str, Any]
    """A JSON object."""


class TextContent(Struct, frozen=True, kw_only=True, tag="text"):
    """Text for the model or for a person.

    Attributes:
        text: The text, any length; who shows it bounds it.
    """

    text: str


class ImageContent(Struct, frozen=True, kw_only=True, tag="image"):
    """A picture.

    Attributes:
        media_type: Such as `image/png`.
        data: The bytes, in base64.
    """

    media_type: str
    data: str


Content: TypeAlias = TextContent | ImageContent


class Location(Struct, frozen=True, kw_only=True):
    """A place in a file that a call reads or changes.

    Attributes:
        path: Absolute.
        line: From 1; None for the whole file.
    """

    path: str
    line: int | None = None


class Diff(Struct, frozen=True, kw_only=True):
    """What a call changed in one file.

    Attributes:
        path: Absolute.
        old_text: The whole text before; None if there was no file.
        new_text: The whole text after.
    """

    path: str
    old_text: str | None
    new_text: str


class ToolCall(Struct, frozen=True, kw_only=True):
    """A call as the model asked for it.

    Attributes:
        id: The model's own id of the call, unique in its session.
        tool: The tool's name.
        arguments: As the model gave them; not yet checked against the tool's schema.
        malformed: What it gave instead, where that is no JSON object; such a call is not run.
    """

    id: str
    tool: str
    arguments: JsonObject
    malformed: str = ""


class ToolResult(Struct, frozen=True, kw_only=True):
    """What a call gave.

    Attributes:
        content: For the model; may be empty.
        is_error: Whether the call failed. A failed call is data for the model and never ends the turn.
        diffs: The files that it changed, for whoever shows them. Not sent to the model.
    """

    content: tuple[Content, ...] = ()
    is_error: bool = False
    diffs: tuple[Diff, ...] = ()

    @classmethod
    def of_text(cls, text: str) -> ToolResult:
        """A result of one text."""
        return cls(content=(TextContent(text=text),))

    @classmethod
    def error(cls, text: str) -> ToolResult:
        """A failed call, in words that the model can act on."""
        return cls(content=(TextContent(text=text),), is_error=True)

    @property
    def text(self) -> str:
        """All text of the content, joined by newlines."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextContent))


class Usage(Struct, frozen=True, kw_only=True):
    """What was spent, added up over the requests it is about.

    Attributes:
        requests: How many requests the model answered.
        input_tokens: Tokens read, those from a cache included.
        output_tokens: Tokens written.
        cache_read_tokens: Of the input, those that came from the provider's cache.
        cache_write_tokens: Of the input, those that were put into it.
        cost_usd: In US dollars by published prices; None when the model's price is not known.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """The sum; its cost is known only if that of every part with requests is."""
        costs = [part.cost_usd for part in (self, other) if part.requests]
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost_usd=None if None in costs or not costs else sum(cost for cost in costs if cost is not None),
        )
