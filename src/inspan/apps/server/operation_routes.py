"""`POST /api/ops/NAME`: rate, existence, credential and scope, guard, idempotency, approval, and then the app's code."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import msgspec
import rfc8785

from inspan.apps.model.envelope import guard_body
from inspan.apps.model.guard import check_body, coerce_body
from inspan.apps.model.operations import OperationDecl
from inspan.apps.model.predicates import blocked_reason

from .caller import Caller
from .calls import Call, Refused, Reply, parse_object, refuse
from .database import BusyError
from .ledger import approval_key
from .record_routes import idempotency_key_of
from .served import Handler, Served, Triggered

__all__ = ["Refusal", "answer_operation", "current_caller"]

_log = logging.getLogger("inspan.apps")

current_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""Who called the operation that runs."""


class Refusal(Exception):
    """What an operation's code raises to say no: the caller gets the code and the message, and nothing is written.

    Attributes:
        code: A word to branch on.
        message: What a person reads.
        status: The HTTP status, 400 to 499.
    """

    def __init__(self, message: str, *, code: str = "operation_failed", status: int = 409) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status if 400 <= status < 500 else 409


async def answer_operation(served: Served, call: Call, name: str) -> Reply:
    """Answers a call of an operation."""
    try:
        return await _answer(served, call, name)
    except Refused as refused:
        operation = served.model.operation_by_name.get(name)
        if operation is not None and not operation.read_only:
            refused.concerning(f"op:{name}")
        raise


async def _answer(served: Served, call: Call, name: str) -> Reply:
    if call.method != "POST":
        raise refuse(405, "usage", "Operations are called with POST.")
    served.meter(call, "ops")
    operation = served.model.operation_by_name.get(name)
    if operation is None:
        raise refuse(404, "unknown_operation", f'There is no operation "{name[:60]}".')
    caller = served.gate.authorise(call, scope=f"op:{name}", is_write=not operation.read_only)
    args = parse_object(call)
    if violations := check_body(operation.params, args, requires_all=True):
        raise Refused(Reply(status=400, body=guard_body(violations)), violations[0].code)
    key = idempotency_key_of(call)
    handler = served.handlers.get(name)
    coerced = coerce_body(operation.params, args)
    if operation.read_only:
        result = await _run(served, operation, handler, coerced, caller)
        return _done(name, result)
    if handler is not None and not handler.is_atomic:
        return await _run_apart(served, call, operation, handler, args, coerced, caller, key)
    async with served.database.writing_async() as transaction:
        _check_again(served, call, operation, args, coerced, key)
        result = await _run(served, operation, handler, coerced, caller)
        _note_done(served, operation, caller, key)
        transaction.has_changed_records = True
    return _done(name, result)


async def _run_apart(
    served: Served,
    call: Call,
    operation: OperationDecl,
    handler: Handler,
    args: dict[str, Any],
    coerced: dict[str, Any],
    caller: Caller,
    key: str,
) -> Reply:
    """Runs code that is no transaction. A second call with its key, while it runs, is a duplicate too."""
    place = (f"op:{operation.name}", key)
    if key and place in served.running_keys:
        raise _duplicate(operation)
    _check_again(served, call, operation, args, coerced, key)
    if key:
        served.running_keys.add(place)
    try:
        result = await _run(served, operation, handler, coerced, caller)
        async with served.database.writing_async() as transaction:
            _note_done(served, operation, caller, key)
            transaction.has_changed_records = True
    finally:
        served.running_keys.discard(place)
    return _done(operation.name, result)


def _check_again(
    served: Served,
    call: Call,
    operation: OperationDecl,
    args: dict[str, Any],
    coerced: dict[str, Any],
    key: str,
) -> None:
    """What depends on what is stored: idempotency, whether the operation applies, approval."""
    if key and served.idempotency.find(f"op:{operation.name}", key) is not None:
        raise _duplicate(operation)
    # Before the approval, so that nobody is asked to approve a call that cannot run.
    _check_applies(served, operation, coerced)
    if not operation.destructive:
        return
    try:
        wanted = approval_key(operation.name, args)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise refuse(400, "usage", "The arguments hold text that is no Unicode.") from error
    sent = call.header("x-a2app-approval", "x-lui-approval")
    if not sent:
        served.approvals.ask(wanted)
        raise refuse(
            428,
            "approval_required",
            f'The operation "{operation.name}" is destructive: call it again with this approval key.',
            approvalKey=wanted,
        )
    if sent != wanted or not served.approvals.use(wanted):
        # This asks for nothing: a call that is sent again, and again, would else run at every second time.
        raise refuse(
            428,
            "approval_required",
            "The approval key is not of this exact call, was used, or is over ten minutes old."
            " Call without a key to ask for another approval.",
        )


def _check_applies(served: Served, operation: OperationDecl, args: Mapping[str, Any]) -> None:
    """Refuses an operation on a record that is not there, or in a state in which it does not apply.

    Which record is meant is known where exactly one parameter points to the operation's entity.
    """
    entity = served.model.entity_by_name.get(operation.entity)
    pointing = [one for one in operation.params if one.type == "ref" and one.entity == operation.entity]
    if entity is None or len(pointing) != 1 or not isinstance(record_id := args.get(pointing[0].name), str):
        return
    record = served.records.get(entity, record_id)
    if record is None:
        raise refuse(404, "record_not_found", f'There is no record "{record_id[:64]}" of {entity.name}.')
    if operation.applies_when is None:
        return
    fields = {field.name: field for field in entity.fields if not field.write_only}
    if (reason := blocked_reason(operation.applies_when, record, fields)) is not None:
        raise refuse(
            409,
            "operation_failed",
            f'"{operation.name}" does not apply to this record: {reason}.',
            blocked=reason,
        )


async def _run(
    served: Served, operation: OperationDecl, handler: Handler | None, args: dict[str, Any], caller: Caller
) -> Any:
    if handler is None:
        raise refuse(501, "not_implemented", f'The app declares "{operation.name}" and has no code for it.')
    token = current_caller.set(caller)
    try:
        with served.database.read_only() if operation.read_only else contextlib.nullcontext():
            is_writer = handler.is_atomic and not operation.read_only
            result = await served.call(handler, args, is_writer=is_writer)
        # Here, so that a result that is no JSON undoes what was written.
        return msgspec.Raw(msgspec.json.encode(result.to_wire() if isinstance(result, Triggered) else result))
    except (Refused, BusyError):
        raise
    except Refusal as refusal:
        raise refuse(refusal.status, refusal.code, refusal.message) from refusal
    except Exception as error:
        # The text of an error of the app's own code may quote what is secret: it goes to no caller.
        _log.exception("The operation %s failed", operation.name)
        raise refuse(
            500, "operation_failed", f'The operation "{operation.name}" failed with {type(error).__name__}.'
        ) from error
    finally:
        current_caller.reset(token)


def _note_done(served: Served, operation: OperationDecl, caller: Caller, key: str) -> None:
    if key:
        served.idempotency.put(f"op:{operation.name}", key, operation.name)
    served.audit.add(caller, f"op:{operation.name}")


def _duplicate(operation: OperationDecl) -> Refused:
    return refuse(
        409,
        "duplicate_request",
        "This idempotency key was used before.",
        id=operation.name,
        operation=operation.name,
    )


def _done(name: str, result: Any) -> Reply:
    return Reply(status=200, body={"a2app": True, "ok": True, "operation": name, "result": result})
