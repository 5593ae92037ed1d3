"""The one place where errors become HTTP answers: `{"error": {…}}` with a status by code and group."""

from __future__ import annotations

import logging
from enum import Enum
from typing import Any, cast

from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from inspan.model.errors import HostError, InspanError, UsageError, error_to_wire

__all__ = ["BODY_CAP_BYTES", "EXCEPTION_HANDLERS", "failure_of", "status_of"]

_LOG = logging.getLogger(__name__)

BODY_CAP_BYTES = 64 * 1024 * 1024
"""The largest body that a request may have."""

_SPELLINGS = {"all_": "all", "last_event_id": "Last-Event-ID"}
"""Parameters whose name on the wire is not the handler's."""

_CODES = {
    "invalid_argument": 400,
    "workspace_missing": 400,
    "workspace_not_a_folder": 400,
    "posture_unsupported": 400,
    "option_unknown": 400,
    "answer_invalid": 400,
    "prompt_too_large": 413,
    "body_too_large": 413,
    "unauthorized": 401,
    "manifest_conflict": 422,
    "unsupported_capability": 422,
    "plugin_timeout": 504,
    "handshake_timeout": 504,
    "call_timeout": 504,
    "holder_timeout": 504,
    "store_full": 507,
    "internal": 500,
}
_GROUPS = {"usage": 409, "manifest": 422, "plugin": 502, "harness": 502, "store": 503, "host": 503}


def status_of(error: InspanError) -> int:
    """The HTTP status: by code where one says more, else by who must act. `unknown_…` is always 404."""
    if error.code.startswith("unknown_"):
        return 404
    return _CODES.get(error.code) or _GROUPS.get(error.group, 500)


def failure_of(error: InspanError, *, status: int | None = None) -> Response[dict[str, Any]]:
    """The answer that carries `error`."""
    return Response({"error": error_to_wire(error)}, status_code=status or status_of(error))


def _answer_known(request: Request[Any, Any, Any], error: InspanError) -> Response[dict[str, Any]]:
    return failure_of(error)


def _answer_refused(request: Request[Any, Any, Any], error: HTTPException) -> Response[dict[str, Any]]:
    where = f"{request.method} {request.url.path}"
    match error.status_code:
        case 404:
            fact, hint = f"There is no {where}.", "GET /v1/openapi.json lists what there is."
        case 405:
            fact, hint = f"There is no {where}.", "The path exists, with another method."
        case _ if isinstance(error, RequestEntityTooLarge):
            return failure_of(_too_large(request))
        case _:
            return failure_of(_invalid(error), status=error.status_code)
    return failure_of(UsageError(fact, hint=hint), status=error.status_code)


def _answer_unexpected(request: Request[Any, Any, Any], error: Exception) -> Response[dict[str, Any]]:
    _LOG.error("a request failed: %s %s", request.method, _route_of(request), exc_info=error)
    return Response({"error": error_to_wire(error)}, status_code=500)


def _too_large(request: Request[Any, Any, Any]) -> InspanError:
    limit = request.route_handler.resolve_request_max_body_size() or BODY_CAP_BYTES
    is_small = limit < BODY_CAP_BYTES
    return UsageError(
        f"The request's body is larger than {limit} bytes.",
        code="body_too_large",
        hint="Send it in several requests."
        if is_small
        else "Put the text into a file of the workspace, and name the file in the prompt.",
        detail={"limit_bytes": limit},
    )


def _invalid(error: HTTPException) -> InspanError:
    faults = [_fault(item) for item in error.extra] if isinstance(error.extra, list) else []
    if not faults:
        return UsageError(f"The request cannot be read: {error.detail}.", hint="Send one JSON object.")
    key, message, source = faults[0]
    place = f"{source} {key}".strip()
    return UsageError(
        f"The request's {place} is wrong: {message}.",
        hint="See docs/http-api.md for the fields and their types.",
        detail={
            "problems": [
                {"key_path": key, "message": message, "in": source} for key, message, source in faults
            ]
        },
    )


def _fault(item: object) -> tuple[str, str, str]:
    fault = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    key, source = str(fault.get("key", "")), fault.get("source", "request")
    place = str(source.value if isinstance(source, Enum) else source)
    message = str(fault.get("message", "cannot be read"))
    if place != "body":
        return _SPELLINGS.get(key, key), message, place
    if key == "data":
        # The whole body: `data` is only the name of our handlers' parameter.
        return "$", "it is missing" if message == "'data'" else message, place
    return f"$.{key}", message, place


def _route_of(request: Request[Any, Any, Any]) -> str:
    # Not its path: that carries ids.
    return str(getattr(request.route_handler, "operation_id", None) or "(unknown route)")


def stopping() -> InspanError:
    """What a request gets that comes while the daemon stops."""
    return HostError(
        "The daemon is stopping.",
        code="daemon_stopping",
        hint="Ask again in a moment; it starts when needed.",
    )


EXCEPTION_HANDLERS: dict[Any, Any] = {
    InspanError: _answer_known,
    HTTPException: _answer_refused,
    Exception: _answer_unexpected,
}
"""What Litestar does with exceptions."""
