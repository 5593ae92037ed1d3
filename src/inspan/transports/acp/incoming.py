"""What the harness says of its own accord: updates, permission requests, and calls that nobody serves."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import msgspec

from inspan.model.content import ModeUpdated, ToolCallUpdated, UnknownMessage, UnknownUpdate
from inspan.model.permission import OptionKind, PermissionOption, ToolCall
from inspan.model.reports import PermissionRequested, PermissionWithdrawn

from . import questions
from .exchange import Exchange
from .failures import CANCELLED, INVALID_PARAMS, METHOD_NOT_FOUND
from .loose import dicts_in, list_in, mapping, text_in
from .operations import offer_options
from .retrying import is_retry_taken
from .turns import witness
from .updates import AMBIENT, mode_choice, rule_of, to_content
from .wire import (
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Update,
    UserMessageChunk,
    decode_any,
    decode_update,
)

__all__ = ["ToolMemory", "on_notification", "on_request", "on_update"]

_REMEMBERED_CALLS = 64
_REJECTING_KEPT = 32


class ToolMemory:
    """What was said of the tool calls that run, for permission requests that carry nothing but an id.

    Bounded, and not part of the snapshot: a machine that was restored between a tool call and its request knows
    what the request says and no more.
    """

    def __init__(self) -> None:
        self._calls: OrderedDict[str, ToolCall] = OrderedDict()

    def note(self, said: ToolCallUpdated) -> None:
        """Remembers what an update says; a call that ended is forgotten."""
        known = self._calls.pop(said.id, None)
        if said.status in ("completed", "failed"):
            return
        now = ToolCall(
            id=said.id,
            title=said.title or "",
            kind=said.kind or "",
            raw_input=said.raw_input,
            content=said.content,
            locations=said.locations,
        )
        self._calls[said.id] = _merged(now, known)
        if len(self._calls) > _REMEMBERED_CALLS:
            self._calls.popitem(last=False)

    def complete(self, asked: ToolCall) -> ToolCall:
        """The tool call of a request, with what was said before where the request says nothing."""
        return _merged(asked, self._calls.get(asked.id))

    def clear(self) -> None:
        """Forgets all."""
        self._calls.clear()


def on_update(exchange: Exchange, memory: ToolMemory, params: msgspec.Raw) -> None:
    """Takes a `session/update`.

    Raises:
        msgspec.DecodeError: It is no JSON.
    """
    state = exchange.state
    try:
        said = decode_update(params)
        update, session = said.update, said.sessionId
        if session != state.session and not _is_opening(exchange, session):
            _unknown_update(exchange, params)
            return
        replay = state.replay != "no" and _is_replay(exchange, update)
        if isinstance(update, UserMessageChunk) and _tells_history(exchange):
            replay = True
        content = to_content(update, replay=replay)
    except msgspec.ValidationError:
        _unknown_update(exchange, params)
        return
    rule = rule_of(update)
    if isinstance(update, ConfigOptionUpdate):
        offer_options(exchange, update.configOptions, rule)
    if state.unwitnessed is not None and not replay and not isinstance(update, AMBIENT):
        witness(exchange, rule)
    exchange.report(content, rule, session=session)
    if isinstance(content, ToolCallUpdated):
        memory.note(content)
    elif isinstance(update, CurrentModeUpdate | ConfigOptionUpdate):
        _note_mode(exchange, update, rule)


def on_request(
    exchange: Exchange, memory: ToolMemory, wire_id: str, method: str, params: msgspec.Raw
) -> None:
    """Takes a call of the harness: a permission request or a question is reported, any other is declined.

    Raises:
        msgspec.DecodeError: The parameters are no JSON.
    """
    values = decode_any(params)
    if method == "session/request_permission":
        _on_permission(exchange, memory, wire_id, values)
        return
    if method == questions.METHOD and exchange.settings.answers_questions:
        session = text_in(mapping(values) or {}, "sessionId")
        is_ours = bool(session) and (session == exchange.state.session or _is_opening(exchange, session))
        questions.on_elicitation(exchange, wire_id, values, is_ours=is_ours)
        return
    exchange.answer_theirs(wire_id, error={"code": METHOD_NOT_FOUND, "message": "Method not found"})
    _unknown_message(exchange, method, values, answered=True)


def on_notification(exchange: Exchange, method: str, params: msgspec.Raw) -> None:
    """Takes a notification other than `session/update`.

    Raises:
        msgspec.DecodeError: The parameters are no JSON.
    """
    values = decode_any(params)
    wire_id = _cancelled_id(values) if method == "$/cancel_request" else None
    if wire_id is not None and questions.is_withdrawn(exchange, wire_id):
        return
    if wire_id is None or wire_id not in exchange.state.permissions:
        if is_retry_taken(exchange, method, values):
            return
        _unknown_message(exchange, method, values, answered=False)
        return
    _close_permission(exchange, wire_id)
    exchange.answer_theirs(wire_id, error={"code": CANCELLED, "message": "Request cancelled"})
    exchange.report(
        PermissionWithdrawn(wire_id=wire_id), "acp.permission.cancelled", session=exchange.state.session
    )


def _is_opening(exchange: Exchange, session: str) -> bool:
    """Whether the session is being opened: its updates may come before the answer that names it."""
    for call in exchange.state.calls.values():
        if call.kind in ("load", "resume") and call.session == session:
            return True
        if call.kind in ("new", "fork"):
            return True
    return False


def _is_replay(exchange: Exchange, update: Update) -> bool:
    """Whether the update tells the conversation again.

    While the call is open, all that belongs to a turn does. A harness that answers first goes on in the same
    way after its answer, even after a prompt was sent: a conversation starts with the person's words, and the
    list of commands follows at its end (observed, 2026-11). Words of the harness without any of the person
    before them are therefore live.
    """
    state = exchange.state
    if isinstance(update, AvailableCommandsUpdate):
        state.has_ended_replay = state.has_replayed or state.replay == "after"
        if state.replay == "after":
            state.replay = "no"
        exchange.is_changed = True
        return False
    if isinstance(update, AMBIENT):
        return False
    if not state.has_replayed:
        if state.replay == "after" and not isinstance(update, UserMessageChunk):
            state.replay = "no"
            exchange.is_changed = True
            return False
        state.has_replayed = True
        exchange.is_changed = True
    return True


def _tells_history(exchange: Exchange) -> bool:
    """Whether the person's words can only be history: such a harness does not repeat a prompt that it gets."""
    return exchange.settings.acp.replay_after_answer and exchange.state.how == "loaded"


