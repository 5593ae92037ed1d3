"""What an MCP server's tool gave, in the agent's own words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inspan.agent.values import Content, ImageContent, TextContent, ToolResult

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

__all__ = ["result_of"]


def result_of(answer: CallToolResult) -> ToolResult:
    """The result: text and pictures as they are, anything else named, structure where nothing else was given."""
    content = tuple(_content(block) for block in answer.content)
    if not content and answer.structured_content is not None:
        content = (TextContent(text=json.dumps(answer.structured_content, ensure_ascii=False)),)
    return ToolResult(content=content, is_error=answer.is_error)


def _content(block: ContentBlock) -> Content:
    match block.type:
        case "text":
            return TextContent(text=block.text)
        case "image":
            return ImageContent(media_type=block.mime_type, data=block.data)
        case "audio":
            return TextContent(text=f"(audio, {block.mime_type}, left out)")
        case "resource_link":
            return TextContent(text=f"(resource {block.uri})")
        case "resource":
            text = getattr(block.resource, "text", None)
            return TextContent(
                text=text if isinstance(text, str) else f"(resource {block.resource.uri}, left out)"
            )
