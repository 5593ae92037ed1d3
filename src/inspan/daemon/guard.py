"""The guard: what a request over TCP must show before anything looks at it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar.types import ASGIApp, Receive, Scope, Send

from inspan.model.errors import HostError, InspanError, error_to_wire

from .connection import is_local
from .failures import stopping
from .lifetime import Lifetime

__all__ = ["Guard"]

_LOOPBACK_NAMES = frozenset(["127.0.0.1", "localhost", "[::1]"])


class Guard:
    """An ASGI application in front of the routes.

    A request by the Unix socket comes from the socket's owner: the file's mode and its folder's see to that. A
    request over TCP may come from any program of the machine, and from a web page that any program shows. So it
    must carry the token, must be addressed to the loopback by name (a page that points its own name at the
    loopback does not pass), and must not come from a page at all.
    """

    def __init__(self, app: ASGIApp, *, lifetime: Lifetime, token: str | None) -> None:
        self._app = app
        self._lifetime = lifetime
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the request pass, or answers it."""
        if scope["type"] != "http":
            return
        if not is_local(scope) and (refusal := self._refusal(_headers(scope))) is not None:
            status, error = refusal
            await _answer(send, status, error)
        elif self._lifetime.is_stopping:
            await _answer(send, 503, stopping())
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: Mapping[str, str]) -> tuple[int, InspanError] | None:
        name, _, port = headers.get("host", "").rpartition(":")
        if not port.isdigit():
            name = headers.get("host", "")
        if "origin" in headers or name not in _LOOPBACK_NAMES:
            return 403, _unauthorized("comes from a web page, or is addressed to another host")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if self._token is None or scheme.lower() != "bearer":
            return 401, _unauthorized("carries no token")
        if not hmac.compare_digest(token.strip().encode(), self._token.encode()):
            return 401, _unauthorized("carries a wrong token")
        return None


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _unauthorized(fact: str) -> InspanError:
    return HostError(
        f"The request {fact}.",
        code="unauthorized",
        hint="Send `Authorization: Bearer TOKEN` with the token from the file daemon.token in the home, to 127.0.0.1.",
    )


async def _answer(send: Send, status: int, error: InspanError) -> None:
    body: dict[str, Any] = {"error": error_to_wire(error)}
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": msgspec.json.encode(body), "more_body": False})
