"""Patterns: whether a regular expression can take time that grows faster than its text."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterator
from typing import Any, cast

__all__ = ["nested_repeat"]

_parser: Any = importlib.import_module("re._parser")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_MANY = 16
"""From so many repetitions on, a repeat counts as one without end."""


def nested_repeat(pattern: str) -> str:
    """What in `pattern` repeats a repeat without anything certain between them; empty where nothing does.

    `(a+)+` does; `(?:\\.[0-9]+)+` does not, since a dot that no digit can be parts its repetitions. A pattern that
    does not compile gives nothing: that is another fault.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return ""
    for body in _endless_bodies(tree):
        inner = [repeat for repeat, _ in _endless(body)]
        if inner and not any(_parts(item, inner) for item in body):
            return pattern
    return ""


def _endless(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every repeat without end in `tree`: its body, and itself."""
    for item in tree:
        name, argument = str(item[0]), item[1]
        if name in _REPEATS:
            if argument[1] is _parser.MAXREPEAT or argument[1] >= _MANY:
                yield argument[2], item
            yield from _endless(argument[2])
        else:
            for child in _children(argument):
                yield from _endless(child)


def _endless_bodies(tree: Any) -> Iterator[Any]:
    for body, _ in _endless(tree):
        # A group around the body is no part of it.
        while len(body) == 1 and str(body[0][0]) == "SUBPATTERN":
            body = body[0][1][-1]
        yield body


def _children(argument: Any) -> Iterator[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for one in cast("list[Any]", argument):
            yield from _children(one)


def _parts(item: Any, inner: list[Any]) -> bool:
    """Whether `item` is a character that must come, and that no inner repeat could take."""
    if str(item[0]) != "LITERAL":
        return False
    return not any(_may_match(one, item[1]) for body in inner for one in body)


def _may_match(item: Any, character: int) -> bool:
    name, argument = str(item[0]), item[1]
    match name:
        case "LITERAL":
            return argument == character
        case "NOT_LITERAL":
            return argument != character
        case "RANGE":
            return argument[0] <= character <= argument[1]
        case "CATEGORY":
            return _in_category(str(argument), chr(character))
        case "IN":
            is_negated = str(argument[0][0]) == "NEGATE"
            members = argument[1:] if is_negated else argument
            return any(_may_match(one, character) for one in members) is not is_negated
        case _:
            return True


def _in_category(name: str, character: str) -> bool:
    kinds = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    kind = name.removeprefix("CATEGORY_")
    is_negated = kind.startswith("NOT_")
    pattern = kinds.get(kind.removeprefix("NOT_"))
    return pattern is None or (re.match(pattern, character) is not None) is not is_negated
