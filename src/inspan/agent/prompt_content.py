"""What a person sends in, as it can be kept and sent on to any model."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from inspan.agent.text import clean_text
from inspan.agent.values import Content, ImageContent, TextContent
from inspan.model.errors import UsageError

__all__ = ["prompt_of"]


def prompt_of(content: str | Sequence[Content]) -> tuple[Content, ...]:
    """The content as it is kept and sent.

    Raises:
        UsageError: `invalid_argument`: it says nothing, or a picture is no base64.
    """
    parts: Sequence[Content] = (TextContent(text=content),) if isinstance(content, str) else content
    cleaned = tuple(
        TextContent(text=clean_text(part.text)) if isinstance(part, TextContent) else part for part in parts
    )
    for part in cleaned:
        if isinstance(part, ImageContent):
            _check_picture(part)
    if not any(isinstance(part, ImageContent) or part.text.strip() for part in cleaned):
        raise UsageError("The prompt is empty.")
    return cleaned


def _check_picture(picture: ImageContent) -> None:
    """Refuses what no provider could be sent: it would stand in the conversation, and every later turn would fail."""
    try:
        base64.b64decode(picture.data)
    except ValueError:
        raise UsageError("A picture of the prompt is no base64.") from None
