"""What the library raises, as failures in our words. Nothing of its messages is told: they quote bodies and addresses."""

from __future__ import annotations

from pydantic_ai import exceptions

from inspan.agent.models.failure import FailureKind, ModelFailure

__all__ = ["failure_of"]

_KINDS: tuple[tuple[type[Exception], FailureKind, str], ...] = (
    (
        exceptions.ModelQuotaExceededError,
        FailureKind.QUOTA,
        "The account's quota at the provider is used up.",
    ),
    (exceptions.ModelRateLimitError, FailureKind.RATE, "The provider takes no more requests for now."),
    (
        exceptions.ModelContextWindowExceededError,
        FailureKind.CONTEXT,
        "The conversation is too long for the model.",
    ),
    (exceptions.ModelAuthenticationError, FailureKind.AUTH, "The provider did not take the key."),
    (exceptions.ModelNotFoundError, FailureKind.UNKNOWN_MODEL, "The provider does not know the model."),
    (exceptions.ModelOverloadedError, FailureKind.UNAVAILABLE, "The provider is overloaded."),
    (exceptions.ModelUnavailableError, FailureKind.UNAVAILABLE, "The provider is not available now."),
    (exceptions.ModelServerError, FailureKind.UNAVAILABLE, "The provider had a fault of its own."),
    (exceptions.ModelRequestTimeout, FailureKind.CONNECTION, "The provider did not begin to answer in time."),
    (exceptions.ModelTimeoutError, FailureKind.CONNECTION, "The provider did not answer in time."),
    (
        exceptions.ModelConnectionError,
        FailureKind.CONNECTION,
        "The provider was not reached, or the connection broke.",
    ),
    (exceptions.ModelRequestRejectedError, FailureKind.REJECTED, "The provider refused the request"),
    (exceptions.ContentFilterError, FailureKind.CONTENT, "The provider refused the answer for its content."),
    (exceptions.UnexpectedModelBehavior, FailureKind.GARBAGE, "The provider's answer made no sense."),
)


def failure_of(error: Exception) -> ModelFailure:
    """The failure that an exception means; one that is not known is told by its class."""
    for kind, means, message in _KINDS:
        if isinstance(error, kind):
            return ModelFailure(
                means,
                _with_status(error, message) if message[-1] != "." else message,
                retry_after_s=getattr(error, "retry_after", None),
            )
    if isinstance(error, exceptions.ModelHTTPError):
        is_theirs = error.status_code >= 500
        return ModelFailure(
            FailureKind.UNAVAILABLE if is_theirs else FailureKind.REJECTED,
            _with_status(error, "The provider refused the request"),
        )
    return ModelFailure(FailureKind.RAISED, f"The model library failed with {type(error).__name__}.")


def _with_status(error: Exception, message: str) -> str:
    status = getattr(error, "status_code", None)
    return f"{message} with status {status}." if isinstance(status, int) else f"{message}."
