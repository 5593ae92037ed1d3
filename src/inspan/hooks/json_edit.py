"""Puts a part into a JSON text and takes one out; everything else stays byte for byte."""

from __future__ import annotations

from .json_text import Node

__all__ = ["cut", "put_element", "put_member"]


def put_member(text: str, node: Node, member: str) -> str:
    """The text with `member` (name, colon and value) behind the object's last one."""
    return _put(text, node, [(one.begin, one.value.end) for one in node.members], member)


def put_element(text: str, node: Node, element: str) -> str:
    """The text with `element` behind the array's last one."""
    return _put(text, node, [(one.begin, one.end) for one in node.elements], element)


def cut(text: str, node: Node, parts: list[tuple[int, int]], index: int) -> str:
    """The text without one of the parts of an object or array, as if it had never been put in."""
    begin, end = parts[index]
    if index > 0:
        begin = parts[index - 1][1]
    elif len(parts) > 1:
        end = parts[1][0]
    elif node.has_last_comma:
        end = text.index(",", end) + 1
    else:
        begin = node.begin + 1
    return text[:begin] + text[end:]


def _put(text: str, node: Node, parts: list[tuple[int, int]], new: str) -> str:
    """Puts a new part behind the last, spaced as the first is. It is cut out again as it was put in."""
    if not parts:
        at = node.begin + 1
        return text[:at] + new + text[at:]
    lead = text[node.begin + 1 : parts[0][0]]
    lead = lead if lead.strip() == "" else " "
    at = parts[-1][1]
    return f"{text[:at]},{lead}{new}{text[at:]}"
