"""`inspan agent chat`: a conversation with the agent on a terminal."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from inspan.agent.commands import COMMANDS, command_in, run_command
from inspan.agent.engine.contract import StopReason
from inspan.agent.permissions.values import PermissionMode
from inspan.agent.program_status import ProgramStatus
from inspan.agent.session import EFFORTS, Session
from inspan.model.errors import InspanError, UsageError

from .agent_opening import open_agent, open_session
from .agent_run import follow_turn
from .agent_showing import TurnShow, usage_words
from .agent_thread import AgentThread
from .arguments import Namespace
from .context import Context
from .exits import Exit
from .output import Output, bad, bold, clean, dim

__all__ = ["chat"]

_OWN = {
    "help": "show these commands",
    "model": "show or set the model: /model provider:model",
    "mode": "show or set the permission mode: /mode plan",
    "effort": "show or set how hard the model thinks: /effort high",
    "new": "begin a new session",
    "quit": "leave",
}


def chat(context: Context, args: Namespace) -> int:
    """Talks until the person leaves, and gives the exit status.

    Raises:
        UsageError: There is no terminal.
    """
    if context.output.is_json or not sys.stdin.isatty() or not sys.stdout.isatty():
        raise UsageError("A conversation needs a terminal.", hint="Use `inspan agent run` in scripts.")
    status = ProgramStatus(sys.stdout)
    with _line_editing(), open_agent(context, args, asks=True) as thread:
        session = open_session(thread, args)
        _greet(context.output, session)
        status.report("idle")
        try:
            while (line := _read_line()) is not None:
                try:
                    session = _take(context, args, thread, session, line, status)
                except (InspanError, _Leave) as error:
                    if isinstance(error, _Leave):
                        break
                    context.output.remark(bad(error.message))
                    if error.hint:
                        context.output.remark("  next: ", error.hint)
                except KeyboardInterrupt:
                    break
                status.report("idle")
        finally:
            status.report("clear")
        context.output.line(dim(f"The session is kept: inspan agent chat --resume {session.id}"))
    return Exit.OK


class _Leave(Exception):
    """The person leaves."""


def _take(
    context: Context, args: Namespace, thread: AgentThread, session: Session, line: str, status: ProgramStatus
) -> Session:
    """Does what a line says, and gives the session that the conversation goes on with."""
    words = line.strip()
    if not words:
        return session
    if words.startswith("/"):
        name, _, rest = words[1:].partition(" ")
        if command_in(words):
            context.output.line(clean(thread.call(run_command(thread.agent, session, name))))
            return session
        if name in _OWN:
            return _own(context.output, args, thread, session, name, rest.strip())
    show = TurnShow(context.output, is_quiet=False)
    follow_turn(context, thread, session, line, show, status)
    if show.ended is not None:
        if show.ended.message:
            context.output.remark(bad(clean(show.ended.message)))
        how = "" if show.ended.stop_reason is StopReason.END_TURN else f"{show.ended.stop_reason.value}; "
        context.output.line(dim(f"  {how}{usage_words(show.ended.usage)}"))
    return session


def _own(
    output: Output, args: Namespace, thread: AgentThread, session: Session, name: str, value: str
) -> Session:
    settings = session.settings
    match name:
        case "help":
            told = {**{one.name: one.description for one in COMMANDS}, **_OWN}
            for command, what in told.items():
                output.line(bold(f"  /{command}"), dim(f"  {what}"))
        case "quit":
            raise _Leave
        case "new":
            args.resume, args.newest = None, False
            fresh = open_session(thread, args)
            thread.call(session.close())
            _greet(output, fresh)
            return fresh
        case _ if not value:
            shown = {
                "model": settings.model,
                "mode": settings.permission_mode.value,
                "effort": settings.effort,
            }
            output.line(f"  {shown[name] or 'the model decides'}")
        case "model":
            thread.call(session.configure(model=value))
        case "mode":
            thread.call(session.configure(permission_mode=_mode(value)))
        case _:
            thread.call(session.configure(effort="" if value == "default" else value))
    return session


def _mode(word: str) -> PermissionMode:
    try:
        return PermissionMode(word)
    except ValueError:
        modes = ", ".join(mode.value for mode in PermissionMode)
        raise UsageError(f"{word!r} is no permission mode.", hint=f"There are {modes}.") from None


def _greet(output: Output, session: Session) -> None:
    settings = session.settings
    output.line(
        bold("Inspan's own agent"),
        dim(f"  {settings.model}, permission mode {settings.permission_mode.value}"),
    )
    output.line(dim(f"  in {session.workspace}; /help lists commands, Ctrl-C stops a turn, Ctrl-D leaves"))
    if session.turns:
        output.line(dim(f"  going on with {session.title!r}, after {session.turns} turns"))


def _read_line() -> str | None:
    """A prompt, which may be several lines; None when the person leaves."""
    lines: list[str] = []
    while True:
        try:
            line = input("… " if lines else "> ")
        except EOFError:
            print()
            return None
        except KeyboardInterrupt:
            print()
            lines = []
            continue
        if not line.endswith("\\"):
            return "\n".join([*lines, line])
        lines.append(line[:-1])


class _line_editing:  # noqa: N801 - used like a function
    """History and completion of commands while a conversation lasts. The history is not kept: prompts are secrets."""

    def __enter__(self) -> None:
        with suppress(ImportError):
            import readline

            names = [f"/{name}" for name in (*(one.name for one in COMMANDS), *_OWN)]
            names += [f"/mode {mode.value}" for mode in PermissionMode]
            names += [f"/effort {effort}" for effort in EFFORTS if effort]

            def complete(text: str, state: int) -> str | None:
                found = [name for name in names if name.startswith(text)] if text.startswith("/") else []
                return found[state] if state < len(found) else None

            readline.set_completer(complete)
            readline.set_completer_delims("")
            readline.parse_and_bind("tab: complete")

    def __exit__(self, *_: Any) -> None:
        with suppress(ImportError):
            import readline

            readline.set_completer(None)
            readline.clear_history()
