"""The walk: a path into the app's model, shown as a screen, or an operation at its end, carried out."""

from __future__ import annotations

from collections.abc import Sequence

from inspan.apps.client import JsonObject, Reply
from inspan.apps.faults import Misused
from inspan.apps.model.verbs import FRAMEWORK_VERBS
from inspan.apps.programs.screen import print_lines, printable
from inspan.apps.programs.words import Words, command_line

from . import screens
from .answers import refusal
from .labels import objects_in, rows_of
from .operating import Call, run_operation
from .session import Session

__all__ = ["walk"]

USAGE = "a2app APP [MODULE [ENTITY [ID [RELATION|OPERATION]]]] [--param VALUE …] [--approve KEY] [--all] [--find TERM]"


def walk(session: Session, words: Words) -> int:
    """Shows the place, or carries out the operation, that the words lead to; gives the exit status.

    Raises:
        Misused: The words lead nowhere by their form.
        Fault: What else stands in the way.
    """
    steps = words.places
    shows_all = words.switch("all")
    term = words.one("find")
    call = Call(
        approval=words.one("approve"),
        idempotency_key=words.one("idempotency-key"),
        blob=words.one("json"),
        flags=words.rest(),
    )
    if len(steps) > 4 or not all(steps):
        raise Misused("The path is too long, or a step of it is empty.", hint=f"Usage: {USAGE}")
    if term is not None:
        if steps or call.is_given:
            raise Misused(
                "--find looks through the whole app, so it stands alone.",
                hint=session.command("--find", term),
            )
        reply = session.client.describe("", shows_all, find=term)
        return _show(reply, screens.find_screen(session, reply.body, term, shows_all=shows_all))
    if (operation := _operation_at(session, steps)) is not None:
        return run_operation(session, steps, operation, call)
    if call.is_given:
        raise Misused(
            f"{printable('/'.join(steps) or 'the root', longest=200)} is a place and no operation, so it takes no parameters.",
            hint=session.command(*steps),
        )
    return _show_place(session, steps, shows_all=shows_all)


def _operation_at(session: Session, steps: Sequence[str]) -> JsonObject | None:
    """The operation that the last step names, or None if it is a place."""
    if len(steps) < 2:
        return None
    if len(steps) == 2 and any(row.get("name") == steps[1] for row in rows_of(session, "entities", steps[0])):
        return None
    if len(steps) == 4:
        reply = session.describe(*steps[:3])
        if any(row.get("name") == steps[3] for row in objects_in(reply.body, "relations")):
            return None
    place = steps[:1] if len(steps) == 2 else steps[:2]
    return next((row for row in rows_of(session, "operations", *place) if row.get("name") == steps[-1]), None)


def _show_place(session: Session, steps: Sequence[str], *, shows_all: bool) -> int:
    reply = session.describe(*steps, show_all=shows_all)
    if not reply.is_ok:
        _check_program(session, steps, reply)
        return refusal(reply)
    match len(steps):
        case 0:
            lines = screens.root_screen(session, reply.body, shows_all=shows_all)
        case 1:
            lines = screens.module_screen(session, reply.body, steps[0], shows_all=shows_all)
        case 2:
            lines = screens.entity_screen(session, reply.body, *steps, shows_all=shows_all)
        case 3:
            lines = screens.record_screen(session, reply.body, steps, shows_all=shows_all)
        case _:
            lines = screens.relation_screen(session, reply.body, steps, shows_all=shows_all)
    return _show(reply, lines)


def _show(reply: Reply, lines: list[str]) -> int:
    if not reply.is_ok:
        return refusal(reply)
    print_lines(lines)
    return 0


def _check_program(session: Session, steps: Sequence[str], reply: Reply) -> None:
    """A module's name goes first; only where the app has none of that name was the other program meant."""
    if steps and steps[0] in FRAMEWORK_VERBS and reply.status == 404:
        raise Misused(
            f"{steps[0]!r} is done by agent-app.", hint=command_line("agent-app", session.target.ref, *steps)
        )
