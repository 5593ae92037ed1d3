"""Turns a tool's arguments into words of a command line, so that no value can be read as anything but a value.

What a model or an app chose never becomes a verb or a flag: a place may not begin with a word that the protocol keeps
for itself, no word begins with `-`, and the fields of a record or an operation travel as one JSON value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from inspan.apps.faults import Misused
from inspan.apps.model.verbs import OPERATE_VERBS, REGISTRY_VERBS

__all__ = [
    "DEEPEST",
    "Arguments",
    "ArgumentsRefused",
    "app_word",
    "flag",
    "json_word",
    "name_word",
    "path_words",
    "stringify",
    "switch",
]

LONGEST_WORD_BYTES = 100_000
"""A word over this is refused: the system's own limit is 128 KiB a word."""

DEEPEST = 200
"""How deep a JSON value may be nested."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class ArgumentsRefused(Misused):
    """The arguments of a call cannot be used; no program was run. The message says to the model what to mend."""


class _Known(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def is_required(self) -> bool: ...


class Arguments:
    """A call's arguments, checked against the tool's own: none missing, none unknown, each of its type.

    Raises:
        ArgumentsRefused: They do not fit.
    """

    def __init__(self, tool: str, takes: Sequence[_Known], given: Mapping[str, Any]) -> None:
        known = {argument.name: argument for argument in takes}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ArgumentsRefused(
                f"{tool} takes no argument {_shown(unknown[0])}.", hint=f"It takes: {', '.join(known)}."
            )
        self._given: dict[str, Any] = {}
        for name, argument in known.items():
            value = given.get(name)
            if value is None:
                if argument.is_required:
                    raise ArgumentsRefused(f"{tool} needs the argument {name!r}: {argument.description}")
                continue
            if not _fits(value, argument.type):
                raise ArgumentsRefused(f"The argument {name!r} of {tool} has to be of type {argument.type}.")
            self._given[name] = value

    def get(self, name: str) -> Any:
        """The argument, or None where it was not given."""
        return self._given.get(name)


def app_word(arguments: Arguments) -> list[str]:
    """The word that names the app, always the first."""
    word = _word(arguments, "dir")
    if word in REGISTRY_VERBS:
        raise ArgumentsRefused(
            f"'{word}' in 'dir' is a command, and no app.", hint=f"For a folder of that name say './{word}'."
        )
    return [word]


def path_words(arguments: Arguments) -> list[str]:
    """The steps of a place. The first one is no verb, and none begins with `-`."""
    steps = [step for step in str(arguments.get("path") or "").split("/") if step]
    for step in steps:
        _check(step, "path")
    if steps and steps[0] in OPERATE_VERBS:
        raise ArgumentsRefused(
            f"'{steps[0]}' at the start of 'path' is a word of the protocol, and no place in an app.",
            hint="Describe the app without a path to see its modules.",
        )
    return steps


def name_word(arguments: Arguments, name: str) -> list[str]:
    """One word by itself: an entity, an id, an operation."""
    return [_word(arguments, name)]


def flag(arguments: Arguments, spelling: str, name: str | None = None) -> list[str]:
    """`--spelling value`, or nothing where the argument was not given. The value may not begin with `--`."""
    name = name or spelling
    given = arguments.get(name)
    if given is None or given == "":
        return []
    value = stringify(given)
    _check_size(value, name)
    if "\x00" in value:
        raise ArgumentsRefused(f"The argument {name!r} has a zero byte.")
    if value.startswith("--"):
        raise ArgumentsRefused(f"The argument {name!r} may not begin with '--'.")
    return [f"--{spelling}", value]


def switch(arguments: Arguments, spelling: str, name: str | None = None) -> list[str]:
    """`--spelling` where the argument is true."""
    return [f"--{spelling}"] if arguments.get(name or spelling) is True else []


def json_word(arguments: Arguments, name: str, spelling: str, *, is_always: bool = False) -> list[str]:
    """`SPELLING {…}`: all fields in one word. Nothing where the object was not given, or `{}` if `is_always`."""
    value = arguments.get(name)
    if value is None and not is_always:
        return []
    value = cast("dict[str, Any]", value or {})
    if _depth(value) > DEEPEST:
        raise ArgumentsRefused(f"The argument {name!r} is nested deeper than {DEEPEST} levels.")
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError) as error:
        raise ArgumentsRefused(f"The argument {name!r} is no JSON value.") from error
    _check_size(text, name)
    return [spelling, text]


def stringify(value: Any) -> str:
    """A scalar as text: `true`, a whole number without its `.0`, an object as compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _word(arguments: Arguments, name: str) -> str:
    word = str(arguments.get(name))
    _check(word, name)
    return word


def _check(word: str, name: str) -> None:
    if not word.strip():
        raise ArgumentsRefused(f"The argument {name!r} is empty.")
    if word.startswith("-"):
        raise ArgumentsRefused(f"{_shown(word)} in {name!r} begins with '-', and would be read as a flag.")
    if _CONTROL.search(word):
        raise ArgumentsRefused(f"The argument {name!r} has control characters.")
    _check_size(word, name)


def _check_size(word: str, name: str) -> None:
    try:
        size = len(word.encode())
    except UnicodeEncodeError as error:
        raise ArgumentsRefused(f"The argument {name!r} is no text (a lone surrogate).") from error
    if size > LONGEST_WORD_BYTES:
        raise ArgumentsRefused(f"The argument {name!r} is over {LONGEST_WORD_BYTES} bytes.")


def _fits(value: Any, type_name: str) -> bool:
    match type_name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and value == value and value not in (float("inf"), float("-inf"))
        case _:
            return isinstance(value, dict)


def _depth(value: Any) -> int:
    """How deep a value is nested, found without recursion."""
    deepest = 0
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        deepest = max(deepest, depth)
        if depth > DEEPEST:
            return depth
        if isinstance(one, dict):
            waiting.extend((inner, depth + 1) for inner in cast("dict[str, Any]", one).values())
        elif isinstance(one, list):
            waiting.extend((inner, depth + 1) for inner in cast("list[Any]", one))
    return deepest


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:39] + "…")
