"""`/api/collections/ENTITY/records[/ID]`: records, read with filters and written through the guard."""

from __future__ import annotations

from typing import Any

from inspan.apps.model.app_model import EntityDecl
from inspan.apps.model.envelope import guard_body, not_stored_body
from inspan.apps.model.guard import check_body, coerce_body, lost_fields

from .caller import Caller
from .calls import Call, Refused, Reply, parse_object, refuse
from .filters import InvalidFilter
from .records import Record
from .served import Served

__all__ = ["answer_records", "idempotency_key_of"]

_MOST_PER_PAGE = 1000
_PER_PAGE = 100
_LONGEST_KEY = 255
_MOST_NAMED = 20


async def answer_records(served: Served, call: Call, entity_name: str, record_id: str | None) -> Reply:
    """Answers a call about an entity's records, or about one of them."""
    is_write = call.method not in ("GET", "HEAD")
    try:
        served.meter(call, "data")
        entity = served.model.entity_by_name.get(entity_name)
        if entity is None:
            message = f'There is no entity "{entity_name[:60]}"'
            if not served.gate.is_multi_user:  # where it is, what there is is not for everybody
                message += f"; there are: {', '.join(list(served.model.entity_by_name)[:_MOST_NAMED])}"
            raise refuse(404, "unknown_entity", f"{message}.")
        if not is_write:
            served.gate.authorise(call, scope=f"data:{entity.name}:read", is_write=False)
            return _read(served, call, entity, record_id)
        caller = served.gate.authorise(call, scope=f"data:{entity.name}:write", is_write=True)
        match call.method, record_id:
            case "POST", None:
                return await _write(served, call, entity, None, caller)
            case "PATCH", str():
                return await _write(served, call, entity, record_id, caller)
            case "DELETE", str():
                return await _delete(served, entity, record_id, caller)
            case _:
                what = "without an id" if record_id is None else "with an id"
                raise refuse(405, "usage", f"{call.method} does not go with records {what}.")
    except Refused as refused:
        if is_write:
            refused.concerning(f"data:{entity_name[:60]}", record_id and record_id[:64])
        raise


def idempotency_key_of(call: Call) -> str:
    """The idempotency key that was sent; empty where none was.

    Raises:
        Refused: It is too long.
    """
    key = call.header("idempotency-key")
    if len(key) > _LONGEST_KEY:
        raise refuse(400, "usage", f"An idempotency key has at most {_LONGEST_KEY} characters.")
    return key


def _read(served: Served, call: Call, entity: EntityDecl, record_id: str | None) -> Reply:
    if record_id is not None:
        record = served.records.get(entity, record_id)
        if record is None:
            raise _no_record(entity, record_id)
        return Reply(status=200, body=record)
    per_page = min(_whole_number(call, "perPage", _PER_PAGE), _MOST_PER_PAGE)
    try:
        page = served.records.list(
            entity,
            filter=call.query.get("filter", ""),
            sort=call.query.get("sort", ""),
            page=_whole_number(call, "page", 1),
            per_page=per_page,
        )
    except InvalidFilter as error:
        raise refuse(400, "invalid_filter", str(error), got=error.expression) from error
    body = {
        "items": page.items,
        "page": page.page,
        "perPage": page.per_page,
        "totalItems": page.total_items,
        "totalPages": -(-page.total_items // page.per_page),
    }
    return Reply(status=200, body=body)


async def _write(
    served: Served, call: Call, entity: EntityDecl, record_id: str | None, caller: Caller
) -> Reply:
    body = parse_object(call)
    key = idempotency_key_of(call)
    scope = entity.name if record_id is None else f"{entity.name}#{record_id}"
    if violations := check_body(entity.fields, body, requires_all=record_id is None):
        raise Refused(Reply(status=400, body=guard_body(violations)), violations[0].code)
    async with served.database.writing_async():
        if key and (prior := served.idempotency.find(scope, key)) is not None:
            raise refuse(409, "duplicate_request", "This idempotency key was used before.", id=prior)
        stored = _store(served, entity, record_id, coerce_body(entity.fields, body))
        lost = lost_fields(entity.fields, body, stored.get)
        served.audit.add(caller, f"data:{entity.name}", stored["id"], code="not_stored" if lost else None)
        if lost:
            return Reply(status=422, body=not_stored_body(lost, stored["id"]))
        if key:
            served.idempotency.put(scope, key, stored["id"])
    return Reply(status=200, body=stored)


def _store(served: Served, entity: EntityDecl, record_id: str | None, values: dict[str, Any]) -> Record:
    if record_id is None:
        return served.records.create(entity, values)
    stored = served.records.update(entity, record_id, values)
    if stored is None:
        raise _no_record(entity, record_id)
    return stored


async def _delete(served: Served, entity: EntityDecl, record_id: str, caller: Caller) -> Reply:
    async with served.database.writing_async():
        if not served.records.delete(entity, record_id):
            raise _no_record(entity, record_id)
        served.audit.add(caller, f"data:{entity.name}", record_id)
    return Reply(status=200, body={"a2app": True, "ok": True, "deleted": record_id})


def _no_record(entity: EntityDecl, record_id: str) -> Refused:
    return refuse(404, "record_not_found", f'There is no record "{record_id[:64]}" of {entity.name}.')


def _whole_number(call: Call, name: str, default: int) -> int:
    text = call.query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise refuse(400, "usage", f"{name} is not a whole number from 1 on.")
    return int(text)
