"""Makes of whatever a tool gives a result of bounded size that every model and every file can take."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import cast

import msgspec
from msgspec import Struct

from inspan.agent.text import clean_text, clip_middle
from inspan.agent.values import Content, Diff, ImageContent, TextContent, ToolResult

__all__ = ["ResultLimits", "bounded"]


class ResultLimits(Struct, frozen=True, kw_only=True):
    """How large a result may be.

    Attributes:
        text_chars: Of all its text; what is beyond is cut from the middle.
        image_bytes: Of one picture, decoded; a larger one is left out, and said.
        pictures: How many pictures.
        diff_chars: Of one diff, both sides together; a larger one is not kept.
    """

    text_chars: int = 60_000
    image_bytes: int = 5 << 20
    pictures: int = 20
    diff_chars: int = 2 << 20


def bounded(value: object, limits: ResultLimits) -> ToolResult:
    """A `ToolResult` of what a tool returned; an error result if it is nothing of the kind.

    A text, and a mapping with `content`, count as results too.
    """
    result = _as_result(value)
    if result is None:
        return ToolResult.error(f"The tool gave no result that can be read, but {type(value).__name__}.")
    content: list[Content] = []
    room = limits.text_chars
    left_out = 0
    pictures = 0
    for part in result.content:
        match part:
            case TextContent(text=text):
                if room <= 0:
                    left_out += len(text)
                    continue
                clipped = clip_middle(_printable(clean_text(_cut(text, limits))), room)
                room -= len(clipped)
                content.append(part if clipped is text else TextContent(text=clipped))
            case ImageContent():
                pictures += 1
                problem = _problem_of(part, limits) if pictures <= limits.pictures else "too many pictures"
                content.append(TextContent(text=f"[A picture was left out: {problem}.]") if problem else part)
    if left_out:
        content.append(TextContent(text=f"[… {left_out} characters were left out here …]"))
    diffs = tuple(_clean_diff(diff) for diff in result.diffs if _size(diff) <= limits.diff_chars)
    return ToolResult(content=tuple(content), is_error=result.is_error, diffs=diffs)


def _as_result(value: object) -> ToolResult | None:
    if isinstance(value, ToolResult):
        return value if _is_whole(value) else None
    if isinstance(value, str):
        return ToolResult.of_text(value)
    if isinstance(value, Mapping) and "content" in value:
        try:
            return msgspec.convert(_tagged(cast(Mapping[str, object], value)), ToolResult)
        except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
            return None
    return None


def _tagged(value: Mapping[str, object]) -> dict[str, object]:
    return {str(key): member for key, member in value.items()}


def _is_whole(result: ToolResult) -> bool:
    """Whether a result is filled with what it says: a plugin may put anything there."""
    content, diffs = cast(object, result.content), cast(object, result.diffs)
    return (
        isinstance(content, tuple | list)
        and isinstance(diffs, tuple | list)
        and all(_is_sound(part) for part in cast("tuple[object, ...]", content))
        and all(_is_sound(diff) for diff in cast("tuple[object, ...]", diffs))
    )


def _is_sound(part: object) -> bool:
    match part:
        case Diff(path=path, old_text=old, new_text=new):
            texts = cast("tuple[object, ...]", (path, "" if old is None else old, new))
            return all(isinstance(one, str) for one in texts)
        case TextContent(text=text):
            return isinstance(text, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        case ImageContent(media_type=media_type, data=data):
            return isinstance(media_type, str) and isinstance(data, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        case _:
            return False


def _cut(text: str, limits: ResultLimits) -> str:
    """Cuts what is far too long before any other work is done on it."""
    return clip_middle(text, limits.text_chars)


def _printable(text: str) -> str:
    """Without zero characters, which several providers refuse; the same object if there are none."""
    return text.replace("\x00", "\N{SYMBOL FOR NULL}") if "\x00" in text else text


def _problem_of(part: ImageContent, limits: ResultLimits) -> str:
    if len(part.data) > limits.image_bytes * 4 // 3 + 4:
        return f"it is larger than {limits.image_bytes} bytes"
    if not part.media_type.startswith("image/"):
        return "it is no picture"
    try:
        base64.b64decode(part.data, validate=True)
    except (binascii.Error, ValueError):
        return "its data is no base64"
    return ""


def _size(diff: Diff) -> int:
    return len(diff.old_text or "") + len(diff.new_text)


def _clean_diff(diff: Diff) -> Diff:
    old = clean_text(diff.old_text) if diff.old_text is not None else None
    return Diff(path=clean_text(diff.path), old_text=old, new_text=clean_text(diff.new_text))
