"""Events of a seat's conversation beyond its turns: forks, settings, questions, and calls about sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from .permission import AnsweredBy
from .question import QuestionAction, QuestionField
from .session import IdentityState, SessionReference

__all__ = [
    "ConfigRequested",
    "IdentityUnclear",
    "QuestionAnswered",
    "QuestionOpened",
    "SeatForked",
    "SessionCallGivenUp",
    "SessionDeleteRequested",
    "SessionsRequested",
]


class SeatForked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="seat_forked"):
    """The seat is to begin with a fork of another seat's conversation, which stays that seat's own.

    Attributes:
        parent: The other seat.
        reference: Its conversation at that time.
    """

    parent: str
    reference: SessionReference


class ConfigRequested(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="config_requested"):
    """The operator wants a mode or options for the conversation: configured, not observed.

    Attributes:
        session_mode: The session mode; `None` leaves it.
        options: Values by the option's id, as settings spell them.
        forgets: What was wanted before is wanted no more.
    """

    session_mode: str | None = None
    options: dict[str, str] = {}
    forgets: bool = False


class IdentityUnclear(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="identity_unclear"):
    """The session that a launch made was looked for, and not found for certain; nothing is guessed.

    Attributes:
        launch: The launch.
        identity: `not_yet`: none was found; `ambiguous`: several were.
        why: One sentence.
    """

    launch: str
    identity: IdentityState
    why: str = ""


class SessionsRequested(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="sessions_requested"
):
    """The harness is to list its sessions; `SessionsListed` answers the same `request`.

    Attributes:
        request: The request.
        cursor: The page, as the answer before it named it; `None` for the first.
        workspace: Only sessions of this folder, where the harness heeds that.
    """

    request: str
    cursor: str | None = None
    workspace: str | None = None


class SessionDeleteRequested(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_delete_requested"
):
    """The harness is to delete a session; `SessionDeleted` answers the same `request`."""

    request: str
    session: str


class SessionCallGivenUp(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_call_given_up"
):
    """Nobody waits for the answer to a request about sessions any more; the harness is told so."""

    request: str


class QuestionOpened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="question_opened"):
    """The harness wants a form filled in.

    Attributes:
        request: The question's id.
        wire_id: Its id on the wire.
        message: What is asked, for a person.
        fields: The form.
        tool_call: The id of the tool call that it belongs to, if it does.
        expires_at: When it is declined by itself.
    """

    request: str
    wire_id: str
    message: str
    fields: tuple[QuestionField, ...] = ()
    tool_call: str = ""
    expires_at: datetime | None = None


class QuestionAnswered(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="question_answered"
):
    """A question was settled: the audit record.

    Attributes:
        request: The question.
        wire_id: Its id on the wire.
        action: What was answered.
        by: Who answered.
        content: The values of the fields, for `accept`.
        reason: Why, in words.
    """

    request: str
    wire_id: str
    action: QuestionAction
    by: AnsweredBy
    content: dict[str, Any] = {}
    reason: str = ""
