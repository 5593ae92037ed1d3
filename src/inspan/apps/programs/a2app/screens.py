"""The walk's screens: one place of the app each, as text that ends with the commands that lead on.

The commands are put together here, from names alone. What an app itself calls a next move is not repeated: it could
say anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from inspan.apps.client import JsonObject
from inspan.apps.programs.screen import printable

from .labels import objects_in
from .session import Session

__all__ = ["entity_screen", "find_screen", "module_screen", "record_screen", "relation_screen", "root_screen"]

_NAME = 80
_TEXT = 200
_MOST_COMMANDS = 8


def root_screen(session: Session, level: JsonObject, *, shows_all: bool) -> list[str]:
    """The app's modules."""
    app = session.identity.get("app")
    name = cast("dict[str, Any]", app).get("name", "") if isinstance(app, dict) else ""
    modules = objects_in(level, "modules")
    lines = [
        f"{printable(name, longest=_TEXT)} ({printable(session.app_id, longest=_NAME)}) at {session.client.base_url}"
    ]
    env = session.identity.get("env")
    if env == "dev":
        lines.append("a change of it that is being tried: its records are not the real ones")
    lines += ["", "modules"]
    lines += _table(
        [
            (
                _name(one),
                f"{_count(one.get('entities'), 'entity', 'entities')}, {_count(one.get('operations'), 'operation', 'operations')}",
                printable(one.get("access", ""), longest=_NAME),
                printable(one.get("summary", ""), longest=_TEXT),
            )
            for one in modules
        ]
    )
    conventions = level.get("conventions")
    if isinstance(conventions, dict) and conventions:
        lines += ["", "conventions"]
        rows = cast("dict[str, object]", conventions).items()
        lines += _table(
            [(printable(key, longest=_NAME), printable(value, longest=_TEXT)) for key, value in rows]
        )
    commands = [session.command(str(one["name"])) for one in modules if isinstance(one.get("name"), str)]
    commands = _few(commands, session.command("MODULE"))
    commands += [
        session.command("--find", "TERM"),
        session.command("data", "schema"),
        session.command("tasks"),
    ]
    return lines + _next(level, commands, session.command("--all"), shows_all=shows_all)


def module_screen(session: Session, level: JsonObject, module: str, *, shows_all: bool) -> list[str]:
    """What is in a module."""
    entities, operations = objects_in(level, "entities"), objects_in(level, "operations")
    lines = [f"module {printable(module, longest=_NAME)}" + _dash(level.get("summary"))]
    if entities:
        lines += ["", "entities"]
        lines += _table([(_name(one), printable(one.get("summary", ""), longest=_TEXT)) for one in entities])
    lines += _operations(operations)
    commands = [session.command(module, str(one.get("name"))) for one in entities]
    commands = _few(commands, session.command(module, "ENTITY"))
    commands += _few(
        [session.command(module, str(one.get("name"))) for one in operations],
        session.command(module, "OPERATION"),
    )
    commands.append(session.command())
    return lines + _next(level, commands, session.command(module, "--all"), shows_all=shows_all)


def entity_screen(
    session: Session, level: JsonObject, module: str, entity: str, *, shows_all: bool
) -> list[str]:
    """An entity's fields, and the operations on its records."""
    fields = _fields(level.get("fields"))
    operations = objects_in(level, "operations")
    label = level.get("label")
    lines = [f"entity {printable(module, longest=_NAME)}/{printable(entity, longest=_NAME)}"]
    if isinstance(label, str):
        lines[0] += f", each known by its {printable(label, longest=_NAME)}"
    lines += ["", "fields"]
    lines += _table([(printable(name, longest=_NAME), _definition(field)) for name, field in fields.items()])
    lines += _operations(operations)
    writable = [name for name, field in fields.items() if not field.get("readOnly")]
    needed = [name for name in writable if fields[name].get("required")] or writable[:1]
    values = [part for name in needed for part in (f"--{name}", "VALUE")]
    commands = [
        session.command("data", entity, "list"),
        session.command("data", entity, "create", *values),
        session.command(module, entity, "ID"),
    ]
    commands += _few(
        [session.command(module, entity, "ID", str(one.get("name"))) for one in operations],
        session.command(module, entity, "ID", "OPERATION"),
    )
    return lines + _next(level, commands, session.command(module, entity, "--all"), shows_all=shows_all)


def record_screen(session: Session, level: JsonObject, steps: Sequence[str], *, shows_all: bool) -> list[str]:
    """One record: what can be done with it now, and what cannot, with the reason."""
    module, entity, record = steps
    operations, relations = objects_in(level, "operations"), objects_in(level, "relations")
    lines = [
        f"{printable(entity, longest=_NAME)} {printable(record, longest=_NAME)}" + _dash(level.get("label"))
    ]
    open_ones = [one for one in operations if one.get("available") is not False]
    blocked = [one for one in operations if one.get("available") is False]
    if open_ones:
        lines += ["", "operations"]
        lines += _table([(_name(one), _flags(one)) for one in open_ones])
    if blocked:
        lines += ["", "blocked"]
        lines += _table([(_name(one), printable(one.get("blocked", ""), longest=_TEXT)) for one in blocked])
    if relations:
        lines += ["", "relations"]
        lines += _table(
            [
                (
                    _name(one),
                    f"to {printable(one.get('entity', ''), longest=_NAME)}",
                    printable(one.get("count", "")),
                )
                for one in relations
            ]
        )
    commands = [
        session.command("data", entity, "get", record),
        session.command("data", entity, "update", record, "--FIELD", "VALUE"),
    ]
    commands += _few(
        [session.command(module, entity, record, str(one.get("name"))) for one in (*open_ones, *relations)],
        session.command(module, entity, record, "OPERATION"),
    )
    commands.append(session.command(module, entity))
    return lines + _next(level, commands, session.command(*steps, "--all"), shows_all=shows_all)


