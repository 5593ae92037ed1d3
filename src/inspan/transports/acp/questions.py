"""Questions: forms that the harness wants filled in, and the answers to them.

Source: https://agentclientprotocol.com/protocol/schema, schema 1.19 (`elicitation/create`). Verified: 2026-11,
against `agent-client-protocol` 0.12.1.
"""

from __future__ import annotations

from typing import Any

import msgspec

from inspan.model.content import UnknownMessage
from inspan.model.question import FIELDS_CAP, QuestionAction, QuestionChoice, QuestionField
from inspan.model.reports import QuestionAsked, QuestionWithdrawn
from inspan.transports.operations import AnswerQuestion

from .exchange import Exchange
from .failures import CANCELLED, INVALID_PARAMS
from .loose import dicts_in, list_in, mapping, mapping_in, text_in
from .turns import witness

__all__ = ["METHOD", "answer", "is_withdrawn", "on_elicitation"]

METHOD = "elicitation/create"


def on_elicitation(exchange: Exchange, wire_id: str, raw: Any, *, is_ours: bool) -> None:
    """Takes `elicitation/create`: a form of our own session is reported, anything else is declined at once.

    Args:
        exchange: The machine's state.
        wire_id: The JSON text of the request's id.
        raw: Its parameters.
        is_ours: Whether the session that it names is the open one, or one that is being opened.
    """
    values = mapping(raw)
    if wire_id in exchange.state.questions:
        exchange.fault("bad_message", "A question has the id of one that is open.")
        return
    if values is None or not text_in(values, "message"):
        exchange.answer_theirs(wire_id, error={"code": INVALID_PARAMS, "message": "Invalid params"})
        exchange.fault("bad_message", "A question has no message.")
        _note(exchange, raw)
        return
    schema = mapping_in(values, "requestedSchema")
    properties = mapping_in(schema, "properties")
    is_form = text_in(values, "mode") == "form" and len(properties) <= FIELDS_CAP
    is_known = is_ours or _belongs_to_call(exchange, values)
    if not (is_form and is_known):
        action = QuestionAction.DECLINE if is_known else QuestionAction.CANCEL
        exchange.answer_theirs(wire_id, result={"action": action.value})
        _note(exchange, raw)
        return
    exchange.state.questions = (*exchange.state.questions, wire_id)
    exchange.is_changed = True
    rule = "acp.elicitation.form"
    if is_ours:
        witness(exchange, rule)
    required = {one for one in list_in(schema, "required") if isinstance(one, str)}
    body = QuestionAsked(
        wire_id=wire_id,
        message=text_in(values, "message"),
        fields=tuple(
            _field(name, mapping(one) or {}, is_required=name in required) for name, one in properties.items()
        ),
        tool_call=text_in(values, "toolCallId"),
    )
    exchange.report(body, rule, session=text_in(values, "sessionId") or None)


def answer(exchange: Exchange, operation: AnswerQuestion) -> None:
    """Answers an open question; does nothing where none of that id is open."""
    if operation.wire_id not in exchange.state.questions:
        return
    _close(exchange, operation.wire_id)
    result: dict[str, Any] = {"action": operation.action.value}
    if operation.action is QuestionAction.ACCEPT:
        result["content"] = operation.content
    exchange.answer_theirs(operation.wire_id, result=result, purpose="answer")


def is_withdrawn(exchange: Exchange, wire_id: str) -> bool:
    """Closes a question that the harness no longer wants answered; `False` where none of that id is open."""
    if wire_id not in exchange.state.questions:
        return False
    _close(exchange, wire_id)
    exchange.answer_theirs(wire_id, error={"code": CANCELLED, "message": "Request cancelled"})
    exchange.report(
        QuestionWithdrawn(wire_id=wire_id), "acp.elicitation.cancelled", session=exchange.state.session
    )
    return True


def _close(exchange: Exchange, wire_id: str) -> None:
    exchange.state.questions = tuple(one for one in exchange.state.questions if one != wire_id)
    exchange.is_changed = True


def _belongs_to_call(exchange: Exchange, values: dict[str, Any]) -> bool:
    """Whether it is tied to a call of ours that is open: a sign-in may ask before there is a session."""
    key = values.get("requestId")
    return key is not None and msgspec.json.encode(key).decode() in exchange.state.calls


def _note(exchange: Exchange, raw: Any) -> None:
    body = UnknownMessage(method=METHOD, answered=True, raw=raw)
    exchange.report(body, "acp.elicitation.declined", session=exchange.state.session)


def _field(name: str, schema: dict[str, Any], *, is_required: bool) -> QuestionField:
    choices: tuple[QuestionChoice, ...] = ()
    match text_in(schema, "type"):
        case "string":
            choices = _choices(schema)
            kind = "choice" if choices else "text"
        case "array":
            choices = _choices(mapping_in(schema, "items"))
            kind = "choices" if choices else "other"
        case "number":
            kind = "number"
        case "integer":
            kind = "integer"
        case "boolean":
            kind = "boolean"
        case _:
            kind = "other"
    return QuestionField(
        name=name,
        kind=kind,
        title=text_in(schema, "title"),
        description=text_in(schema, "description"),
        is_required=is_required,
        choices=choices,
        default=schema.get("default"),
    )


def _choices(schema: dict[str, Any]) -> tuple[QuestionChoice, ...]:
    plain = [QuestionChoice(value=one) for one in list_in(schema, "enum") if isinstance(one, str)]
    with_titles = [
        QuestionChoice(value=value, title=text_in(one, "title"))
        for key in ("oneOf", "anyOf")
        for one in dicts_in(schema, key)
        if isinstance(value := one.get("const"), str)
    ]
    return tuple(with_titles or plain)
