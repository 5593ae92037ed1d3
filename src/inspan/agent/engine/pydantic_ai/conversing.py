"""Our conversation in the library's words, and its parts in ours."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import TextPart as TheirText
from pydantic_ai.messages import ThinkingPart as TheirThinking
from pydantic_ai.messages import ToolCallPart as TheirCall

from inspan.agent.conversation import (
    AssistantMessage,
    AssistantPart,
    CallPart,
    CallResult,
    Message,
    Summary,
    TextPart,
    ThinkingPart,
    ToolMessage,
    UserMessage,
)
from inspan.agent.values import Content, ImageContent, Json, JsonObject, TextContent, ToolCall

__all__ = ["call_of", "state_of", "to_library"]

_PART: TypeAdapter[Any] = TypeAdapter(TheirText | TheirThinking | TheirCall)
_OWN = ("id", "signature", "provider_name", "provider_details")
_LONGEST_MALFORMED = 2_000
_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]")


def to_library(messages: Sequence[Message], instructions: str) -> list[ModelMessage]:
    """The conversation as the library sends it. What follows from the same side becomes one message."""
    sent: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            parts = [part for one in message.parts if (part := _answered(one, message)) is not None]
            if parts:
                sent.append(
                    ModelResponse(
                        parts=parts,
                        model_name=message.model.partition(":")[2],
                        provider_name=next(
                            (part.provider_name for part in parts if part.provider_name), None
                        ),
                        timestamp=message.at,
                    )
                )
            continue
        asked = list(_asked(message))
        newest = sent[-1] if sent else None
        if isinstance(newest, ModelRequest):
            newest.parts = [*newest.parts, *asked]
        else:
            sent.append(ModelRequest(parts=asked, timestamp=message.at))
    newest = sent[-1] if sent else None
    if isinstance(newest, ModelRequest):
        newest.instructions = instructions or None
    return sent


def call_of(part: TheirCall) -> ToolCall:
    """A call in our words. Arguments that are no JSON object are kept as what the model wrote."""
    arguments: object = part.args
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return _malformed(part, arguments)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        return _malformed(part, json.dumps(arguments, default=str))
    return ToolCall(id=part.tool_call_id, tool=part.tool_name, arguments=cast(JsonObject, arguments))


def state_of(part: TheirText | TheirThinking | TheirCall) -> Json:
    """What a provider wants back beside the text: signatures, ids. None if there is nothing."""
    if all(getattr(part, name, None) is None for name in _OWN if name != "provider_name"):
        return None
    state = cast(dict[str, Json], _PART.dump_python(part, mode="json"))
    return {name: state[name] for name in _OWN if state.get(name) is not None}


def _malformed(part: TheirCall, text: object) -> ToolCall:
    return ToolCall(
        id=part.tool_call_id,
        tool=part.tool_name,
        arguments={},
        malformed=str(text)[:_LONGEST_MALFORMED] or "nothing",
    )


def _answered(part: AssistantPart, message: AssistantMessage) -> Any:
    match part:
        case TextPart(text=text):
            plain = {"part_kind": "text", "content": text}
            return _restored(plain, part.provider_state) if text.strip() else None
        case ThinkingPart(text=text):
            if message.is_partial:  # without its signature a provider refuses it
                return None
            return _restored({"part_kind": "thinking", "content": text}, part.provider_state)
        case CallPart(call=call):
            plain = {
                "part_kind": "tool-call",
                "tool_name": _name(call.tool),
                "args": dict(call.arguments),
                "tool_call_id": call.id,
            }
            return _restored(plain, part.provider_state)


def _name(tool: str) -> str:
    """A tool's name as every provider takes it: models make up others, and those stay in the conversation."""
    return _UNNAMEABLE.sub("_", tool)[:64] or "_"


def _restored(plain: dict[str, Any], state: Json) -> ModelResponsePart:
    if isinstance(state, Mapping):
        try:
            return _PART.validate_python({**cast(dict[str, Any], state), **plain})
        except ValidationError:  # written by another version of the library
            pass
    return _PART.validate_python(plain)


def _asked(message: UserMessage | ToolMessage | Summary) -> Iterator[ModelRequestPart]:
    match message:
        case UserMessage(content=content, at=at):
            yield UserPromptPart(content=_contents(content), timestamp=at)
        case Summary(text=text, at=at):
            told = f"What came before, summed up:\n\n{text}"
            yield UserPromptPart(content=told, timestamp=at)
        case ToolMessage(results=results):
            for result in results:
                yield _returned(result, message)


def _returned(result: CallResult, message: ToolMessage) -> ToolReturnPart:
    has_pictures = any(isinstance(part, ImageContent) for part in result.result.content)
    return ToolReturnPart(
        tool_name=_name(result.tool),
        content=_contents(result.result.content) if has_pictures else result.result.text or "(no output)",
        tool_call_id=result.call_id,
        timestamp=message.at,
        outcome="failed" if result.result.is_error else "success",
    )


def _contents(content: Sequence[Content]) -> str | list[UserContent]:
    if len(content) == 1 and isinstance(content[0], TextContent):
        return content[0].text
    parts: list[UserContent] = []
    for part in content:
        match part:
            case TextContent(text=text):
                parts.append(text)
            case ImageContent(media_type=media_type, data=data):
                parts.append(BinaryContent(data=base64.b64decode(data), media_type=media_type))
    return parts
