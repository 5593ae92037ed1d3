"""What could stand at the end of a command line: `inspan __complete WORD…`, one candidate a line.

Commands, actions and options come from the parsers; names come from the daemon, if one runs: completing a
line never starts anything. A line is the candidate, a tab, and what it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from inspan.model.errors import InspanError

from .arguments import NameKind, Parser
from .commands import COMMANDS, parser_of
from .context import Context
from .fields import Json, records, text
from .output import Output, cut

__all__ = ["candidates", "complete"]

_CALL_S = 2.0

Candidate = tuple[str, str]


def complete(words: list[str], output: Output) -> int:
    """Prints the candidates for the last of `words`, which may be empty."""
    typed = words[-1] if words else ""
    for word, said in candidates(words[:-1], typed):
        if word.startswith(typed):
            output.line(f"{word}\t{cut(said, 80)}")
    return 0


def candidates(before: list[str], typed: str) -> Iterator[Candidate]:
    """The candidates behind the words `before`; they may begin with something else than `typed`."""
    home, words = _global_options(before)
    if not words:
        yield from ((name, command.summary) for name, command in COMMANDS.items())
        yield from (("--json", "print JSON"), ("--home", "the home folder"), ("--help", "show help"))
        return
    if words[0] not in COMMANDS:
        return
    parser, rest = parser_of(words[0]), words[1:]
    if parser.actions:
        if not rest:
            yield from ((name, action.summary) for name, action in parser.actions.items())
            return
        if rest[0] not in parser.actions:
            return
        parser, rest = parser.actions[rest[0]], rest[1:]
    yield from _arguments(parser, rest, typed, home)


def _global_options(words: list[str]) -> tuple[str | None, list[str]]:
    home = None
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--home" and rest:
            home = rest.pop(0)
        elif option.startswith("--home="):
            home = option.partition("=")[2]
    for place, word in enumerate(rest[:-1]):
        if word == "--home":
            home = rest[place + 1]
    return home, rest


def _arguments(parser: Parser, words: list[str], typed: str, home: str | None) -> Iterator[Candidate]:
    options, positionals = _split(parser)
    waiting = options.get(words[-1]) if words else None
    if waiting is not None and waiting.nargs != 0:
        yield from _values(parser, waiting, words, home)
        return
    if typed.startswith("-"):
        yield from ((option, action.help or "") for option, action in options.items())
        return
    given = 0
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in options:
            skip = options[word].nargs != 0
        elif not word.startswith("-"):
            given += 1
    if positionals:
        yield from _values(parser, positionals[min(given, len(positionals) - 1)], words, home)


def _split(parser: Parser) -> tuple[dict[str, argparse.Action], list[argparse.Action]]:
    actions = parser._actions  # pyright: ignore[reportPrivateUsage] - argparse has no other way to ask
    options = {option: action for action in actions for option in action.option_strings}
    return options, [action for action in actions if not action.option_strings]


def _values(
    parser: Parser, action: argparse.Action, words: list[str], home: str | None
) -> Iterator[Candidate]:
    if action.choices is not None:
        yield from ((str(choice), action.help or "") for choice in action.choices)
    elif action.dest in parser.names:
        try:
            yield from _names(Context(output=Output(), home=home), parser.names[action.dest], words)
        except InspanError:
            return


def _names(context: Context, kind: NameKind, words: list[str]) -> Iterable[Candidate]:
    match kind:
        case "seat":
            return _listed(context, "/v1/seats", "name", "status")
        case "harness":
            return _listed(context, "/v1/harnesses", "id", "name")
        case "mode":
            chosen = words[words.index("--harness") + 1] if "--harness" in words[:-1] else None
            return [
                (text(mode, "id"), text(harness, "id"))
                for harness in _read(context, "/v1/harnesses")
                if chosen in (None, text(harness, "id"))
                for mode in records(harness, "modes")
            ]
        case "permission":
            asking = _read(context, "/v1/permissions")
            return [
                *((text(one, "seat"), text(one, "tool_call", "title")) for one in asking),
                *((text(one, "id"), text(one, "tool_call", "title")) for one in asking),
            ]
        case "question":
            asking = _read(context, "/v1/questions")
            return [(text(one, key), text(one, "message")) for key in ("seat", "id") for one in asking]
        case "delivery":
            return [
                (text(delivery, "id"), text(delivery, "text"))
                for seat in _read(context, "/v1/seats")
                for delivery in records(seat, "queue")
            ]


def _listed(context: Context, path: str, name: str, said: str) -> Iterable[Candidate]:
    return [(text(one, name), text(one, said)) for one in _read(context, path)]


def _read(context: Context, path: str) -> list[Json]:
    return records(context.call("GET", path, is_starting=False, timeout_s=_CALL_S))
