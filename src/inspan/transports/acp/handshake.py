"""From the first byte to an open session with its posture applied: what is called next, and what answers mean."""

from __future__ import annotations

import posixpath
from typing import Any

from inspan import __version__
from inspan.model.content import ConfigUpdated
from inspan.model.reports import AuthMethod, Connected, ConnectFailed, SessionFailed, SessionReady
from inspan.model.session import OpenedHow, ResumeOutcome
from inspan.model.turn import CallError

from .exchange import Exchange
from .failures import call_error, fault_error, open_failure
from .loose import dicts_in, integer_in, mapping, mapping_in, text_in
from .operations import ask_for_sessions, ask_for_setting, find_listed, is_kept, note_setting, offer_options
from .operations import on_answer as on_operation_answer
from .state import CallKind, OpenCall, SetupStep
from .updates import config_values, mode_choice

__all__ = ["begin", "on_answer"]

_HOW = {
    "new": OpenedHow.NEW,
    "load": OpenedHow.LOADED,
    "resume": OpenedHow.RESUMED,
    "fork": OpenedHow.FORKED,
}

_LOOK_UP_PAGES = 100
"""How many pages of sessions are looked through for one."""


def begin(exchange: Exchange) -> None:
    """Calls `initialize`; the rest follows from the answers."""
    capabilities: dict[str, Any] = {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        "session": {"configOptions": {"boolean": {}}},
    }
    if exchange.settings.answers_questions:
        capabilities["elicitation"] = {"form": {}}
    params = {
        "protocolVersion": exchange.settings.acp.protocol_version,
        "clientCapabilities": capabilities,
        "clientInfo": {"name": "inspan", "title": "Inspan", "version": __version__},
    }
    exchange.call(OpenCall(kind="initialize"), "initialize", params, purpose="handshake")


def on_answer(exchange: Exchange, call: OpenCall, result: Any, error: Any) -> None:
    """Takes the answer to any call of the handshake. `error` is `None` where the call succeeded."""
    match call.kind:
        case "initialize":
            _on_initialize(exchange, result, error)
        case "authenticate":
            _on_authenticate(exchange, error)
        case "new" | "load" | "resume" | "fork":
            _on_opened(exchange, call, result, error)
        case "set_mode" | "set_config":
            _on_set(exchange, call, result, error)
        case "look_up":
            _on_looked_up(exchange, call, result)
        case "list" | "delete" | "close":
            on_operation_answer(exchange, call, result, error)
        case "prompt" | "other":
            pass


def _on_initialize(exchange: Exchange, result: Any, error: Any) -> None:
    rule = "acp.initialize.result"
    if error is not None:
        exchange.state.phase = "failed"
        exchange.report(ConnectFailed(error=call_error(error)), "acp.initialize.error")
        return
    values = mapping(result) or {}
    version = integer_in(values, "protocolVersion")
    wanted = exchange.settings.acp.protocol_version
    if version is None or version != wanted:
        exchange.state.phase = "failed"
        exchange.report(ConnectFailed(error=_version_error(version, wanted, result)), rule)
        return
    info = mapping_in(values, "agentInfo")
    exchange.state.phase = "connected"
    exchange.state.offers = _offers(mapping_in(values, "agentCapabilities"))
    methods = tuple(
        AuthMethod(id=key, name=text_in(one, "name"), description=text_in(one, "description"))
        for one in dicts_in(values, "authMethods")
        if (key := text_in(one, "id"))
    )
    connected = Connected(
        protocol_version=version,
        harness_name=text_in(info, "name"),
        harness_version=text_in(info, "version"),
        offers=exchange.state.offers,
        auth_methods=methods,
    )
    exchange.report(connected, rule)
    if exchange.settings.auth_method is None:
        _open_session(exchange)
    else:
        params = {"methodId": exchange.settings.auth_method}
        exchange.call(OpenCall(kind="authenticate"), "authenticate", params, purpose="handshake")


def _version_error(version: int | None, wanted: int, result: Any) -> CallError:
    if version is None:
        return fault_error("The harness answered the handshake without a protocol version.", result)
    return CallError(
        code="protocol_version",
        message=f"The harness speaks version {version} of its protocol, not {wanted}.",
        hint="Use a version of the harness that its manifest names as tested.",
        raw={"protocolVersion": version},
    )


