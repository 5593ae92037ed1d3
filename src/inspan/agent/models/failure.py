"""How a model's request can fail, told apart by what has to be done about it."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["FailureKind", "ModelFailure"]


class FailureKind(StrEnum):
    """What went wrong.

    `quota`: the account is used up; waiting does not help. `rate`: too many requests for now. `auth`: the credentials
    were refused or are missing. `unknown_model`: the provider does not know the model. `context`: the conversation is
    too long. `content`: refused for its content. `unavailable`: overloaded, or a fault on the provider's side.
    `connection`: it was not reached, or the connection broke. `rejected`: the provider takes no such request.
    `garbage`: the answer makes no sense. `raised`: a provider raised something of its own.
    """

    QUOTA = "quota"
    RATE = "rate"
    AUTH = "auth"
    UNKNOWN_MODEL = "unknown_model"
    CONTEXT = "context"
    CONTENT = "content"
    UNAVAILABLE = "unavailable"
    CONNECTION = "connection"
    REJECTED = "rejected"
    GARBAGE = "garbage"
    RAISED = "raised"

    @property
    def is_transient(self) -> bool:
        """Whether the same request may well succeed a moment later."""
        return self in {FailureKind.RATE, FailureKind.UNAVAILABLE, FailureKind.CONNECTION}


class ModelFailure(Exception):
    """A request to a model failed.

    A provider may raise it, so that its failure is told apart; whatever else it raises counts as `raised`.

    Attributes:
        kind: What went wrong.
        message: For a person: a sentence without secrets, addresses or text of the conversation.
        retry_after_s: How long the provider asks to wait; None if it did not say.
    """

    def __init__(self, kind: FailureKind, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after_s = retry_after_s
