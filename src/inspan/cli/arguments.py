"""The argument parser of one command: argparse, with usage errors as values and names that complete.

Every parser knows, for each of its arguments, which names could stand there (`seat`, `harness`, …), so that
shell completion and the reference page are made from the parsers themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from inspan.model.errors import UsageError

if TYPE_CHECKING:
    from .context import Context

__all__ = ["NameKind", "Namespace", "Parser", "Run", "seconds"]

NameKind = Literal["seat", "harness", "mode", "permission", "question", "delivery"]
"""Kinds of names that the daemon can list."""

Namespace = argparse.Namespace
"""The arguments of a command, by name."""


class Run(Protocol):
    """Carries a command out and gives its exit status."""

    def __call__(self, context: Context, args: Namespace, /) -> int:
        """Raises `InspanError` where the command cannot be carried out."""
        ...


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` where argparse would print and leave.

    Attributes:
        summary: One line.
        names: For each argument's destination, the kind of names that it takes.
        actions: The parsers of its actions, for a command that has some (`seat list`).
        examples: Command lines to show, each with what it does.
    """

    def __init__(self, *, prog: str, summary: str = "", description: str = "", **_: object):
        super().__init__(
            prog=prog,
            description=" ".join(f"{_sentence(summary)} {description}".split()),
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.summary = summary
        self.names: dict[str, NameKind] = {}
        self.actions: dict[str, Parser] = {}
        self.examples: list[tuple[str, str]] = []
        self._action_adder: argparse._SubParsersAction[Parser] | None = None  # pyright: ignore[reportPrivateUsage] - argparse has no public name for it
        shared = self.add_argument_group("options of every command")
        shared.add_argument("-h", "--help", action="help", help="show this help and leave")
        shared.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON on standard output"
        )
        shared.add_argument(
            "--home",
            metavar="DIR",
            default=argparse.SUPPRESS,
            help="the home folder (default: INSPAN_HOME, else the platform's own place)",
        )

    def action(self, name: str, summary: str, run: Run, *, description: str = "") -> Parser:
        """Adds an action to a command that has several, such as `list`."""
        if self._action_adder is None:
            self._action_adder = self.add_subparsers(
                title="actions", metavar="ACTION", required=True, parser_class=Parser
            )
        parser = self._action_adder.add_parser(name, help=summary, summary=summary, description=description)
        parser.set_defaults(run=run)
        self.actions[name] = parser
        return parser

    def name(self, dest: str, kind: NameKind, help: str, *, is_optional: bool = False) -> None:
        """Adds a positional argument that takes a name of `kind`."""
        if is_optional:
            self.add_argument(dest, metavar=dest.upper(), nargs="?", help=help)
        else:
            self.add_argument(dest, metavar=dest.upper(), help=help)
        self.names[dest] = kind

    def name_option(self, option: str, kind: NameKind, help: str) -> None:
        """Adds an option that takes a name of `kind`."""
        action = self.add_argument(option, metavar=kind.upper(), help=help)
        self.names[action.dest] = kind

    def example(self, line: str, what: str) -> None:
        """Adds an example to the help."""
        self.examples.append((line, what))
        shown = "\n".join(f"  {example}\n      {said}" for example, said in self.examples)
        self.epilog = f"examples:\n{shown}"

    def read(self, words: Sequence[str]) -> Namespace:
        """The arguments in `words`; options may stand between and behind the others.

        Raises:
            UsageError: A word does not fit.
        """
        return self.parse_args(words) if self.actions else self.parse_intermixed_args(words)

    def error(self, message: str) -> NoReturn:
        """Raises what argparse would print."""
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            message = f"{missing} {'are' if ', ' in missing else 'is'} missing"
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", hint=f"See `{self.prog} --help`.")


def seconds(word: str) -> float:
    """A number of seconds above 0, for an option's `type`."""
    value = float(word)
    if not 0 < value < 1e9:
        raise ValueError(word)
    return value


class _Formatter(argparse.HelpFormatter):
    """Fits descriptions to the terminal; examples stay as they are written, to be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


Build = Callable[[Parser], None]
"""Adds a command's arguments, and sets what runs it."""
