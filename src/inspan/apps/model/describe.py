"""The describe walk: one level of the app at a time, each within a budget, each with the moves that lead on.

Detail is dropped before existence: summaries and descriptions first, then rows from the end. How many rows were
dropped stands in `truncated`, and `?all=true` undoes it. Fields of an entity are never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from .app_model import AppModel, EntityDecl, ModuleDecl
from .fields import Field, field_to_wire, label_field
from .operations import OperationDecl, operation_to_wire
from .predicates import blocked_reason

__all__ = [
    "BUDGET_CHARACTERS",
    "CONVENTIONS",
    "Access",
    "describe_entity",
    "describe_module",
    "describe_operation",
    "describe_record",
    "describe_relation",
    "describe_root",
    "find_names",
    "label_of",
    "level_characters",
]

BUDGET_CHARACTERS = 2000
"""The most characters of one level as JSON."""

CONVENTIONS: Mapping[str, str] = {
    "writes": "Prefer a declared operation to a raw write.",
    "labels": "Find a record's id by reading with a filter on its label field; if several match, ask, do not pick.",
    "dates": "Send ISO 8601; resolve words such as tomorrow yourself.",
    "honesty": "If the app cannot express what was asked, say so; do not put it into another field.",
}
"""What holds in every app."""

_LONGEST_LABEL = 120
_LONGEST_REASON = 160

Row = dict[str, Any]
Level = dict[str, Any]


class Access(Protocol):
    """What the caller may do."""

    def can_read(self, entity: str) -> bool:
        """Whether records of the entity may be read."""
        ...

    def can_write(self, entity: str) -> bool:
        """Whether records of the entity may be written."""
        ...

    def can_run(self, operation: str) -> bool:
        """Whether the operation may be called."""
        ...


def level_characters(level: Level) -> int:
    """How long a level is as JSON, in characters."""
    return len(msgspec.json.encode(level).decode())


def label_of(fields: Iterable[Field], record: Mapping[str, Any]) -> str | None:
    """What a person knows the record by; `None` where the entity has no label or the record none."""
    name = label_field(fields)
    value = None if name is None else record.get(name)
    if value is None:
        return None
    return _cut(value if isinstance(value, str) else msgspec.json.encode(value).decode(), _LONGEST_LABEL)


def describe_root(model: AppModel, access: Access, *, show_all: bool = False) -> Level:
    """The modules, how much is in each, and whether the caller may go there."""
    entities: dict[str, list[EntityDecl]] = {module.name: [] for module in model.modules}
    operations: dict[str, list[OperationDecl]] = {module.name: [] for module in model.modules}
    for entity in model.entities:
        entities[entity.module].append(entity)
    for operation in model.operations:
        operations[operation.module].append(operation)
    rows = [
        {
            "name": module.name,
            "entities": len(entities[module.name]),
            "operations": len(operations[module.name]),
            "access": _reach(entities[module.name], operations[module.name], access),
            **({"summary": module.summary} if module.summary else {}),
        }
        for module in model.modules
    ]

    def build(shown: Sequence[Row], truncated: int) -> Level:
        return _with_truncated(
            {
                "level": "root",
                "app": {"id": model.id, "name": model.name},
                "modules": shown,
                "conventions": {**CONVENTIONS, **model.conventions},
                "next": ["describe/{module}", "describe?find={term}"],
            },
            truncated,
            "describe?all=true",
        )

    return build(rows, 0) if show_all else _fit(build, rows, without="summary")


def describe_module(model: AppModel, module: ModuleDecl, access: Access, *, show_all: bool = False) -> Level:
    """The names of a module's entities and of the operations that act on none of them."""
    entities: list[Row] = [
        {"name": entity.name, **({"summary": entity.summary} if entity.summary else {})}
        for entity in model.entities
        if entity.module == module.name and access.can_read(entity.name)
    ]
    operations: list[Row] = [
        {
            "name": operation.name,
            "destructive": operation.destructive,
            **({"summary": operation.description} if operation.description else {}),
        }
        for operation in model.operations
        if operation.module == module.name and not operation.entity and access.can_run(operation.name)
    ]

    def build(entity_rows: Sequence[Row], operation_rows: Sequence[Row]) -> Level:
        moves = [f"describe/{module.name}/{{entity}}"]
        if operations:
            moves.append(f"describe/{module.name}/{{operation}}")
            moves.append(f"{module.name} <operation> [--param value]")
        level = {
            "level": "module",
            "path": module.name,
            **({"summary": _cut(module.summary, _LONGEST_REASON)} if module.summary else {}),
            "entities": entity_rows,
            "operations": operation_rows,
            "next": moves,
        }
        truncated = len(entities) + len(operations) - len(entity_rows) - len(operation_rows)
        return _with_truncated(level, truncated, f"describe/{module.name}?all=true")

    return (
        build(entities, operations) if show_all else _fit_two(build, entities, operations, without="summary")
    )


