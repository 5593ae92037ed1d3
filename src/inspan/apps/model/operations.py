"""An operation that an app declares, and `operations.json`, the file that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from .fields import Field, field_from_wire, field_to_wire
from .predicates import Predicate

__all__ = ["OperationDecl", "operation_to_wire", "operations_from_wire"]


class OperationDecl(msgspec.Struct, frozen=True, kw_only=True):
    """One operation.

    Attributes:
        name: What it is called by.
        destructive: It needs an approval for the exact call.
        module: The module that it belongs to; empty only in files of an older form.
        params: Its parameters, in order.
        description: One line.
        read_only: It changes nothing; `None` where that was not asserted.
        idempotent: Twice is as once; `None` where that was not asserted.
        entity: The entity that it acts on; empty for an operation of the module.
        applies_when: When it applies to a record of the entity; `None` for always.
        system: It belongs to the framework.
    """

    name: str
    destructive: bool
    module: str = ""
    params: tuple[Field, ...] = ()
    description: str = ""
    read_only: bool | None = None
    idempotent: bool | None = None
    entity: str = ""
    applies_when: Predicate | None = None
    system: bool = False


def operation_to_wire(operation: OperationDecl, *, with_rules: bool) -> dict[str, Any]:
    """An operation as describe shows it, or, with its module and `appliesWhen`, as it stands in the file."""
    shown: dict[str, Any] = {
        "name": operation.name,
        "destructive": operation.destructive,
        "params": {param.name: field_to_wire(param) for param in operation.params},
    }
    if operation.description:
        shown["description"] = operation.description
    if operation.read_only is not None and (operation.read_only or with_rules):
        shown["readOnly"] = operation.read_only
    if operation.idempotent is not None and (operation.idempotent or with_rules):
        shown["idempotent"] = operation.idempotent
    if operation.entity:
        shown["entity"] = operation.entity
    if with_rules:
        shown["module"] = operation.module
        if operation.applies_when is not None:
            shown["appliesWhen"] = dict(operation.applies_when)
        if operation.system:
            shown["system"] = True
    return shown


def operations_from_wire(value: object) -> tuple[tuple[OperationDecl, ...], list[str]]:
    """The operations of a parsed `operations.json`, and what is wrong with it, one message each.

    An operation without a usable name or parameter is left out of the first and named in the second.
    """
    if not isinstance(value, Mapping) or not isinstance(
        listed := cast("Mapping[str, object]", value).get("operations"), list
    ):
        return (), ['has no list "operations"']
    found: list[OperationDecl] = []
    problems: list[str] = []
    for number, entry in enumerate(cast("list[object]", listed)):
        operation, wrong = _operation(entry, f"operations[{number}]")
        problems.extend(wrong)
        if operation is not None:
            found.append(operation)
    names = [operation.name for operation in found]
    problems.extend(
        f'the operation "{name}" is declared twice'
        for name in sorted({n for n in names if names.count(n) > 1})
    )
    return tuple(found), problems


def _operation(entry: object, place: str) -> tuple[OperationDecl | None, list[str]]:
    if not isinstance(entry, Mapping):
        return None, [f"{place} is not an object"]
    given = cast("Mapping[str, Any]", entry)
    name = given.get("name")
    if not isinstance(name, str) or not name:
        return None, [f"{place} has no name"]
    place = f'operation "{name}"'
    problems: list[str] = []
    if not isinstance(given.get("destructive"), bool):
        problems.append(f'{place} does not say "destructive": true or false')
    for key in ("readOnly", "idempotent", "system"):
        if key in given and not isinstance(given[key], bool):
            problems.append(f"{place}: {key} is not true or false")
    for key in ("module", "entity", "description"):
        if key in given and not isinstance(given[key], str):
            problems.append(f"{place}: {key} is not text")
    params: list[Field] = []
    listed = given.get("params", {})
    if not isinstance(listed, Mapping):
        problems.append(f"{place}: params is not an object")
        listed = {}
    for key, described in cast("Mapping[str, object]", listed).items():
        field, wrong = field_from_wire(key, described)
        problems.extend(f"{place}: the parameter {one}" for one in wrong)
        if field is not None:
            params.append(field)
    condition = given.get("appliesWhen")
    if condition is not None and not isinstance(condition, Mapping):
        problems.append(f"{place}: appliesWhen is not an object")
        condition = None
    return OperationDecl(
        name=name,
        destructive=given.get("destructive") is True,
        module=_text(given.get("module")),
        params=tuple(params),
        description=_text(given.get("description")),
        read_only=_flag(given.get("readOnly")),
        idempotent=_flag(given.get("idempotent")),
        entity=_text(given.get("entity")),
        applies_when=cast("Predicate | None", condition),
        system=given.get("system") is True,
    ), problems


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
