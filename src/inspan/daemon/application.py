"""The HTTP application: the routes and their errors, over the services of a daemon."""

from __future__ import annotations

from typing import Any

from litestar import Litestar, get
from litestar.types import ASGIApp

from .failures import BODY_CAP_BYTES, EXCEPTION_HANDLERS
from .guard import Guard
from .openapi import describe_api
from .routes import ROUTES
from .services import Services

__all__ = ["create_application"]


@get("/v1/openapi.json", include_in_schema=False)
async def show_openapi() -> dict[str, Any]:
    """The description of this interface."""
    return describe_api()


def create_application(services: Services, *, token: str | None = None) -> ASGIApp:
    """The whole interface as one ASGI application.

    Args:
        services: What it stands on.
        token: What a request over TCP must carry; `None` refuses every such request.
    """
    app = Litestar(
        [*ROUTES, show_openapi],
        dependencies=services.as_dependencies(),
        exception_handlers=EXCEPTION_HANDLERS,
        request_max_body_size=BODY_CAP_BYTES,
        openapi_config=None,
        logging_config=None,
    )
    return Guard(app, lifetime=services.lifetime, token=token)