def describe_entity(model: AppModel, entity: EntityDecl, access: Access, *, show_all: bool = False) -> Level:
    """The fields of an entity and the operations that act on its records."""
    path = f"{entity.module}/{entity.name}"
    rows = [operation_to_wire(operation, with_rules=False) for operation in _acting_on(model, entity, access)]
    fields = {field.name: field_to_wire(field) for field in entity.fields if not field.write_only}

    def build(shown: Sequence[Row], truncated: int) -> Level:
        level: Level = {
            "level": "entity",
            "path": path,
            "label": label_field(entity.fields),
            "records": f"/api/collections/{entity.name}/records",
            "fields": fields,
            "operations": shown,
            "next": [f"describe/{path}/{{id}}", f"data {entity.name} list"],
            **({"auth": True} if entity.auth else {}),
        }
        return _with_truncated(level, truncated, f"describe/{path}?all=true")

    return build(rows, 0) if show_all else _fit(build, rows, without="description")


def describe_operation(operation: OperationDecl) -> Level:
    """An operation that acts on no entity, with its parameters: what its module's level has no room for."""
    place = f"{operation.module}/{operation.name}"
    shown = operation_to_wire(operation, with_rules=False)
    level: Level = {
        "level": "operation",
        "path": place,
        **shown,
        "next": [f"{operation.module} {operation.name}"],
    }
    return level if level_characters(level) <= BUDGET_CHARACTERS else _without(level, "description")


def describe_record(model: AppModel, entity: EntityDecl, record: Mapping[str, Any], access: Access) -> Level:
    """What can be done with one record as it is now; what cannot is shown with the reason."""
    shown_fields = {field.name: field for field in entity.fields if not field.write_only}
    record_id = str(record.get("id", ""))
    path = f"{entity.module}/{entity.name}/{record_id}"
    operations: list[Row] = []
    for operation in _acting_on(model, entity, access):
        row: Row = {"name": operation.name, "available": True}
        if operation.destructive:
            row["destructive"] = True
        if operation.applies_when is not None:
            reason = blocked_reason(operation.applies_when, record, shown_fields)
            if reason is not None:
                row |= {"available": False, "blocked": _cut(reason, _LONGEST_REASON)}
        operations.append(row)
    relations: list[Row] = []
    for field in shown_fields.values():
        if field.type == "list<ref>":
            value = record.get(field.name)
            count = {"count": len(value)} if isinstance(value, list) else {}  # pyright: ignore[reportUnknownArgumentType]
            relations.append({"name": field.name, "entity": field.entity, **count})

    def build(operation_rows: Sequence[Row], relation_rows: Sequence[Row]) -> Level:
        level: Level = {
            "level": "record",
            "path": path,
            "id": record_id,
            "label": label_of(entity.fields, record),
            "operations": operation_rows,
            **({"relations": relation_rows} if relations else {}),
            "next": [f"data {entity.name} get {record_id}"],
        }
        truncated = len(operations) + len(relations) - len(operation_rows) - len(relation_rows)
        _with_truncated(level, truncated, f"describe/{entity.module}/{entity.name}?all=true")
        moves = [f"describe/{path}/{row['name']}" for row in relation_rows]
        moves += [f"{path} {row['name']}" for row in operation_rows if row["available"]]
        # The moves repeat what the rows name, so they are what goes first where there is no room.
        room = BUDGET_CHARACTERS - level_characters(level)
        kept = _prefix([len(move) + 3 for move in moves], room)
        level["next"] = [*moves[:kept], *level["next"]]
        return level

    return _fit_two(build, operations, relations, without="")


