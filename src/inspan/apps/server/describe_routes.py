"""`/api/_a2app/describe…`: one level of the app a call. Levels that read records are reads of data."""

from __future__ import annotations

from typing import Any

from inspan.apps.model.app_model import EntityDecl
from inspan.apps.model.describe import (
    describe_entity,
    describe_module,
    describe_operation,
    describe_record,
    describe_relation,
    describe_root,
    find_names,
)
from inspan.apps.model.operations import OperationDecl

from .calls import Call, Reply, refuse
from .served import Served

__all__ = ["answer_describe"]

_DEEPEST = 4
_LONGEST_TERM = 100
_MOST_NAMED = 50


def answer_describe(served: Served, call: Call, segments: tuple[str, ...]) -> Reply:
    """Answers with the level that `segments` lead to."""
    if call.method not in ("GET", "HEAD"):
        raise refuse(405, "usage", "Describe is read with GET.")
    if len(segments) > _DEEPEST:
        raise refuse(404, "usage", "Describe goes four levels deep: MODULE/ENTITY/ID/RELATION.")
    if "" in segments:
        raise refuse(404, "usage", "The path of describe has an empty part.")
    access = served.gate.caller_of(call).scopes
    show_all = call.query.get("all") == "true"
    if not segments:
        if (term := call.query.get("find")) is None:
            return _level(describe_root(served.model, access, show_all=show_all))
        if not 0 < len(term) <= _LONGEST_TERM:
            raise refuse(400, "usage", f"find needs a term of 1 to {_LONGEST_TERM} characters.")
        return _level(find_names(served.model, term, access, show_all=show_all))
    module = served.model.module_by_name.get(segments[0])
    if module is None:
        names = [one.name for one in served.model.modules[:_MOST_NAMED]]
        raise refuse(404, "unknown_module", f'There is no module "{segments[0][:60]}".', modules=names)
    if len(segments) == 1:
        return _level(describe_module(served.model, module, access, show_all=show_all))
    entity = served.model.entity_by_name.get(segments[1])
    operation = served.model.operation_by_name.get(segments[1])
    if entity is None and operation is not None and (operation.module, operation.entity) == (module.name, ""):
        return _operation_level(served, call, operation, segments)
    if entity is None or entity.module != module.name:
        raise refuse(404, "unknown_entity", f'There is no entity "{segments[1][:60]}" in "{module.name}".')
    if len(segments) == 2:
        if not access.can_read(entity.name):
            raise _may_not(served, call, f"data:{entity.name}:read")
        return _level(describe_entity(served.model, entity, access, show_all=show_all))
    return _record_level(served, call, entity, segments[2:])


def _operation_level(
    served: Served, call: Call, operation: OperationDecl, segments: tuple[str, ...]
) -> Reply:
    if len(segments) > 2:
        raise refuse(404, "usage", "Nothing is below an operation.")
    if not served.gate.caller_of(call).scopes.can_run(operation.name):
        raise _may_not(served, call, f"op:{operation.name}")
    return _level(describe_operation(operation))


def _record_level(served: Served, call: Call, entity: EntityDecl, rest: tuple[str, ...]) -> Reply:
    served.meter(call, "data")
    caller = served.gate.authorise(call, scope=f"data:{entity.name}:read", is_write=False)
    record = served.records.get(entity, rest[0])
    if record is None:
        raise refuse(404, "record_not_found", f'There is no record "{rest[0][:64]}" of {entity.name}.')
    if len(rest) == 1:
        return _level(describe_record(served.model, entity, record, caller.scopes))
    relations = {one.name: one for one in entity.fields if one.type == "list<ref>" and not one.write_only}
    relation = relations.get(rest[1])
    if relation is None:
        raise refuse(
            404,
            "unknown_relation",
            f'"{rest[1][:60]}" is no relation of {entity.name}.',
            relations=list(relations)[:_MOST_NAMED],
        )
    target = served.model.entity_by_name[relation.entity]
    if not caller.scopes.can_read(target.name):
        raise _may_not(served, call, f"data:{target.name}:read")
    ids: Any = record[relation.name]
    pointed = served.records.get_many(target, [str(one) for one in ids]) if isinstance(ids, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return _level(describe_relation(entity, rest[0], relation.name, target, pointed))


def _may_not(served: Served, call: Call, scope: str) -> Exception:
    if served.gate.caller_of(call).credential_id == "anonymous":
        return served.gate.challenge("This app needs")
    return refuse(403, "insufficient_scope", f"The credential does not hold {scope}.", required=scope)


def _level(level: dict[str, Any]) -> Reply:
    return Reply(status=200, body=level)
