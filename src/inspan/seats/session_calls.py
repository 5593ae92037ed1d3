"""Calls about sessions and questions: each waits, within its deadline, for what the harness says of it."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import msgspec

from inspan.model.conversation import SessionDeleted, SessionsListed
from inspan.model.errors import HarnessError, InspanError, UsageError
from inspan.model.events import Event, LaunchEnded
from inspan.model.ids import new_id
from inspan.model.question import QuestionAction
from inspan.model.session_events import QuestionAnswered
from inspan.model.session_views import (
    AnswerQuestion,
    ConfigureSeat,
    DeletedSession,
    DeleteSession,
    QuestionView,
    SessionsView,
)
from inspan.model.state import OpenQuestion, SeatState
from inspan.model.turn import CallError
from inspan.model.views import SeatView

from . import session_inputs
from .actor import SeatActor
from .inputs import Input
from .sessions import check_not_active

__all__ = ["SessionCalls", "check_session"]

_CALL_TIMEOUT_S = 30.0
_SETTING_WAIT_S = 10.0
"""How long the answer to a setting is waited for before the seat's view is returned as it is."""


class SessionCalls(ABC):
    """The part of the service that asks harnesses about sessions, and answers what they ask."""

    @abstractmethod
    def actor(self, name: str) -> SeatActor:
        """The actor of a seat. Raises `unknown_seat`."""

    @abstractmethod
    def states(self) -> Sequence[SeatState]:
        """The states of all seats that were not removed."""

    @abstractmethod
    async def get_seat(self, name: str) -> SeatView:
        """See `SeatService`."""

    async def configure_seat(self, name: str, request: ConfigureSeat) -> SeatView:
        """See `SeatService`. Waits a while for what the harness says of it."""
        actor = self.actor(name)
        command = session_inputs.ConfigureSession(
            session_mode=request.session_mode,
            model=request.model,
            options=request.options,
            forgets=request.reset,
        )
        await actor.give(command)
        await actor.wait_until(_are_settings_answered, _SETTING_WAIT_S)
        return await self.get_seat(name)

    async def list_sessions(
        self, name: str, *, page: str | None = None, workspace: str | None = None
    ) -> SessionsView:
        """See `SeatService`."""
        request = new_id("r")
        event = await self._call(
            name,
            request,
            session_inputs.ListSessions(request=request, cursor=page, workspace=workspace),
            lambda event: isinstance(event, SessionsListed) and event.request == request,
        )
        if not isinstance(event, SessionsListed):
            raise _ended(name)
        if event.error is not None:
            raise _refused(event.error)
        return SessionsView(seat=name, sessions=event.sessions, next_page=event.cursor, omitted=event.omitted)

    async def delete_session(self, name: str, request: DeleteSession) -> DeletedSession:
        """See `SeatService`."""
        session = request.session
        for state in self.states():
            if state.name != name and state.session is not None and state.session.id == session:
                raise UsageError(
                    f"The session is the conversation of the seat {state.name}, so it is not deleted.",
                    code="session_in_use",
                    hint=f"Remove the seat {state.name} first.",
                    detail={"seat": state.name},
                )
        call = new_id("r")
        event = await self._call(
            name,
            call,
            session_inputs.DeleteSession(request=call, session=session),
            lambda event: isinstance(event, SessionDeleted) and event.request == call,
        )
        if not isinstance(event, SessionDeleted):
            raise _ended(name)
        if event.error is not None:
            raise _refused(event.error)
        return DeletedSession(seat=name, session=session)

    async def list_questions(self, *, seat: str | None = None) -> Sequence[QuestionView]:
        """See `SeatService`."""
        if seat is not None:
            self.actor(seat)
        found = [
            _view(state.name, one)
            for state in self.states()
            if seat in (None, state.name)
            for one in state.questions
        ]
        return sorted(found, key=lambda view: view.opened_at)

    async def get_question(self, request: str) -> QuestionView:
        """See `SeatService`."""
        for view in await self.list_questions():
            if view.id == request:
                return view
        raise UsageError(
            f"There is no open question {request!r}.",
            code="unknown_question",
            hint="`inspan questions` shows the open ones; `inspan watch` tells how others were answered.",
        )

    async def answer_question(self, request: str, answer: AnswerQuestion) -> QuestionView:
        """See `SeatService`."""
        view = await self.get_question(request)
        if answer.seat is not None and answer.seat != view.seat:
            raise UsageError(
                f"The question {request} belongs to the seat {view.seat}, not to {answer.seat}.",
                code="question_of_other_seat",
                hint="`inspan questions` shows the open ones.",
            )
        command = session_inputs.AnswerQuestion(
            request=request,
            action=QuestionAction(answer.action),
            content=answer.fields,
            reason=answer.reason,
        )
        envelopes = await self.actor(view.seat).give(command)
        settled = next(one.event for one in envelopes if isinstance(one.event, QuestionAnswered))
        return msgspec.structs.replace(
            view, action=settled.action, by=settled.by, content=settled.content, reason=settled.reason
        )

    async def _call(
        self, name: str, request: str, command: Input, is_answer: Callable[[Event], bool]
    ) -> Event:
        actor = self.actor(name)
        with actor.expect(lambda event: is_answer(event) or isinstance(event, LaunchEnded)) as answer:
            await actor.give(command)
            try:
                async with asyncio.timeout(_CALL_TIMEOUT_S):
                    return await asyncio.shield(answer)
            except TimeoutError:
                await actor.give(session_inputs.GiveUpCall(request=request))
                raise HarnessError(
                    f"The harness of {name} did not answer within {_CALL_TIMEOUT_S:g} seconds.",
                    code="call_timeout",
                    hint="Ask again once its turn is over; many harnesses answer nothing else meanwhile.",
                ) from None


def check_session(
    states: Sequence[SeatState], state: SeatState, session: str, *, pattern: str, harness_name: str
) -> None:
    """Refuses a session that was chosen for a seat, where that can be seen without asking the harness.

    Raises:
        UsageError: `session_in_use`; `invalid_argument` where the id has not the form of the harness's ids.
    """
    if not session or (pattern and not re.fullmatch(pattern, session)):
        raise UsageError(
            f"{session!r} has not the form that {harness_name} gives its sessions.",
            hint=f"`inspan session list {state.name}` shows those that it keeps.",
        )
    check_not_active(states, state.name, state.harness, session)


def _are_settings_answered(state: SeatState | None) -> bool:
    if state is None or state.live_launch is None:
        return True
    return all(
        one.answer != "none" or one.by == "launch" or _is_shown(state, one.option, one.value)
        for one in state.settings
    )


def _is_shown(state: SeatState, option: str | None, value: str) -> bool:
    if option is None:
        return state.session_mode == value
    shown = state.config_values.get(option)
    return (str(shown).lower() if isinstance(shown, bool) else str(shown)) == value


def _view(seat: str, one: OpenQuestion) -> QuestionView:
    return QuestionView(
        id=one.request,
        seat=seat,
        message=one.message,
        opened_at=one.opened_at,
        fields=one.fields,
        turn=one.turn,
        tool_call=one.tool_call,
        expires_at=one.expires_at,
    )


def _refused(error: CallError) -> InspanError:
    code = error.code if error.code in ("auth_required", "limited", "session_missing") else "call_failed"
    return HarnessError(error.message, code=code, hint=error.hint, detail={"raw_code": error.raw_code})


def _ended(name: str) -> InspanError:
    return HarnessError(
        f"The harness of {name} ended before it answered.",
        code="harness_exited",
        hint=f"`inspan explain {name}` says why; start it again.",
    )
