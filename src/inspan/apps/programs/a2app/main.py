"""The program `a2app`: which app first, then what to do there."""

from __future__ import annotations

from collections.abc import Sequence

from inspan.apps.faults import AppUnreachable, Fault, Misused
from inspan.apps.model.verbs import FRAMEWORK_VERBS, OPERATE_VERBS, REGISTRY_VERBS
from inspan.apps.programs.opening import answer_alone
from inspan.apps.programs.screen import print_json, print_lines, run_program
from inspan.apps.programs.targets import find_target, is_app, refuse_verb_first
from inspan.apps.programs.words import Words, command_line, read_words
from inspan.apps.registry import Registry

from .session import Session, open_session

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; 0 done, 1 refused by the app, 2 a wrong command line, 3 the app does not answer."""
    return run_program("a2app", _run, argv)


def _run(words: list[str]) -> int:
    from .help import help_for

    answered = answer_alone("a2app", words, help_for, usage="a2app APP …")
    if answered is not None:
        return answered
    registry = Registry()
    ref, rest = words[0], words[1:]
    if ref in REGISTRY_VERBS and not is_app(ref, registry):
        raise Misused(f"{ref!r} is done by agent-app.", hint=command_line("agent-app", *words))
    _check_first(words, registry)
    verb = rest[0] if rest and rest[0] in OPERATE_VERBS else "walk"
    line = read_words(
        rest if verb == "walk" else rest[1:], switches={"all"} if verb == "walk" else {"no-claim"}
    )
    if line.switch("help"):
        print_lines(help_for([verb]))
        return 0
    _check_form(verb, line)
    target = find_target(ref, registry, takes_url=True)
    try:
        session = open_session(target)
    except AppUnreachable as fault:
        if rest and rest[0] in FRAMEWORK_VERBS:
            # Nobody can say whether the app has a module of that name, and the other program has the verb.
            raise Misused(
                f"{rest[0]!r} is done by agent-app.", hint=command_line("agent-app", *words)
            ) from fault
        raise
    try:
        return _operate(session, verb, line)
    except Fault as fault:
        if "code" in fault.fields:
            print_json({"a2app": True, "ok": False, "message": fault.message, **fault.fields})
        raise
    finally:
        session.client.close()


def _check_first(words: list[str], registry: Registry) -> None:
    def takes_first(word: str) -> bool:
        return is_app(word, registry)

    refuse_verb_first(words, verbs=OPERATE_VERBS, program="a2app", takes_first=takes_first)
    refuse_verb_first(words, verbs=FRAMEWORK_VERBS, program="agent-app", takes_first=takes_first)


def _check_form(verb: str, line: Words) -> None:
    """What is wrong whatever the app says is said before it is asked."""
    match verb:
        case "data":
            from .data import check_data

            check_data(line)
        case "tasks":
            from .tasks import check_tasks

            check_tasks(line)
        case _:
            pass


def _operate(session: Session, verb: str, line: Words) -> int:
    from .answers import print_reply

    match verb:
        case "walk":
            from .walk import walk

            return walk(session, line)
        case "data":
            from .data import run_data

            return run_data(session, line)
        case "tasks":
            from .tasks import run_tasks

            return run_tasks(session, line)
        case "events":
            since = line.one("since")
            line.done(places=0, usage="a2app APP events [--since CURSOR]")
            return print_reply(session.client.events(since))
        case "whoami":
            line.done(places=0, usage="a2app APP whoami")
            return print_reply(session.client.whoami())
        case "context":
            line.done(places=0, usage="a2app APP context")
            return print_reply(session.client.context())
        case _:
            line.done(places=0, usage="a2app APP identity")
            print_json(session.identity)
            return 0
