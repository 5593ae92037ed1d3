"""The program `inspan`: argv in, text or JSON out, an exit status at the end.

Only what the command at hand needs is imported: start-up time is a feature of a program that people and
scripts call all day.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence

from inspan.model.errors import InspanError, UsageError, error_to_wire

from .exits import Exit, exit_of_error
from .output import Output, bad, bold, warn

__all__ = ["RENAMED_COMMANDS", "RENAMED_OPTIONS", "main"]

RENAMED_COMMANDS: dict[str, str] = {}
"""Old name to new name of commands; docs/compatibility.md says for how long an old one works."""

RENAMED_OPTIONS: dict[tuple[str, str], str] = {}
"""Command (under its new name) and old option to the new option, such as `("send", "--wait-for")` to `--wait`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit status (see `inspan.cli.exits`).

    Args:
        argv: The words after the program's name; those of the process where `None`.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    output = Output(is_json="--json" in (words[: words.index("--")] if "--" in words else words))
    try:
        status = _dispatch(words, output)
        output.flush()
    except BrokenPipeError:
        _leave_quietly()
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        interrupted = UsageError("Interrupted.", code="interrupted")
        return _fail(output, interrupted, exit_of_error(interrupted))
    except InspanError as error:
        return _fail(output, error, exit_of_error(error))
    except Exception as error:
        if os.environ.get("INSPAN_DEBUG"):
            raise
        fault = InspanError(
            f"Inspan failed with {type(error).__name__}: {error}",
            hint="This is a fault in Inspan. Run it again with INSPAN_DEBUG=1 and report what it prints.",
            retry_safe=False,
        )
        return _fail(output, fault, Exit.INTERNAL)
    return status


def _dispatch(words: list[str], output: Output) -> int:
    leading: list[str] = []
    while words and words[0].startswith("-"):
        word = words.pop(0)
        match word:
            case "-h" | "--help":
                return _help(output)
            case "--version":
                words.insert(0, "version")
            case "--json":
                leading.append(word)
            case "--home" if words:
                leading.append(f"--home={words.pop(0)}")
            case _ if word.startswith("--home="):
                leading.append(word)
            case "--home":
                raise UsageError("--home needs a folder.", hint="Give it as --home DIR.")
            case _:
                raise UsageError(
                    f"There is no option {word!r} before a command.", hint="See `inspan --help`."
                )
    if not words:
        _help(output)
        return Exit.USAGE
    if RENAMED_COMMANDS or RENAMED_OPTIONS:
        from .renamed import use_new_words

        words, notes = use_new_words(words, commands=RENAMED_COMMANDS, options=RENAMED_OPTIONS)
        for note in notes:
            output.remark(warn("renamed: "), note)
    name, *rest = words
    if name == "help":
        name, rest = (rest[0], ["--help"]) if rest else ("", [])
        if not name:
            return _help(output)
    if name == "__complete":
        from .completing import complete

        return complete(rest, output)
    from .commands import COMMANDS, parser_of

    if name not in COMMANDS:
        raise UsageError(
            f"There is no command {name!r}.{_nearest(name, COMMANDS)}", hint="See `inspan --help`."
        )
    try:
        args = parser_of(name).read([*leading, *rest])
    except SystemExit as left:  # argparse leaves by itself after `--help`
        return int(left.code or 0)
    from .context import Context

    context = Context(output=output, home=getattr(args, "home", None))
    return int(args.run(context, args))


def _help(output: Output) -> int:
    from .commands import COMMANDS, GROUPS

    if output.is_json:
        output.value({name: command.summary for name, command in COMMANDS.items()})
        return Exit.OK
    output.line(bold("usage:"), " inspan [--json] [--home DIR] COMMAND …")
    output.line()
    output.line("Drives coding-agent harnesses through one contract: honest state, and no prompt")
    output.line("lost or sent twice.")
    widest = max(map(len, COMMANDS))
    for group, heading in GROUPS.items():
        output.line()
        output.line(bold(heading))
        for name, command in COMMANDS.items():
            if command.group == group:
                output.line(f"  {name:{widest}}  {command.summary}")
    output.line()
    output.line("`inspan COMMAND --help` shows its options, with examples. Exit statuses are")
    output.line("listed in docs/cli.md.")
    return Exit.OK


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1)
    return f" Did you mean {found[0]!r}?" if found else ""


def _fail(output: Output, error: InspanError, status: Exit) -> int:
    try:
        if output.is_json:
            output.value({"error": error_to_wire(error)})
        else:
            output.flush()
            output.remark(bad("inspan:"), " ", error.message)
            if error.hint:
                output.remark("  next: ", error.hint)
    except BrokenPipeError:
        _leave_quietly()
    return status


def _leave_quietly() -> None:
    # The interpreter flushes standard output once more on its way out, and would complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
