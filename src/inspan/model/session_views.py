"""Views and requests of a seat's session beyond its turns: forks, settings, lists of sessions, questions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from .conversation import ListedSession
from .permission import AnsweredBy
from .question import QuestionAction, QuestionField
from .turn import CallError

__all__ = [
    "AnswerQuestion",
    "ConfigureSeat",
    "DeleteSession",
    "DeletedSession",
    "ForkSeat",
    "QuestionView",
    "SessionsView",
    "SettingView",
]


class ForkSeat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks for a new seat of this name that begins with a fork of the other seat's conversation."""

    name: str


class ConfigureSeat(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Asks for settings of the open session.

    Attributes:
        session_mode: The session mode to be in.
        model: The model, set by the session option that stands for it.
        options: Values by the option's id; those of yes and no are `true` and `false`.
        reset: Forget what was asked for before: the next launch leaves it to the harness.
    """

    session_mode: str | None = None
    model: str | None = None
    options: dict[str, str] = {}
    reset: bool = False


class SettingView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mode or an option that was asked for, beside what the harness says is in force.

    Attributes:
        name: The option's id, or `session mode`.
        wanted: What was asked for: configured, not observed.
        effective: What the harness says is in force; `None` where it does not say.
        status: `requested`, `accepted` (the call, which shows nothing), `refused`, `effective` (the harness shows
            it in force) or `differs` (it shows another value in force).
        by: `operator`, or `launch` for what the seat's posture and model called for.
        option: The option's id; `None` for the session mode.
        error: Why it was refused.
    """

    name: str
    wanted: str
    status: Literal["requested", "accepted", "refused", "effective", "differs"]
    by: Literal["operator", "launch"] = "operator"
    effective: str | None = None
    option: str | None = None
    error: CallError | None = None


class SessionsView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the sessions that a seat's harness keeps.

    Attributes:
        seat: The seat.
        sessions: The sessions, in the harness's order.
        next_page: Asks for the next page; `None` at the end.
        omitted: How many sessions of this page were left out.
    """

    seat: str
    sessions: tuple[ListedSession, ...]
    next_page: str | None = None
    omitted: int = 0


class DeleteSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks for a session to be deleted by the harness that keeps it."""

    session: str


class DeletedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that its harness deleted."""

    seat: str
    session: str


class QuestionView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question of a harness, open while `action` is `None`."""

    id: str
    seat: str
    message: str
    opened_at: datetime
    fields: tuple[QuestionField, ...] = ()
    turn: str | None = None
    tool_call: str = ""
    expires_at: datetime | None = None
    action: QuestionAction | None = None
    by: AnsweredBy | None = None
    content: dict[str, Any] = {}
    reason: str = ""


class AnswerQuestion(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Answers a question.

    Attributes:
        action: `accept` fills the form in, `decline` refuses to.
        fields: Values by the field's name; a text stands for any type.
        seat: The seat that the question is believed to belong to; another one is refused.
        reason: Why, for the audit record.
    """

    action: Literal["accept", "decline"]
    fields: dict[str, Any] = {}
    seat: str | None = None
    reason: str = ""
