"""The description of the HTTP interface, as OpenAPI 3.1.

`python -m inspan.daemon.openapi` writes it to standard output; `docs/openapi.json` is that, and a test compares.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any, cast

import msgspec
from litestar import Litestar
from litestar.openapi import OpenAPIConfig

from inspan.home import API_VERSION
from inspan.model.console_views import PressKeys, ResizeTerminal, ScreenView
from inspan.model.events import Envelope
from inspan.model.hook_views import HooksView
from inspan.model.plan import ProbeResult
from inspan.model.request_views import HandOffRequest, RequestView
from inspan.model.resource_views import ResourcesView
from inspan.model.session_views import (
    AnswerQuestion,
    ConfigureSeat,
    DeletedSession,
    DeleteSession,
    ForkSeat,
    QuestionView,
    SessionsView,
)
from inspan.model.views import (
    AddSeat,
    AnswerPermission,
    DaemonStatus,
    DeliveryView,
    ExplainView,
    HarnessView,
    PermissionView,
    SeatView,
    SendPrompt,
    StoreReport,
    TurnView,
)

from .routes import ROUTES
from .routes.control import StopDaemon, Stopping
from .routes.seats import StartSeat
from .services import NO_SERVICES

__all__ = ["describe_api"]

_REF = "#/components/schemas/{name}"

_RAW_BODY = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
_RAW_OPERATIONS = frozenset(["type_keys"])


class ErrorView(msgspec.Struct, frozen=True, kw_only=True):
    """An error.

    Attributes:
        code: A stable name; docs/errors.md lists them.
        group: Who must act: `usage`, `manifest`, `plugin`, `harness`, `store` or `host`.
        message: The fact.
        hint: The next thing to do; may be empty.
        retry_safe: Whether the same call may be made again without a risk that its effect happens twice.
        detail: Further values.
    """

    code: str
    group: str
    message: str
    hint: str
    retry_safe: bool
    detail: dict[str, Any]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer whose status is 400 or more."""

    error: ErrorView


_SHAPES = (
    AddSeat,
    AnswerPermission,
    AnswerQuestion,
    ConfigureSeat,
    DaemonStatus,
    DeleteSession,
    DeletedSession,
    DeliveryView,
    Envelope,
    ExplainView,
    Failure,
    ForkSeat,
    HandOffRequest,
    HarnessView,
    HooksView,
    PermissionView,
    PressKeys,
    ProbeResult,
    QuestionView,
    RequestView,
    ResizeTerminal,
    ResourcesView,
    ScreenView,
    SeatView,
    SendPrompt,
    SessionsView,
    StartSeat,
    StopDaemon,
    Stopping,
    StoreReport,
    TurnView,
)


@functools.cache
def describe_api() -> dict[str, Any]:
    """The interface as an OpenAPI document; the caller does not change it.

    Litestar describes the operations; the shapes come from msgspec, which knows their texts, their tags and
    that fields which are not known are refused. The application that serves is not asked: Litestar would give
    it pages that load remote scripts.
    """
    app = Litestar(ROUTES, dependencies=NO_SERVICES, openapi_config=_config(), logging_config=None)
    document = cast("dict[str, Any]", json.loads(msgspec.json.encode(app.openapi_schema.to_schema())))
    _, shapes = msgspec.json.schema_components(_SHAPES, ref_template=_REF)
    document["components"] = {"schemas": dict(sorted(shapes.items()))}
    document["servers"] = [{"url": "http://inspan", "description": "The Unix socket; any host name will do."}]
    failure = {
        "description": "What went wrong, and the next thing to do.",
        "content": {"application/json": {"schema": {"$ref": _REF.format(name="Failure")}}},
    }
    for path in document["paths"].values():
        for operation in path.values():
            _finish(operation, failure)
    return document


def main() -> int:
    """Writes the document to standard output."""
    json.dump(describe_api(), sys.stdout, indent=2, sort_keys=True)
    sys.stdout.write("\n")
    return 0


def _config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Inspan",
        version=str(API_VERSION),
        description="The daemon of one home, over its Unix socket. See docs/http-api.md.",
        use_handler_docstrings=True,
    )


def _finish(operation: dict[str, Any], failure: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("400", None)
    for status, response in responses.items():
        response["description"] = "Accepted; it is under way." if status == "202" else "Done."
    responses["default"] = failure
    if operation["operationId"] in _RAW_OPERATIONS:
        operation["requestBody"] = _RAW_BODY
    elif body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        body["required"] = {"type": "null"} not in schema.get("oneOf", ())


if __name__ == "__main__":
    raise SystemExit(main())
