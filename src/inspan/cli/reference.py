"""The reference page of the command line, made from the parsers: `python -m inspan.cli.reference` writes it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from .arguments import Parser
from .commands import COMMANDS, GROUPS, parser_of
from .exits import EXIT_MEANINGS

__all__ = ["render_reference"]

_SHARED = frozenset(["help", "json", "home"])

_OPENING = """\
# The command line

<!-- Made by `python -m inspan.cli.reference`; a test fails where it is stale. -->

`inspan [--json] [--home DIR] COMMAND …`. The daemon starts by itself when a command needs it.

Every command takes these options, before or after its name:

- `--json`: standard output carries JSON and nothing else: one value, or one a line where a command follows what
  happens. An error is `{"error": {"code", "group", "message", "hint", "retry_safe", "detail"}}` on standard
  output too, and the exit status is not 0. The codes are stable.
- `--home DIR`: the home folder. Without it `INSPAN_HOME` counts, and else the platform's own place.
- `-h`, `--help`: the command's help, with examples.

Without `--json`, results go to standard output, and remarks and errors to standard error; an error says the fact
and then the next step. Colours appear only on a terminal, and never with `NO_COLOR`. Whatever a harness said is
cleaned of control characters before it reaches the terminal. What is not known is shown as `unknown`.
"""

_CLOSING = """\
## Asking and answering

`inspan run` asks on the terminal when the harness asks for permission, if there is a person at the terminal. Else
it prints how to answer and waits: `inspan approve ID`, `inspan deny ID`, or the seat's name in place of the id where
the seat has one open request. `--unattended` says how Inspan answers by itself, and every answer is on record
(`inspan permissions SEAT --all`).

Ctrl-C in `run` and `send --wait` asks for the turn to be cancelled; a second one leaves, and the turn goes on.

## Attaching

`inspan attach SEAT` lends your terminal to the console of a seat. Ctrl-\\ twice leaves (`--detach-keys`, or
`INSPAN_DETACH_KEYS`), Ctrl-\\ and s pages through the lines above (`--scroll-keys`); to type a single Ctrl-\\ press
another key after it. One has the keyboard at a time, and the console takes the size of their terminal. `--watch` looks
on; a terminal that is too small then shows a part, as text. `--steal` takes the keyboard over.

Your terminal answers nothing that the program asks, since the seat's own has answered. Your screen, scrollback, title,
keyboard and modes come back however it ends: when you leave, the harness ends, somebody takes over, the daemon is
killed, or a signal comes. Then a line says why, and how to come back. Images, and changes of the palette, are not shown.

## Completion

`inspan completion bash|zsh|fish` prints a script. Names of seats, harnesses and requests are asked of the daemon,
if one runs; completing a line starts nothing.
"""


def render_reference() -> str:
    """The whole page as Markdown."""
    parts = [_OPENING, "## Exit statuses\n", "| status | name | meaning |\n|---|---|---|"]
    parts.extend(
        f"| {int(status)} | {status.name.lower().replace('_', '-')} | {meaning} |"
        for status, meaning in EXIT_MEANINGS.items()
    )
    for group, heading in GROUPS.items():
        parts.append(f"\n## {heading}")
        for name, command in COMMANDS.items():
            if command.group == group:
                parts.extend(_command(parser_of(name)))
    parts.append("\n" + _CLOSING)
    return "\n".join(parts)


def _command(parser: Parser, *, level: int = 3) -> Iterator[str]:
    yield f"\n{'#' * level} `{_usage(parser)}`\n"
    yield parser.description or ""
    rows = [row for action in _own_actions(parser) if (row := _row(action))]
    if rows:
        yield "\n| argument | meaning |\n|---|---|"
        yield from rows
    if parser.examples:
        yield "\n```sh"
        yield from (f"{line}  # {what}" for line, what in parser.examples)
        yield "```"
    for action in parser.actions.values():
        yield from _command(action, level=level + 1)


def _own_actions(parser: Parser) -> list[argparse.Action]:
    actions = parser._actions  # pyright: ignore[reportPrivateUsage] - argparse has no other way to ask
    return [action for action in actions if action.dest not in _SHARED]


def _usage(parser: Parser) -> str:
    words = [parser.prog]
    if parser.actions:
        return f"{parser.prog} {'|'.join(parser.actions)}"
    for action in _own_actions(parser):
        if not action.option_strings:
            word = _value(action)
            words.append(f"[{word}]" if action.nargs in ("?", "*") else word)
    if any(action.option_strings for action in _own_actions(parser)):
        words.append("[OPTION…]")
    return " ".join(words)


def _row(action: argparse.Action) -> str | None:
    if not action.option_strings and action.choices is not None and action.metavar == "ACTION":
        return None
    names = ", ".join(action.option_strings) or _value(action)
    value = f" {_value(action)}" if action.option_strings and action.nargs != 0 else ""
    meaning = (action.help or "").replace("|", "\\|")
    return f"| `{names}{value}` | {meaning} |"


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return (
            "\\|".join(map(str, action.choices))
            if action.option_strings
            else "|".join(map(str, action.choices))
        )
    return action.dest.upper()


def _main() -> int:
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/cli.md")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render_reference(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(_main())
