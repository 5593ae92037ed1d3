"""From the first byte to an open session: what is said next, and what answers mean."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from inspan.model.content import ConfigUpdated
from inspan.model.evidence import Source
from inspan.model.reports import Connected, ConnectFailed, SessionFailed, SessionReady
from inspan.model.session import OpenedHow, ResumeOutcome
from inspan.model.stream import CallRule
from inspan.model.turn import CallError
from inspan.transports.machine import HarnessEnd
from inspan.transports.records.ending import last_words
from inspan.transports.records.paths import Place

from .state import OpenCall
from .talk import Talk

__all__ = ["fail_by_exit", "fail_opening", "go_on", "on_step_answer", "steps_of"]

_HOW = {"fresh": OpenedHow.NEW, "resume": OpenedHow.RESUMED, "fork": OpenedHow.FORKED}
_AUTHOR = "Report it to the harness's author."


def steps_of(talk: Talk) -> tuple[CallRule, ...]:
    """Everything that is said before the session is open, in order."""
    rules = talk.rules
    match talk.settings.attempt:
        case "fresh":
            return (*rules.handshake, *rules.fresh)
        case "resume":
            return (*rules.handshake, *rules.resume)
        case "fork":
            return (*rules.handshake, *rules.fork)


def go_on(talk: Talk) -> None:
    """Says what comes next, if no answer is waited for; does nothing once the session is open."""
    state, handshake, steps = talk.state, len(talk.rules.handshake), steps_of(talk)
    while state.phase in ("begun", "connected"):
        if any(call.kind == "step" for call in state.open_calls.values()):
            return
        if state.phase == "begun" and state.step >= handshake:
            state.phase = "connected"
            talk.is_changed = True
            talk.report(Connected(protocol_version=0), "connected")
        if state.step >= len(steps):
            _open(talk)
            return
        rule = steps[state.step]
        state.step += 1
        talk.call(rule, OpenCall(kind="step"), "handshake" if state.step <= handshake else "session")


def on_step_answer(talk: Talk, place: Place, error: CallError | None) -> None:
    """Takes the answer to the step that was said last; `error` is `None` where it succeeded."""
    state = talk.state
    steps = steps_of(talk)
    if not 0 < state.step <= len(steps):
        return
    rule = steps[state.step - 1]
    if error is not None:
        fail_opening(talk, error, "answer")
        return
    if rule.session:
        talk.name_session(place.text(rule.session), "session")
    values = {name: place.find(path) for name, path in rule.effective.items()}
    values = {name: value for name, value in values.items() if value is not None}
    if values:
        talk.report(ConfigUpdated(values=values), "effective")
    for name, wanted in talk.settings.config_options.items():
        if name in values and _plain(values[name]) != _plain(wanted):
            # A posture that is not in force is never weakened: the session is of no use.
            message = f"The harness keeps {values[name]} for {name}, where {wanted} was asked for."
            fail_opening(talk, CallError(code="posture_unsupported", message=message), "effective")
            return


def fail_opening(talk: Talk, error: CallError, rule: str, *, source: Source = Source.PROTOCOL) -> None:
    """Says that the launch is of no use, unless its session is open or that was said."""
    state = talk.state
    if state.phase not in ("begun", "connected"):
        return
    is_connecting = state.phase == "begun"
    state.phase = "failed"
    talk.is_changed = True
    if is_connecting and talk.settings.attempt == "fresh":
        talk.report(ConnectFailed(error=error), rule)
        return
    if error.code == "call_failed":
        error = msgspec.structs.replace(error, code="session_failed")
    talk.report(SessionFailed(outcome=ResumeOutcome.FAILED, error=error), rule, source=source)


def fail_by_exit(talk: Talk, end: HarnessEnd) -> None:
    """Says that a session is not gone on with since the process ended first, and with which words it did."""
    said = last_words(end.stderr_tail)
    if talk.settings.attempt == "fresh" or end.exit_code is None or not said:
        return
    message = f"The harness exited with status {end.exit_code}: {said}"
    fail_opening(talk, CallError(code="harness_exited", message=message), "exit", source=Source.PROCESS)


def _open(talk: Talk) -> None:
    """Says that the session is open; where nobody named it yet, that is waited for."""
    state, settings = talk.state, talk.settings
    is_chosen = settings.attempt == "fresh" and settings.stream.chooses_session
    session = state.named or (settings.session_id if is_chosen or settings.attempt == "resume" else "") or ""
    if not session:
        return
    if settings.attempt == "resume" and session != settings.session_id:
        message = "The harness answers under another session id than the one to resume."
        fail_opening(talk, CallError(code="protocol_fault", message=message, hint=_AUTHOR), "session")
    elif settings.attempt == "fork" and session == settings.session_id:
        message = "The harness answered the fork with the conversation that was to be forked."
        fail_opening(talk, CallError(code="protocol_fault", message=message, hint=_AUTHOR), "session")
    else:
        state.phase, state.session = "ready", session
        talk.is_changed = True
        talk.report(SessionReady(session_id=session, how=_HOW[settings.attempt]), "session")


def _plain(value: Any) -> str:
    """A value without its spelling: the same word is written `a-b` here and `aB` there."""
    return re.sub(r"[^a-z0-9]", "", str(value).casefold())
