"""The text of a JSON file, read with its places, so that it can be changed and the rest stays as it is, byte for byte.

Comments and a comma after the last member are read as well, since some harnesses take them in their settings.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

__all__ = ["JsonTextError", "Member", "Node", "read_json_text", "value_of"]

DEPTH = 200

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*(?s:.*?)\*/)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


class JsonTextError(Exception):
    """The text is no JSON; its words say where."""


class Node(msgspec.Struct, kw_only=True):
    """A value in the text.

    Attributes:
        begin: Where it begins.
        end: Behind its last character.
        kind: What it is.
        members: Those of an object, in order.
        elements: Those of an array, in order.
        has_last_comma: A comma follows the last of them.
    """

    begin: int
    end: int
    kind: str
    members: list[Member] = []
    elements: list[Node] = []
    has_last_comma: bool = False

    def member(self, key: str) -> Member | None:
        """The member of that name."""
        return next((one for one in self.members if one.key == key), None)


class Member(msgspec.Struct, kw_only=True):
    """A member of an object: its name, where that begins, and its value."""

    key: str
    begin: int
    value: Node


def read_json_text(text: str) -> Node:
    """The value that a text is.

    Raises:
        JsonTextError: It is none, or an object in it has a name twice.
    """
    start = 1 if text.startswith("\ufeff") else 0
    node = _value(text, _skip(text, start), 0)
    rest = _skip(text, node.end)
    if rest != len(text):
        raise JsonTextError(f"something follows its end, at {_where(text, rest)}")
    return node


def value_of(text: str, node: Node) -> Any:
    """What a value is, without its places."""
    match node.kind:
        case "object":
            return {one.key: value_of(text, one.value) for one in node.members}
        case "array":
            return [value_of(text, one) for one in node.elements]
        case _:
            return json.loads(text[node.begin : node.end])


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEPTH:
        raise JsonTextError("it is too deep")
    match text[at : at + 1]:
        case "{":
            return _object(text, at, depth)
        case "[":
            return _array(text, at, depth)
        case _:
            found = _STRING.match(text, at) or _SCALAR.match(text, at)
            if found is None:
                raise JsonTextError(f"no value at {_where(text, at)}")
            return Node(begin=at, end=found.end(), kind="string" if found[0][0] == '"' else "scalar")


def _object(text: str, at: int, depth: int) -> Node:
    node = Node(begin=at, end=at, kind="object", members=[], elements=[])
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        found = _STRING.match(text, at)
        if found is None:
            raise JsonTextError(f"no name at {_where(text, at)}")
        try:
            key = json.loads(found[0])
        except ValueError as error:
            raise JsonTextError(f"no name at {_where(text, at)}") from error
        if node.member(key) is not None:
            raise JsonTextError(f"{key!r} stands twice, at {_where(text, at)}")
        colon = _skip(text, found.end())
        if text[colon : colon + 1] != ":":
            raise JsonTextError(f"no colon at {_where(text, colon)}")
        value = _value(text, _skip(text, colon + 1), depth + 1)
        node.members.append(Member(key=key, begin=at, value=value))
        at, node.has_last_comma = _after(text, value.end, "}")
    node.end = at + 1
    return node


def _array(text: str, at: int, depth: int) -> Node:
    node = Node(begin=at, end=at, kind="array", members=[], elements=[])
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        element = _value(text, at, depth + 1)
        node.elements.append(element)
        at, node.has_last_comma = _after(text, element.end, "]")
    node.end = at + 1
    return node


def _after(text: str, at: int, close: str) -> tuple[int, bool]:
    """Where the next thing begins behind a value, and whether a comma came before it."""
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1), True
    if text[at : at + 1] != close:
        raise JsonTextError(f"no comma at {_where(text, at)}")
    return at, False


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _where(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"