def relation_screen(
    session: Session, level: JsonObject, steps: Sequence[str], *, shows_all: bool
) -> list[str]:
    """The records that one record points to."""
    items = objects_in(level, "items")
    target = str(level.get("entity", ""))
    lines = [
        " ".join(printable(step, longest=_NAME) for step in steps[1:])
        + f": {_count(len(items), 'record', 'records')}"
    ]
    lines += _table(
        [
            (printable(one.get("id", ""), longest=_NAME), printable(one.get("label") or "", longest=_TEXT))
            for one in items
        ]
    )
    commands = [session.command("data", target, "get", "ID"), session.command(*steps[:3])]
    return lines + _next(level, commands, session.command(*steps, "--all"), shows_all=shows_all)


def find_screen(session: Session, level: JsonObject, term: str, *, shows_all: bool) -> list[str]:
    """Where a name holds the term."""
    matches = objects_in(level, "matches")
    lines = [f"{_count(len(matches), 'name', 'names')} with {printable(term, longest=_NAME)!r}"]
    rows: list[tuple[str, ...]] = []
    commands: list[str] = []
    for one in matches:
        steps = [step for step in str(one.get("path", "")).split("/") if step]
        operation = one.get("operation")
        if isinstance(operation, str):
            rows.append(
                ("operation", printable("/".join(steps), longest=_NAME), printable(operation, longest=_NAME))
            )
            steps.append(operation)
        else:
            rows.append(
                (printable(one.get("level", ""), longest=_NAME), printable("/".join(steps), longest=_NAME))
            )
        commands.append(session.command(*steps))
    lines += _table(rows)
    commands = _few(commands, session.command("MODULE", "ENTITY")) or [session.command()]
    return lines + _next(level, commands, session.command("--find", term, "--all"), shows_all=shows_all)


def _operations(operations: Sequence[JsonObject]) -> list[str]:
    if not operations:
        return []
    lines = ["", "operations"]
    for one in operations:
        about = printable(one.get("summary") or one.get("description") or "", longest=_TEXT)
        lines.append("  " + "  ".join(part for part in (_name(one), _flags(one), about) if part))
        lines += [
            f"      --{printable(name, longest=_NAME)}  {_definition(field)}"
            for name, field in _fields(one.get("params")).items()
        ]
    return lines


def _flags(operation: Mapping[str, Any]) -> str:
    flags = [
        said
        for key, said in (
            ("destructive", "destructive: needs approval"),
            ("readOnly", "reads only"),
            ("idempotent", "safe to repeat"),
        )
        if operation.get(key) is True
    ]
    return f"[{', '.join(flags)}]" if flags else ""


def _definition(field: Mapping[str, Any]) -> str:
    parts = [printable(field.get("type", "?"), longest=_NAME)]
    if isinstance(field.get("entity"), str):
        parts[0] += f" to {printable(field['entity'], longest=_NAME)}"
    if field.get("required"):
        parts.append("required")
    if field.get("readOnly"):
        parts.append("read-only")
    if field.get("max") is not None:
        parts.append(f"at most {printable(field['max'], longest=_NAME)} characters")
    if isinstance(field.get("values"), list):
        parts.append("one of " + " ".join(printable(one, longest=_NAME) for one in field["values"]))
    if isinstance(field.get("format"), str):
        parts.append(printable(field["format"], longest=_NAME))
    if isinstance(field.get("description"), str):
        parts.append(printable(field["description"], longest=_TEXT))
    return ", ".join(parts)


def _fields(value: object) -> dict[str, JsonObject]:
    if not isinstance(value, dict):
        return {}
    return {
        name: cast(JsonObject, field)
        for name, field in cast("dict[str, object]", value).items()
        if isinstance(field, dict)
    }


def _next(level: JsonObject, commands: list[str], whole: str, *, shows_all: bool) -> list[str]:
    truncated = level.get("truncated")
    lines: list[str] = []
    if truncated and not shows_all:
        lines += ["", f"{printable(truncated)} more left out to keep this short"]
        commands = [*commands, whole]
    return [*lines, "", "next", *(f"  {command}" for command in commands)]


def _few(commands: list[str], pattern: str) -> list[str]:
    """All commands where they are few; else the first ones, and the form of the others."""
    return commands if len(commands) <= _MOST_COMMANDS else [*commands[: _MOST_COMMANDS - 1], pattern]


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max((len(row[column]) for row in rows if len(row) > column), default=0) for column in range(4)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]


def _name(row: Mapping[str, Any]) -> str:
    return printable(row.get("name", ""), longest=_NAME)


def _count(number: object, one: str, many: str) -> str:
    return f"{printable(number, longest=20)} {one if number == 1 else many}"


def _dash(text: object) -> str:
    return f" - {printable(text, longest=_TEXT)}" if isinstance(text, str) and text else ""
