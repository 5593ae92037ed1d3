"""Evolving a seat's conversation: questions, settings and what the session offers. A part of `evolving`."""

from __future__ import annotations

import msgspec

from .conversation import OptionsOffered, SessionClosed, SettingAnswered
from .events import EventDraft
from .request_evolving import evolve_requests
from .session_events import ConfigRequested, IdentityUnclear, QuestionAnswered, QuestionOpened, SeatForked
from .state import OpenQuestion, SeatState, Setting
from .turn_events import TurnCorrected

__all__ = ["evolve_conversation", "forget_launch"]

_set = msgspec.structs.replace


def evolve_conversation(state: SeatState, draft: EventDraft) -> SeatState:
    """The state after an event of its conversation; `state` itself for any other."""
    event = draft.event
    match event:
        case SeatForked():
            return _set(state, fork_of=event.reference, parent=event.parent, is_guided=True)
        case IdentityUnclear():
            return state if state.session is not None else _set(state, identity=event.identity)
        case TurnCorrected():
            last = state.last_turn
            if last is None or last.turn != event.turn:
                return state
            told = _set(last, outcome=event.outcome, raw_reason=event.raw_reason, error=event.error)
            return _set(state, last_turn=_set(told, was=event.was))
        case QuestionOpened():
            opened = OpenQuestion(
                request=event.request,
                wire_id=event.wire_id,
                turn=draft.turn,
                message=event.message,
                opened_at=draft.at,
                fields=event.fields,
                tool_call=event.tool_call,
                expires_at=event.expires_at,
            )
            return _set(state, questions=(*state.questions, opened))
        case QuestionAnswered():
            rest = tuple(one for one in state.questions if one.request != event.request)
            return state if len(rest) == len(state.questions) else _set(state, questions=rest)
        case ConfigRequested():
            return _want(state, event)
        case SettingAnswered():
            return _note_answer(state, event)
        case OptionsOffered():
            return _set(state, offered_options=event.options)
        case SessionClosed(error=None):
            return _set(state, session_open=False)
        case _:
            return evolve_requests(state, draft)


def forget_launch(settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """The settings for a new launch: what the operator wants is wanted still, and not answered yet."""
    return tuple(
        _set(one, answer="none", error=None) for one in settings if one.by == "operator" and one.error is None
    )


def _want(state: SeatState, event: ConfigRequested) -> SeatState:
    kept = tuple(one for one in state.settings if one.by == "launch") if event.forgets else state.settings
    wanted = [Setting(option=key, value=value) for key, value in event.options.items()]
    if event.session_mode is not None:
        wanted.append(Setting(value=event.session_mode))
    changed = {one.option for one in wanted}
    return _set(state, settings=(*(one for one in kept if one.option not in changed), *wanted))


def _note_answer(state: SeatState, event: SettingAnswered) -> SeatState:
    answer = "accepted" if event.error is None else "refused"
    known = next((one for one in state.settings if one.option == event.option), None)
    if known is not None and known.value == event.value:
        noted = _set(known, answer=answer, error=event.error)
        settings = tuple(noted if one is known else one for one in state.settings)
    elif known is not None and known.by == "operator":
        settings = state.settings  # a later wish is under way
    else:
        noted = Setting(option=event.option, value=event.value, by="launch", answer=answer, error=event.error)
        settings = (*(one for one in state.settings if one is not known), noted)
    state = _set(state, settings=settings)
    if event.error is not None:
        return state
    # What was in force before the call is not known to be in force after it, unless it is what was asked for.
    if event.option is None:
        return state if state.session_mode == event.value else _set(state, session_mode=None)
    if event.option in state.config_values and _written(state.config_values[event.option]) != event.value:
        rest = {key: value for key, value in state.config_values.items() if key != event.option}
        return _set(state, config_values=rest)
    return state


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
