"""Operations on sessions and questions: what a transport may be able to do beside prompts and permissions."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import msgspec

from inspan.model.question import QuestionAction

from .machine import Step

__all__ = [
    "AnswerQuestion",
    "CloseSession",
    "Configure",
    "DeleteSession",
    "GiveUp",
    "ListSessions",
    "OperatingMachine",
    "Operation",
]


class Configure(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for a mode or an option of the open session; `SettingAnswered` says what came of it.

    Attributes:
        value: What to set, as settings spell it.
        option: The option's id; `None` for the session mode.
        is_boolean: The option is one of yes and no.
    """

    value: str
    option: str | None = None
    is_boolean: bool = False


class ListSessions(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for a page of the harness's sessions; `SessionsListed` says what came of it."""

    request: str
    cursor: str | None = None
    workspace: str | None = None


class DeleteSession(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for a session to be deleted; `SessionDeleted` says what came of it."""

    request: str
    session: str


class CloseSession(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the open session to be closed, where the harness offers that; `SessionClosed` says what came of it."""


class GiveUp(msgspec.Struct, frozen=True, kw_only=True):
    """Tells the harness that nobody waits for the answer to `request` any more; one that comes is passed over."""

    request: str


class AnswerQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Answers a question; one that is unknown or was answered gives an empty step."""

    wire_id: str
    action: QuestionAction
    content: dict[str, Any] = {}


Operation = Configure | ListSessions | DeleteSession | CloseSession | GiveUp | AnswerQuestion


@runtime_checkable
class OperatingMachine(Protocol):
    """A machine that carries out operations. Not every transport has one."""

    def operate(self, operation: Operation) -> Step:
        """Begins an operation; where nothing can come of it, the step is empty."""
        ...
