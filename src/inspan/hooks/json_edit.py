"""Puts a part into a JSON text and takes one out; everything else stays byte for byte."""

from __future__ import annotations

from .json_text import JsonTextError, Node, read_json_text

__all__ = ["MergeError", "cut", "put_element", "put_member", "reach", "read_object"]


class MergeError(Exception):
    """The text cannot be changed; its words say why. `lines` is what a person can put in by hand, if that helps."""

    def __init__(self, message: str, lines: str = "") -> None:
        super().__init__(message)
        self.lines = lines


def read_object(text: str) -> Node:
    """The object that a text is.

    Raises:
        MergeError: It is none.
    """
    try:
        root = read_json_text(text)
    except (JsonTextError, RecursionError) as error:
        raise MergeError(f"it is no JSON: {error}") from error
    if root.kind != "object":
        raise MergeError("it holds no object")
    return root


def reach(under: tuple[str, ...], root: Node) -> tuple[Node, tuple[str, ...]]:
    """The object that these keys lead to, or the last above it that is there, with the keys that are missing.

    Raises:
        MergeError: Something else is in the way.
    """
    here = root
    for index, key in enumerate(under):
        member = here.member(key)
        if member is None:
            return here, under[index:]
        if member.value.kind != "object":
            raise MergeError(f"{key!r} in it is no object")
        here = member.value
    return here, ()


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