def _offers(capabilities: dict[str, Any]) -> tuple[str, ...]:
    found = ["load"] if capabilities.get("loadSession") is True else []
    for group, prefix in (
        ("sessionCapabilities", ""),
        ("promptCapabilities", "prompt_"),
        ("mcpCapabilities", "mcp_"),
        ("auth", "auth_"),
    ):
        for name, value in mapping_in(capabilities, group).items():
            if not name.startswith("_") and value is not None and value is not False:
                found.append(prefix + _snake(name))
    return tuple(dict.fromkeys(found))


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _on_authenticate(exchange: Exchange, error: Any) -> None:
    if error is None:
        _open_session(exchange)
        return
    found = call_error(error, default="auth_required")
    _fail(exchange, ResumeOutcome.FAILED, found, "acp.authenticate.error")


def _open_session(exchange: Exchange) -> None:
    settings = exchange.settings
    place: dict[str, Any] = {"cwd": settings.workspace, "mcpServers": []}
    if settings.attempt == "fresh":
        exchange.call(OpenCall(kind="new"), "session/new", place, purpose="session")
        return
    if settings.session_id is None:
        error = CallError(code="session_missing", message="No session was named to go on with.")
        _fail(exchange, ResumeOutcome.MISSING, error, "acp.session.unnamed")
        return
    if settings.listed_in and settings.attempt == "resume" and "list" in exchange.state.offers:
        call = OpenCall(kind="look_up", session=settings.session_id)
        ask_for_sessions(exchange, call)
        return
    _reopen_session(exchange, settings.session_id)


def _on_looked_up(exchange: Exchange, call: OpenCall, result: Any) -> None:
    """Takes a page of the harness's sessions: one that belongs to another folder is never opened in this one.

    A session that is not listed may be there all the same, so that only the harness can say that it is missing.
    """
    session, folders = call.session or "", exchange.settings.listed_in
    found, cursor = find_listed(result, session)
    if found is not None and found.workspace and posixpath.normpath(found.workspace) not in folders:
        error = CallError(
            code="session_of_other_workspace",
            message=f"The session belongs to the workspace {found.workspace}, not to {folders[0]}.",
            hint="Make a seat for that workspace, or name another session.",
        )
        _fail(exchange, ResumeOutcome.REFUSED, error, "acp.session.other_workspace")
    elif found is None and cursor is not None and call.pages < _LOOK_UP_PAGES:
        following = OpenCall(kind="look_up", session=session, pages=call.pages + 1)
        ask_for_sessions(exchange, following, cursor=cursor)
    else:
        _reopen_session(exchange, session)


def _reopen_session(exchange: Exchange, session: str) -> None:
    settings, offers = exchange.settings, exchange.state.offers
    wanted: tuple[CallKind, ...] = ("fork",) if settings.attempt == "fork" else settings.acp.resume_methods
    for kind in wanted:
        if kind in offers:
            loads_first = kind == "fork" and settings.acp.fork_loads_first and "load" in offers
            _call_for_session(exchange, "load" if loads_first else kind, session)
            return
    error = CallError(
        code="unsupported_capability",
        message=f"The harness does not offer to {' or '.join(wanted) or settings.attempt} a session.",
        hint="Start the seat fresh.",
    )
    _fail(exchange, ResumeOutcome.REFUSED, error, "acp.session.not_offered")


def _call_for_session(exchange: Exchange, kind: CallKind, session: str) -> None:
    params: dict[str, Any] = {"sessionId": session, "cwd": exchange.settings.workspace, "mcpServers": []}
    exchange.call(OpenCall(kind=kind, session=session), f"session/{kind}", params, purpose="session")


