"""Requests of the harness: permissions are reported and answered once, anything else is declined at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from inspan.model.content import UnknownMessage
from inspan.model.permission import PermissionOption, ToolCall
from inspan.model.reports import PermissionRequested, PermissionWithdrawn
from inspan.model.stream import OptionRule, PermissionRule
from inspan.transports.acp.loose import mapping
from inspan.transports.records.paths import Place, as_token
from inspan.transports.records.reading import kind_of_tool

from .state import OpenRequest
from .talk import Talk, is_foreign, is_match
from .templates import fill

__all__ = ["answer_request", "take_request", "withdraw_request"]

_OPTIONS_CAP = 50
_LABEL_CHARACTERS = 200


def take_request(talk: Talk, record: dict[str, Any]) -> bool:
    """Takes a request of the harness; `False` where the record is none."""
    shape, place = talk.rules.requests, Place(record)
    if not is_match(shape.match, place):
        return False
    ident, kind = place.find(shape.id), as_token(place.find(shape.kind))
    if not isinstance(ident, str | int) or isinstance(ident, bool):
        talk.fault("bad_message", "A request has no id that could be answered.")
        talk.report(UnknownMessage(method=kind, answered=False, raw=record), "request.unknown")
        return True
    wire_id = msgspec.json.encode(ident).decode()
    if wire_id in talk.state.requests:
        talk.fault("bad_message", "A permission request has the id of one that is open.")
        return True
    for rule in talk.rules.permissions:
        if is_match(rule.match, place):
            _ask(talk, rule, place, record, ident, wire_id)
            return True
    if shape.unserved:
        talk.write(fill(shape.unserved, talk.values(id=ident, record=record)), "reply")
    talk.report(UnknownMessage(method=kind, answered=bool(shape.unserved), raw=record), "request.unknown")
    return True


def answer_request(talk: Talk, wire_id: str, option: str | None) -> None:
    """Answers an open permission request with an option, or as nobody's decision; does nothing where none is open."""
    opened = talk.state.requests.get(wire_id)
    if opened is None:
        return
    answer = opened.cancelled if option is None else opened.options.get(option, opened.cancelled)
    _close(talk, wire_id)
    values = talk.values(id=msgspec.json.decode(wire_id), answer=answer)
    talk.write(fill(talk.rules.requests.reply, values), "answer", request=wire_id)


def withdraw_request(talk: Talk, ident: object) -> None:
    """Closes a permission request that the harness no longer wants answered; one that is not open says nothing."""
    if not isinstance(ident, str | int) or isinstance(ident, bool):
        return
    wire_id = msgspec.json.encode(ident).decode()
    if wire_id in talk.state.requests:
        _close(talk, wire_id)
        talk.report(PermissionWithdrawn(wire_id=wire_id), "permission.withdrawn")


def _ask(
    talk: Talk, rule: PermissionRule, place: Place, record: dict[str, Any], ident: object, wire_id: str
) -> None:
    values = talk.values(id=ident, record=record)
    options: list[PermissionOption] = []
    answers: dict[str, Any] = {}
    for option in rule.options:
        for known in _elements(option, place, values):
            key = str(known.get("key", ""))
            made = Place(known)
            shown = made.fill(option.id)
            if not shown or shown in answers or len(answers) >= _OPTIONS_CAP:
                continue
            kind = option.kinds.get(key, option.kind)
            name = option.names.get(key) or " ".join(made.fill(option.name).split())[:_LABEL_CHARACTERS]
            answers[shown] = fill(option.answer, known)
            options.append(PermissionOption(id=shown, name=name or shown, kind=kind, raw_kind=key or shown))
    cancelled = fill(rule.cancelled, values)
    state = talk.state
    state.requests = {**state.requests, wire_id: OpenRequest(options=answers, cancelled=cancelled)}
    talk.is_changed = True
    if not is_foreign(talk, place):
        talk.witness("permission")
    body = PermissionRequested(
        wire_id=wire_id, tool_call=_tool_call(talk, rule, place, wire_id), options=tuple(options)
    )
    talk.report(body, "permission")


def _elements(option: OptionRule, place: Place, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the placeholders of an option stand for, once for each element."""
    if not option.each:
        yield values
        return
    found = place.find(option.each)
    items: list[Any] = found if isinstance(found, list) else []  # pyright: ignore[reportUnknownVariableType]
    for index, item in enumerate(items):
        members = mapping(item)
        if not Place(members or {}).holds(option.where):
            continue
        key = next(iter(members), "") if members is not None else as_token(item)
        yield {**values, "item": item, "key": key, "index": index}


def _tool_call(talk: Talk, rule: PermissionRule, place: Place, wire_id: str) -> ToolCall:
    """What is asked about, with what was said of the tool call before where the request says nothing."""
    tool = rule.tool
    ident = place.text(tool.id)
    known = talk.state.calls.get(ident)
    name = place.text(tool.name) or (known.tool if known is not None else "")
    title = place.fill(tool.title).strip() if tool.title else name
    kind = kind_of_tool(tool, name)
    raw_input = place.find(tool.input) if tool.input else None
    if known is not None:
        title, kind = title or known.title, kind or known.kind
        raw_input = known.input if raw_input is None else raw_input
    return ToolCall(id=ident or wire_id, title=title, kind=kind, raw_input=raw_input)


def _close(talk: Talk, wire_id: str) -> None:
    state = talk.state
    state.requests = {key: one for key, one in state.requests.items() if key != wire_id}
    talk.is_changed = True