def _note_mode(exchange: Exchange, update: CurrentModeUpdate | ConfigOptionUpdate, rule: str) -> None:
    state = exchange.state
    if isinstance(update, CurrentModeUpdate):
        mode = update.currentModeId
    elif state.mode_option is None and state.mode is not None:
        return
    else:
        # An option that stands for the mode beside modes of their own tells only what is not known otherwise.
        found, _ = mode_choice({"configOptions": update.configOptions})
        if found is None:
            return
        mode = found.current
        if mode != state.mode:
            exchange.report(ModeUpdated(current=mode, available=found.available), rule, session=state.session)
    if mode != state.mode:
        state.mode = mode
        exchange.is_changed = True


def _unknown_update(exchange: Exchange, params: msgspec.Raw) -> None:
    raw = decode_any(params)
    values = mapping(raw)
    update = mapping(values.get("update")) if values is not None else None
    session = text_in(values, "sessionId") if values is not None else ""
    if update is None or not session:
        exchange.fault("bad_message", "A session update has no session or no content.")
        _unknown_message(exchange, "session/update", raw, answered=False)
        return
    kind = text_in(update, "sessionUpdate")
    is_ours = session == exchange.state.session or _is_opening(exchange, session)
    body = UnknownUpdate(kind=kind, raw=update, replay=is_ours and exchange.state.replay != "no")
    exchange.report(body, "acp.update.unknown" if is_ours else "acp.update.foreign", session=session)


def _unknown_message(exchange: Exchange, method: str, raw: Any, *, answered: bool) -> None:
    values = mapping(raw)
    session = text_in(values, "sessionId") if values is not None else ""
    rule = "acp.request.unknown" if answered else "acp.notification.unknown"
    exchange.report(UnknownMessage(method=method, answered=answered, raw=raw), rule, session=session or None)


def _on_permission(exchange: Exchange, memory: ToolMemory, wire_id: str, raw: Any) -> None:
    state = exchange.state
    method = "session/request_permission"
    if wire_id in state.permissions:
        exchange.fault("bad_message", "A permission request has the id of one that is open.")
        return
    values = mapping(raw)
    asked = mapping(values.get("toolCall")) if values is not None else None
    if values is None or asked is None or not text_in(values, "sessionId"):
        exchange.answer_theirs(wire_id, error={"code": INVALID_PARAMS, "message": "Invalid params"})
        exchange.fault("bad_message", "A permission request has no session or no tool call.")
        _unknown_message(exchange, method, raw, answered=True)
        return
    session = text_in(values, "sessionId")
    if session != state.session and not _is_opening(exchange, session):
        exchange.answer_theirs(wire_id, result={"outcome": {"outcome": "cancelled"}}, purpose="answer")
        _unknown_message(exchange, method, raw, answered=True)
        return
    if state.replay == "after":
        state.replay = "no"
    state.permissions = (*state.permissions, wire_id)
    exchange.is_changed = True
    rule = "acp.permission.request"
    witness(exchange, rule)
    options = tuple(_option(one) for one in dicts_in(values, "options") if text_in(one, "optionId"))
    rejecting = (one.id for one in options if one.kind in (OptionKind.REJECT_ONCE, OptionKind.REJECT_ALWAYS))
    state.rejecting = tuple(dict.fromkeys((*state.rejecting, *rejecting)))[-_REJECTING_KEPT:]
    body = PermissionRequested(wire_id=wire_id, tool_call=memory.complete(_tool_call(asked)), options=options)
    exchange.report(body, rule, session=session)


def _option(values: dict[str, Any]) -> PermissionOption:
    raw_kind = text_in(values, "kind")
    kind = OptionKind(raw_kind) if raw_kind in OptionKind.__members__.values() else OptionKind.OTHER
    key = text_in(values, "optionId")
    return PermissionOption(id=key, name=text_in(values, "name") or key, kind=kind, raw_kind=raw_kind)


def _tool_call(values: dict[str, Any]) -> ToolCall:
    return ToolCall(
        id=text_in(values, "toolCallId"),
        title=text_in(values, "title"),
        kind=text_in(values, "kind"),
        raw_input=values.get("rawInput"),
        content=list_in(values, "content") or None,
        locations=list_in(values, "locations") or None,
    )


def _merged(now: ToolCall, known: ToolCall | None) -> ToolCall:
    if known is None:
        return now
    return ToolCall(
        id=now.id,
        title=now.title or known.title,
        kind=now.kind or known.kind,
        raw_input=now.raw_input or known.raw_input,
        content=now.content or known.content,
        locations=now.locations or known.locations,
    )


def _close_permission(exchange: Exchange, wire_id: str) -> None:
    state = exchange.state
    state.permissions = tuple(one for one in state.permissions if one != wire_id)
    exchange.is_changed = True


def _cancelled_id(raw: Any) -> str | None:
    values = mapping(raw)
    if values is None or "requestId" not in values:
        return None
    return msgspec.json.encode(values["requestId"]).decode()
