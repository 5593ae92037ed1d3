"""Questions: forms that a harness wants filled in, and who answers them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from inspan.model.errors import UsageError
from inspan.model.evidence import Source
from inspan.model.permission import AnsweredBy
from inspan.model.posture import Unattended
from inspan.model.question import QuestionAction, fill_in
from inspan.model.reports import QuestionAsked, Reported
from inspan.model.session_events import QuestionAnswered, QuestionOpened
from inspan.model.state import OpenQuestion

from .decision import Decision
from .session_inputs import AnswerQuestion

__all__ = [
    "answer_question",
    "close_questions",
    "expire_questions",
    "open_question",
    "withdraw_question",
]

_SOURCES = {
    AnsweredBy.OPERATOR: Source.OPERATOR,
    AnsweredBy.POSTURE: Source.POLICY,
    AnsweredBy.EXPIRY: Source.POLICY,
    AnsweredBy.POLICY: Source.POLICY,
    AnsweredBy.CANCEL: Source.OPERATOR,
    AnsweredBy.LAUNCH_END: Source.PROCESS,
    AnsweredBy.HARNESS: Source.PROTOCOL,
}


def open_question(decision: Decision, reported: Reported, body: QuestionAsked) -> None:
    """Records that the harness asks, and answers at once where posture or a pending cancel decide it.

    No posture knows what a person would say, so that one which leaves nothing to a person declines.
    """
    seat = decision.seat
    timeout_s = seat.posture.permission_timeout_s
    request = decision.context.new_id("q")
    decision.emit(
        QuestionOpened(
            request=request,
            wire_id=body.wire_id,
            message=body.message,
            fields=body.fields,
            tool_call=body.tool_call,
            expires_at=None if timeout_s is None else decision.context.now + timedelta(seconds=timeout_s),
        ),
        source=reported.source,
        rule=reported.rule,
        session=reported.session,
    )
    opened = _find(decision, request)
    if opened is None:
        return
    if seat.in_flight is not None and seat.in_flight.cancel_requested:
        _settle(decision, opened, QuestionAction.CANCEL, AnsweredBy.CANCEL, "a cancel is pending")
    elif seat.posture.unattended is not Unattended.PERSON:
        reason = "posture: nobody is there to fill in a form"
        _settle(decision, opened, QuestionAction.DECLINE, AnsweredBy.POSTURE, reason)


def answer_question(decision: Decision, command: AnswerQuestion) -> None:
    """Answers an open question as its operator said, once.

    Raises:
        UsageError: `question_closed`, `answer_invalid`.
    """
    opened = _find(decision, command.request)
    if opened is None:
        raise UsageError(
            f"The question {command.request} is not open any more.",
            code="question_closed",
            hint="`inspan questions` shows the open ones.",
            retry_safe=False,
            detail={"request": command.request},
        )
    content: dict[str, Any] = {}
    if command.action is QuestionAction.ACCEPT:
        content = fill_in(opened.fields, command.content)
    _settle(decision, opened, command.action, AnsweredBy.OPERATOR, command.reason, content)


def expire_questions(decision: Decision) -> None:
    """Declines every open question whose time is over: a harness never waits for a person who is not there."""
    for opened in decision.seat.questions:
        if opened.expires_at is not None and opened.expires_at <= decision.context.now:
            reason = "nobody answered in time"
            _settle(decision, opened, QuestionAction.DECLINE, AnsweredBy.EXPIRY, reason)


def close_questions(decision: Decision, by: AnsweredBy, reason: str, *, turn: str | None = None) -> None:
    """Cancels open questions: all of them, or those of one turn."""
    for opened in decision.seat.questions:
        if turn is None or opened.turn == turn:
            _settle(decision, opened, QuestionAction.CANCEL, by, reason)


def withdraw_question(decision: Decision, wire_id: str) -> None:
    """Settles a question that the harness itself no longer wants answered."""
    for opened in decision.seat.questions:
        if opened.wire_id == wire_id:
            reason = "the harness withdrew it"
            _settle(decision, opened, QuestionAction.CANCEL, AnsweredBy.HARNESS, reason)


def _settle(
    decision: Decision,
    opened: OpenQuestion,
    action: QuestionAction,
    by: AnsweredBy,
    reason: str,
    content: dict[str, Any] | None = None,
) -> None:
    decision.emit(
        QuestionAnswered(
            request=opened.request,
            wire_id=opened.wire_id,
            action=action,
            by=by,
            content=content or {},
            reason=reason,
        ),
        source=_SOURCES[by],
        rule=f"question.{by}",
    )


def _find(decision: Decision, request: str) -> OpenQuestion | None:
    return next((one for one in decision.seat.questions if one.request == request), None)