def _on_opened(exchange: Exchange, call: OpenCall, result: Any, error: Any) -> None:
    state = exchange.state
    state.replay = "no"
    if error is not None:
        outcome, found = open_failure(error, is_reopening=call.kind != "new")
        _fail(exchange, outcome, found, f"acp.{call.kind}.error")
        return
    if exchange.settings.attempt == "fork" and call.kind == "load" and call.session is not None:
        _call_for_session(exchange, "fork", call.session)
        return
    values = mapping(result) or {}
    session = text_in(values, "sessionId") or (call.session if call.kind != "fork" else None)
    if session is None:
        found = fault_error("The harness opened a session without an id.", result)
        _fail(exchange, ResumeOutcome.FAILED, found, f"acp.{call.kind}.result")
        return
    if call.kind == "fork" and session == call.session:
        found = fault_error(
            "The harness answered the fork with the conversation that was to be forked.", result
        )
        _fail(exchange, ResumeOutcome.FAILED, found, f"acp.{call.kind}.result")
        return
    state.session, state.phase, state.how = session, "setting_up", _HOW[call.kind].value
    if call.kind == "fork" and exchange.settings.acp.fork_loads_first and "close" in state.offers:
        # What was loaded to be forked is open here, where nobody wants it, and perhaps nowhere else as long.
        params = {"sessionId": call.session}
        exchange.call(
            OpenCall(kind="other", session=call.session), "session/close", params, purpose="session"
        )
    if call.kind == "load" and exchange.settings.acp.replay_after_answer and not state.has_ended_replay:
        state.replay = "after"
    rule = f"acp.{call.kind}.result"
    mode, state.mode_option = mode_choice(values)
    state.mode = mode.current if mode else None
    if mode:
        exchange.report(mode, rule, session=session)
    options = dicts_in(values, "configOptions")
    if options:
        offer_options(exchange, options, rule)
        exchange.report(ConfigUpdated(values=config_values(options)), rule, session=session)
    wanted = exchange.settings.session_mode
    if wanted is not None and mode and mode.available and wanted not in mode.available:
        found = CallError(
            code="posture_unsupported",
            message=f"The session has no mode {wanted}.",
            hint="Choose another posture.",
            raw={"available": list(mode.available)},
        )
        _fail(exchange, ResumeOutcome.FAILED, found, rule)
        return
    state.setup = _setup(exchange, options)
    _go_on(exchange, rule)


def _setup(exchange: Exchange, options: list[dict[str, Any]]) -> tuple[SetupStep, ...]:
    settings, state = exchange.settings, exchange.state
    steps: list[SetupStep] = []
    if settings.session_mode is not None and settings.session_mode != state.mode:
        steps.append(SetupStep(option=state.mode_option, value=settings.session_mode))
    known = {text_in(one, "id"): one for one in options}
    for key, value in settings.config_options.items():
        option = known.get(key, {})
        if key not in known or _written(option.get("currentValue")) != value:
            steps.append(SetupStep(option=key, value=value, is_boolean=option.get("type") == "boolean"))
    return tuple(steps)


def _written(value: object) -> str:
    """The value as settings spell it: options of yes and no are `true` and `false` there."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _go_on(exchange: Exchange, rule: str) -> None:
    state, settings = exchange.state, exchange.settings
    session = state.session
    if state.phase != "setting_up" or session is None:
        return
    if state.setup:
        step, *rest = state.setup
        state.setup = tuple(rest)
        ask_for_setting(exchange, option=step.option, value=step.value, is_boolean=step.is_boolean)
        return
    if settings.session_mode is not None and state.mode not in (None, settings.session_mode):
        error = CallError(
            code="posture_unsupported",
            message=f"The session went from mode {settings.session_mode} to {state.mode} by itself.",
            hint="Choose another posture.",
        )
        _fail(exchange, ResumeOutcome.FAILED, error, rule)
        return
    state.phase = "ready"
    exchange.report(SessionReady(session_id=session, how=OpenedHow(state.how)), rule, session=session)


def _on_set(exchange: Exchange, call: OpenCall, result: Any, error: Any) -> None:
    rule = f"acp.{call.kind}.result"
    found = None if error is None else call_error(error, default="session_failed")
    note_setting(exchange, call, result, found)
    if found is not None:
        _refuse_setup(exchange, found, f"acp.{call.kind}.error")
        return
    kept = is_kept(call, result)
    if kept is not None:
        message = f"The harness keeps {kept} for the session option {call.option}."
        _refuse_setup(exchange, CallError(code="posture_unsupported", message=message), rule)
        return
    _go_on(exchange, rule)


def _refuse_setup(exchange: Exchange, error: CallError, rule: str) -> None:
    # A posture that cannot be applied is never weakened: the session is of no use.
    if exchange.state.phase == "setting_up":
        _fail(exchange, ResumeOutcome.FAILED, error, rule)


def _fail(exchange: Exchange, outcome: ResumeOutcome, error: CallError, rule: str) -> None:
    state = exchange.state
    state.setup = ()
    if state.phase != "ready":
        state.phase = "failed"
    exchange.report(SessionFailed(outcome=outcome, error=error), rule, session=state.session)
