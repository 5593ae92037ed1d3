"""What a client asked of the model, in one shape for all wire formats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["Asked", "Json", "Tool", "members", "object_at", "text_of", "without_reminders"]

Json = dict[str, Any]

_REMINDER = re.compile(
    r"<(system-reminder|environment_context|environment_details)>.*?</\1>"
    r"|<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool that the client offers; `schema` is the JSON Schema of its arguments."""

    name: str
    schema: Mapping[str, Any]
    is_freeform: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One request.

    `user_texts` holds every user message in order, without the reminder blocks that clients add.
    `has_tool_result` is true when a tool result came after the last of them. `answer_schema` is the JSON Schema
    that the answer must fulfil, where the client demands one.
    """

    model: str
    is_stream: bool
    user_texts: tuple[str, ...]
    has_tool_result: bool
    tools: tuple[Tool, ...]
    system_text: str
    answer_schema: Mapping[str, Any] | None = None

    @property
    def last_user_text(self) -> str:
        """The newest user message, empty where there is none."""
        return self.user_texts[-1] if self.user_texts else ""


def members(value: object) -> Iterator[Json]:
    """Yield the JSON objects of a list; anything else in it, or anything but a list, yields nothing."""
    if isinstance(value, list):
        for member in cast(list[object], value):
            if isinstance(member, dict):
                yield cast(Json, member)


def object_at(value: Json, *names: str) -> Json:
    """Follow `names` into nested objects; where one of them is absent or no object, the result is empty."""
    for name in names:
        inner: object = value.get(name)
        if not isinstance(inner, dict):
            return {}
        value = cast(Json, inner)
    return value


def text_of(content: object) -> str:
    """Join the text of a message's content, which may be a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in members(content) if isinstance(part.get("text"), str))


def without_reminders(text: str) -> str:
    """Drop the tagged blocks that clients put in front of or behind what the person typed."""
    return _REMINDER.sub("", text).strip()
