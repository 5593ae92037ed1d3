"""What an app declares: modules, entities, operations, events. From it come the guard, describe and the page."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from .fields import Field, field_to_wire
from .manifest import module_name_problem
from .operations import OperationDecl, operation_to_wire
from .predicates import predicate_problems

__all__ = [
    "RECORD_ID",
    "AppModel",
    "EntityDecl",
    "EventDecl",
    "ModelProblems",
    "ModuleDecl",
    "model_problems",
]

RECORD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
"""The id of a record."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,47}")
_EVENT_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}")
_LONGEST_APP_NAME = 80
_LONGEST_CONVENTIONS = 600
_OWN_KEYS = ("id",)


class ModelProblems(ValueError):
    """A model that cannot be served. `problems` holds one message a problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("The app's declarations cannot be served:\n  - " + "\n  - ".join(problems))
        self.problems = tuple(problems)


class ModuleDecl(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the app, under which entities and operations are found.

    Attributes:
        name: Its name, 1 to 32 of a-z, 0-9 and "-".
        summary: One line.
    """

    name: str
    summary: str = ""


class EntityDecl(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of record.

    Attributes:
        name: Its name, also in URLs.
        module: The module that it belongs to.
        fields: Its fields, in order. `id` is not among them: every record has one.
        summary: One line.
        auth: Its records are the app's users.
    """

    name: str
    module: str
    fields: tuple[Field, ...]
    summary: str = ""
    auth: bool = False


class EventDecl(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of event that the app may trigger."""

    type: str
    description: str = ""


class AppModel(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that an app declares.

    Attributes:
        id: Who the app is.
        name: What a person calls it.
        modules: Its modules; the most used first.
        entities: Its entities, in order.
        operations: Its operations, in order.
        events: Kinds of events that it may trigger; with none, it may trigger any.
        auth_mode: Whether it has one user or several.
        adapter_version: Version of the library that serves it.
        app_version: The app's own version; empty where it has none.
        env: Whether it runs for development.
        conventions: What an agent must know beyond the usual, by topic.
    """

    id: str
    name: str
    modules: tuple[ModuleDecl, ...]
    entities: tuple[EntityDecl, ...] = ()
    operations: tuple[OperationDecl, ...] = ()
    events: tuple[EventDecl, ...] = ()
    auth_mode: Literal["none", "multi-user"] = "none"
    adapter_version: str = "0.1.0"
    app_version: str = ""
    env: Literal["dev", "live"] | None = None
    conventions: Mapping[str, str] = {}

    @cached_property
    def entity_by_name(self) -> dict[str, EntityDecl]:
        """The entities by name."""
        return {entity.name: entity for entity in self.entities}

    @cached_property
    def operation_by_name(self) -> dict[str, OperationDecl]:
        """The operations by name."""
        return {operation.name: operation for operation in self.operations}

    @cached_property
    def module_by_name(self) -> dict[str, ModuleDecl]:
        """The modules by name."""
        return {module.name: module for module in self.modules}

    @cached_property
    def schema_version(self) -> str:
        """A fingerprint of what describe tells: it changes when, and only when, that does."""
        shape: dict[str, Any] = {
            "modules": msgspec.to_builtins(self.modules),
            "entities": [
                {
                    "name": entity.name,
                    "module": entity.module,
                    "summary": entity.summary,
                    "auth": entity.auth,
                    "fields": [
                        [field.name, field_to_wire(field), field.write_only] for field in entity.fields
                    ],
                }
                for entity in self.entities
            ],
            "operations": [operation_to_wire(operation, with_rules=True) for operation in self.operations],
            "conventions": dict(self.conventions),
        }
        return hashlib.sha256(msgspec.json.encode(shape, order="sorted")).hexdigest()[:16]


def model_problems(model: AppModel) -> list[str]:
    """Everything that keeps a model from being served, one message each; empty where it can be."""
    problems = _app_problems(model)
    problems += [problem for module in model.modules if (problem := module_name_problem(module.name))]
    problems += _twice("module", (module.name for module in model.modules))
    problems += _twice("entity", (entity.name for entity in model.entities))
    problems += _twice("operation", (operation.name for operation in model.operations))
    problems += _twice("event", (event.type for event in model.events))
    for entity in model.entities:
        problems += [f'entity "{entity.name}" {problem}' for problem in _entity_problems(model, entity)]
    for operation in model.operations:
        problems += [
            f'operation "{operation.name}" {problem}' for problem in _operation_problems(model, operation)
        ]
    problems += [
        f'event type "{event.type}" is not 1 to 64 of letters, digits and "_.:-", with a letter first'
        for event in model.events
        if not _EVENT_TYPE.fullmatch(event.type)
    ]
    return problems


def _app_problems(model: AppModel) -> list[str]:
    problems: list[str] = []
    if not model.id.strip() or len(model.id) > 64 or not model.id.isprintable():
        problems.append("the app's id is not one line of 1 to 64 characters")
    if not model.name.strip() or len(model.name) > _LONGEST_APP_NAME or not model.name.isprintable():
        problems.append(f"the app's name is not one line of 1 to {_LONGEST_APP_NAME} characters")
    if not model.modules:
        problems.append("no module is declared: every entity and operation belongs to one")
    if len(msgspec.json.encode(dict(model.conventions))) > _LONGEST_CONVENTIONS:
        problems.append(
            f"the conventions are over {_LONGEST_CONVENTIONS} characters: describe has to fit a budget"
        )
    return problems


def _twice(kind: str, names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    found: dict[str, None] = {}
    for name in names:
        if name in seen:
            found[name] = None
        seen.add(name)
    return [f'the {kind} "{name}" is declared twice' for name in found]


def _module_problems(model: AppModel, module: str) -> list[str]:
    if not module:
        return ["names no module"]
    return [] if module in model.module_by_name else [f'names the module "{module}", which is not declared']


def _entity_problems(model: AppModel, entity: EntityDecl) -> list[str]:
    problems = _module_problems(model, entity.module)
    if not _NAME.fullmatch(entity.name):
        problems.append('has a name that is not 1 to 48 of letters, digits, "_" and "-", with a letter first')
    if not entity.fields:
        problems.append("has no field")
    problems += _twice("field", (field.name for field in entity.fields))
    for field in entity.fields:
        problems += [
            f'has a field "{field.name}" that {problem}' for problem in _field_problems(model, field)
        ]
        if field.required and field.read_only:
            problems.append(
                f'has a field "{field.name}" that is required and read-only: nobody could fill it in'
            )
        if field.write_only and field.read_only:
            problems.append(f'has a field "{field.name}" that can neither be read nor written')
    return problems


def _field_problems(model: AppModel, field: Field) -> list[str]:
    problems: list[str] = []
    if not _FIELD_NAME.fullmatch(field.name):
        problems.append('is not named by 1 to 48 of letters, digits, "_" and "-"')
    if field.name in _OWN_KEYS:
        problems.append("is named like what every record has")
    is_choice = field.type in ("enum", "list<enum>")
    if is_choice and not field.values:
        problems.append(f"is a {field.type} without values")
    if field.values and not is_choice:
        problems.append(f"has values and is a {field.type}")
    if len(set(field.values)) != len(field.values) or "" in field.values:
        problems.append("has a value that is blank or there twice")
    points = field.type in ("ref", "list<ref>")
    if points and field.entity not in model.entity_by_name:
        problems.append(f'points to the entity "{field.entity}", which is not declared')
    if field.entity and not points:
        problems.append(f"points to an entity and is a {field.type}")
    if field.max is not None and (field.type != "string" or field.max < 1):
        problems.append("has a max that is below 1, or is no string")
    if field.day_key and field.type != "string":
        problems.append(f"is a day and a {field.type}: a day is a string")
    return problems


def _operation_problems(model: AppModel, operation: OperationDecl) -> list[str]:
    problems = _module_problems(model, operation.module)
    if not _NAME.fullmatch(operation.name):
        problems.append('has a name that is not 1 to 48 of letters, digits, "_" and "-", with a letter first')
    problems += _twice("parameter", (param.name for param in operation.params))
    for param in operation.params:
        problems += [f'has a parameter "{param.name}" that {one}' for one in _field_problems(model, param)]
        if param.read_only or param.write_only:
            problems.append(f'has a parameter "{param.name}" that is read-only or write-only')
    if operation.read_only and operation.destructive:
        problems.append("is read-only and destructive")
    entity = model.entity_by_name.get(operation.entity)
    if not operation.entity:
        if operation.applies_when is not None:
            problems.append("has appliesWhen and no entity: there is no record to look at")
    elif entity is None:
        problems.append(f'acts on the entity "{operation.entity}", which is not declared')
    else:
        if entity.module != operation.module and operation.module in model.module_by_name:
            problems.append(
                f'is in the module "{operation.module}" and acts on "{entity.name}" of "{entity.module}"'
            )
        if operation.applies_when is not None:
            fields = {field.name: field for field in entity.fields if not field.write_only}
            problems += [f"appliesWhen {one}" for one in predicate_problems(operation.applies_when, fields)]
    return problems