def describe_relation(
    entity: EntityDecl,
    record_id: str,
    relation: str,
    target: EntityDecl,
    records: Sequence[Mapping[str, Any]],
) -> Level:
    """The records that one record points to, by id and label. One that is gone has its id and no label."""
    place = f"{entity.module}/{entity.name}/{record_id}"
    rows: list[Row] = [{"id": row["id"], "label": label_of(target.fields, row)} for row in records]

    def build(shown: Sequence[Row], truncated: int) -> Level:
        level: Level = {
            "level": "relation",
            "path": f"{place}/{relation}",
            "entity": target.name,
            "items": shown,
            "next": [f"data {target.name} get {{id}}", f"describe/{place}"],
        }
        return _with_truncated(level, truncated, f"data {entity.name} get {record_id}")

    return _fit(build, rows, without="")


def find_names(model: AppModel, term: str, access: Access, *, show_all: bool = False) -> Level:
    """Where a term is part of a name, whatever its case: modules, then entities, then operations."""
    wanted = term.casefold()
    rows: list[Row] = [
        {"path": module.name, "level": "module"}
        for module in model.modules
        if wanted in module.name.casefold()
    ]
    rows += [
        {"path": f"{entity.module}/{entity.name}", "level": "entity"}
        for entity in model.entities
        if wanted in entity.name.casefold() and access.can_read(entity.name)
    ]
    rows += [
        {
            "path": f"{operation.module}/{operation.entity}" if operation.entity else operation.module,
            "operation": operation.name,
        }
        for operation in model.operations
        if wanted in operation.name.casefold() and access.can_run(operation.name)
    ]

    def build(shown: Sequence[Row], truncated: int) -> Level:
        level: Level = {"level": "find", "term": term, "matches": shown, "next": ["describe/{path}"]}
        return _with_truncated(level, truncated, "describe?find={term}&all=true")

    return build(rows, 0) if show_all else _fit(build, rows, without="")


def _acting_on(model: AppModel, entity: EntityDecl, access: Access) -> list[OperationDecl]:
    return [one for one in model.operations if one.entity == entity.name and access.can_run(one.name)]


def _reach(entities: list[EntityDecl], operations: list[OperationDecl], access: Access) -> str:
    readable = sum(access.can_read(entity.name) for entity in entities)
    writable = sum(access.can_write(entity.name) for entity in entities)
    runnable = sum(access.can_run(operation.name) for operation in operations)
    if not readable and not runnable and (entities or operations):
        return "none"
    return "full" if writable == len(entities) and runnable == len(operations) else "read-only"


def _with_truncated(level: Level, truncated: int, undone_by: str) -> Level:
    if truncated:
        level["next"] = [*level["next"], undone_by]
        level["truncated"] = truncated
    return level


def _fit(build: Callable[[Sequence[Row], int], Level], rows: list[Row], *, without: str) -> Level:
    return _fit_two(lambda shown, _: build(shown, len(rows) - len(shown)), rows, [], without=without)


def _fit_two(
    build: Callable[[Sequence[Row], Sequence[Row]], Level],
    first: list[Row],
    second: list[Row],
    *,
    without: str,
) -> Level:
    """The level with as many rows of both lists as fit; where both are long, neither takes what the other needs."""
    whole = build(first, second)
    if level_characters(whole) <= BUDGET_CHARACTERS:
        return whole
    if without:
        first, second = ([_without(row, without) for row in rows] for rows in (first, second))
        bare = build(first, second)
        if level_characters(bare) <= BUDGET_CHARACTERS:
            return bare
    # The moves of a record are left out to make room, so they do not count here.
    empty = build([], [])
    room = BUDGET_CHARACTERS - level_characters(empty)
    sizes = [[level_characters(row) + 1 for row in rows] for rows in (first, second)]
    kept_second = _prefix(sizes[1], max(room // 2, room - sum(sizes[0])))
    kept_first = _prefix(sizes[0], room - sum(sizes[1][:kept_second]))
    return build(first[:kept_first], second[:kept_second])


def _without(row: Row, key: str) -> Row:
    kept = {name: value for name, value in row.items() if name != key}
    if "params" in kept:
        kept["params"] = {
            name: {k: v for k, v in param.items() if k != key} for name, param in kept["params"].items()
        }
    return kept


def _prefix(sizes: Sequence[int], room: int) -> int:
    """How many of the first fit into `room`."""
    for number, size in enumerate(sizes):
        room -= size
        if room < 0:
            return number
    return len(sizes)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
