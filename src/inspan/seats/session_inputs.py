"""What a seat's decider takes of its conversation beyond its turns: settings, sessions, questions."""

from __future__ import annotations

from typing import Any

import msgspec

from inspan.model.question import QuestionAction

__all__ = [
    "AnswerQuestion",
    "ConfigureSession",
    "DeleteSession",
    "GiveUpCall",
    "ListSessions",
    "SessionCommand",
]


class ConfigureSession(msgspec.Struct, frozen=True, kw_only=True):
    """Wants a mode, a model or options for the open session; `forgets` drops what was wanted before."""

    session_mode: str | None = None
    model: str | None = None
    options: dict[str, str] = {}
    forgets: bool = False


class ListSessions(msgspec.Struct, frozen=True, kw_only=True):
    """Asks the harness for a page of its sessions."""

    request: str
    cursor: str | None = None
    workspace: str | None = None


class DeleteSession(msgspec.Struct, frozen=True, kw_only=True):
    """Has the harness delete a session."""

    request: str
    session: str


class GiveUpCall(msgspec.Struct, frozen=True, kw_only=True):
    """Nobody waits for the answer to a request about sessions any more."""

    request: str


class AnswerQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Answers an open question."""

    request: str
    action: QuestionAction
    content: dict[str, Any] = {}
    reason: str = ""


SessionCommand = ConfigureSession | ListSessions | DeleteSession | GiveUpCall
