"""Operations on sessions: settings of the open one, lists, deletion, closing, and calls that are given up."""

from __future__ import annotations

import zlib
from typing import Any, assert_never

import msgspec

from inspan.model.content import ConfigUpdated, ModeUpdated
from inspan.model.conversation import (
    OFFERED_OPTIONS_CAP,
    OFFERED_VALUES_CAP,
    SESSIONS_CAP,
    ListedSession,
    OfferedOption,
    OptionsOffered,
    SessionClosed,
    SessionDeleted,
    SessionsListed,
    SettingAnswered,
)
from inspan.model.turn import CallError
from inspan.transports.operations import (
    AnswerQuestion,
    CloseSession,
    Configure,
    DeleteSession,
    GiveUp,
    ListSessions,
    Operation,
)

from . import questions
from .exchange import Exchange
from .failures import call_error
from .loose import dicts_in, integer_in, mapping, text_in
from .state import OpenCall
from .updates import choices_of, config_values, mode_choice
from .wire import encode_message

__all__ = [
    "ask_for_sessions",
    "ask_for_setting",
    "find_listed",
    "is_kept",
    "note_setting",
    "offer_options",
    "on_answer",
    "perform",
]

_CURSOR_CHARACTERS = 4096
_TEXT_CHARACTERS = 1000


class _ListParams(msgspec.Struct, omit_defaults=True):
    cwd: str | None = None
    cursor: str | None = None


def perform(exchange: Exchange, operation: Operation) -> None:
    """Begins an operation; does nothing where nothing can come of it."""
    state = exchange.state
    match operation:
        case AnswerQuestion():
            questions.answer(exchange, operation)
        case Configure():
            if state.phase == "ready":
                ask_for_setting(
                    exchange,
                    option=state.mode_option if operation.option is None else operation.option,
                    value=operation.value,
                    is_boolean=operation.is_boolean,
                )
        case ListSessions():
            call = OpenCall(kind="list", request=operation.request)
            ask_for_sessions(exchange, call, cursor=operation.cursor, workspace=operation.workspace)
        case DeleteSession():
            call = OpenCall(kind="delete", request=operation.request, session=operation.session)
            exchange.call(call, "session/delete", {"sessionId": operation.session}, purpose="session")
        case CloseSession():
            is_open = any(call.kind == "close" for call in state.calls.values())
            if state.phase == "ready" and state.session and "close" in state.offers and not is_open:
                call = OpenCall(kind="close", session=state.session)
                exchange.call(call, "session/close", {"sessionId": state.session}, purpose="session")
        case GiveUp():
            _give_up(exchange, operation.request)
        case _:
            assert_never(operation)


def ask_for_sessions(
    exchange: Exchange, call: OpenCall, *, cursor: str | None = None, workspace: str | None = None
) -> None:
    """Calls for a page of the harness's sessions."""
    params = msgspec.to_builtins(_ListParams(cwd=workspace, cursor=cursor))
    exchange.call(call, "session/list", params, purpose="session")


def ask_for_setting(exchange: Exchange, *, option: str | None, value: str, is_boolean: bool) -> None:
    """Calls for a mode or an option of the session."""
    session = exchange.state.session or ""
    if option is None:
        call = OpenCall(kind="set_mode", session=session, value=value)
        params: dict[str, Any] = {"sessionId": session, "modeId": value}
        exchange.call(call, "session/set_mode", params, purpose="session")
        return
    call = OpenCall(kind="set_config", session=session, option=option, value=value)
    params = {"sessionId": session, "configId": option, "value": value}
    if is_boolean:
        params |= {"type": "boolean", "value": value == "true"}
    exchange.call(call, "session/set_config_option", params, purpose="session")


def note_setting(exchange: Exchange, call: OpenCall, result: Any, error: CallError | None) -> None:
    """Reports what a call for a setting came to, and what it shows of what is in force.

    That the harness accepted the call shows nothing: only its own list of options does, in the answer or in
    an update.
    """
    state = exchange.state
    rule = f"acp.{call.kind}.{'result' if error is None else 'error'}"
    is_mode = call.option is None or call.option == state.mode_option
    if error is None:
        options = dicts_in(mapping(result) or {}, "configOptions")
        shown = None
        if options:
            offer_options(exchange, options, rule)
            exchange.report(ConfigUpdated(values=config_values(options)), rule, session=call.session)
            shown, _ = mode_choice({"configOptions": options})
        if is_mode and call.option is not None and shown is not None:
            state.mode = shown.current
            exchange.report(ModeUpdated(current=shown.current), rule, session=call.session)
        elif is_mode and state.mode != call.value:
            state.mode = None
    body = SettingAnswered(option=None if is_mode else call.option, value=call.value or "", error=error)
    exchange.report(body, rule, session=call.session)


def is_kept(call: OpenCall, result: Any) -> Any:
    """The value that the answer says is in force in spite of the call; `None` where it says nothing like that."""
    values = config_values(dicts_in(mapping(result) or {}, "configOptions"))
    if call.option is None or call.option not in values:
        return None
    value = values[call.option]
    written = str(value).lower() if isinstance(value, bool) else str(value)
    return None if written == call.value else value


def offer_options(exchange: Exchange, options: list[dict[str, Any]], rule: str) -> None:
    """Reports the options that the session offers, unless they are those that were reported last."""
    offered = OptionsOffered(
        options=tuple(_offered(one) for one in options[:OFFERED_OPTIONS_CAP] if text_in(one, "id"))
    )
    mark = zlib.crc32(msgspec.json.encode(offered))
    if exchange.state.offered != mark:
        exchange.state.offered = mark
        exchange.is_changed = True
        exchange.report(offered, rule, session=exchange.state.session)


def on_answer(exchange: Exchange, call: OpenCall, result: Any, error: Any) -> None:
    """Takes the answer to a list, a deletion or a closing; one that nobody waits for is passed over."""
    if call.is_given_up:
        return
    found = None if error is None else call_error(error)
    rule = f"acp.{call.kind}.{'result' if error is None else 'error'}"
    request = call.request or ""
    match call.kind:
        case "list" if found is None:
            exchange.report(_listed(request, mapping(result) or {}), rule)
        case "list":
            exchange.report(SessionsListed(request=request, error=found), rule)
        case "delete":
            body = SessionDeleted(request=request, session=call.session or "", error=found)
            exchange.report(body, rule)
        case "close":
            exchange.report(SessionClosed(error=found), rule, session=call.session)
        case _:
            pass


def find_listed(result: Any, session: str) -> tuple[ListedSession | None, str | None]:
    """The session among those of a page, and the cursor of the next page."""
    values = mapping(result) or {}
    for one in dicts_in(values, "sessions"):
        if text_in(one, "sessionId") == session:
            return _session(one), None
    return None, _cursor(values)


def _give_up(exchange: Exchange, request: str) -> None:
    for key, call in exchange.state.calls.items():
        if call.request == request and not call.is_given_up:
            exchange.state.calls[key] = msgspec.structs.replace(call, is_given_up=True)
            params = {"requestId": msgspec.Raw(key.encode())}
            exchange.write(encode_message(method="$/cancel_request", params=params), purpose="session")
            exchange.is_changed = True
            return


def _listed(request: str, values: dict[str, Any]) -> SessionsListed:
    found = [one for one in dicts_in(values, "sessions") if text_in(one, "sessionId")]
    return SessionsListed(
        request=request,
        sessions=tuple(_session(one) for one in found[:SESSIONS_CAP]),
        cursor=_cursor(values),
        omitted=max(0, len(found) - SESSIONS_CAP),
    )


def _cursor(values: dict[str, Any]) -> str | None:
    cursor = text_in(values, "nextCursor")
    return cursor if 0 < len(cursor) <= _CURSOR_CHARACTERS else None


def _session(values: dict[str, Any]) -> ListedSession:
    return ListedSession(
        id=text_in(values, "sessionId"),
        workspace=text_in(values, "cwd"),
        title=text_in(values, "title")[:_TEXT_CHARACTERS],
        updated_at=text_in(values, "updatedAt")[:_TEXT_CHARACTERS] or _number(values, "updatedAt"),
    )


def _number(values: dict[str, Any], key: str) -> str:
    number = integer_in(values, key)
    return "" if number is None else str(number)


def _offered(values: dict[str, Any]) -> OfferedOption:
    raw_kind = text_in(values, "type")
    choices = choices_of(values)
    return OfferedOption(
        id=text_in(values, "id"),
        name=text_in(values, "name")[:_TEXT_CHARACTERS],
        category=text_in(values, "category"),
        kind="boolean" if raw_kind == "boolean" else "select" if choices or raw_kind == "select" else "other",
        values=choices[:OFFERED_VALUES_CAP],
        omitted=max(0, len(choices) - OFFERED_VALUES_CAP),
    )
