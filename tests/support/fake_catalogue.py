"""A person's catalogue of connected services on loopback: an MCP server, and the OAuth server that guards it."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

__all__ = ["FakeCatalogue", "serve_catalogue"]

Answer = Callable[[Request], Awaitable[Response]]


class FakeCatalogue:
    """What the servers were asked, and how they are to answer.

    Attributes:
        polls: The errors that the token endpoint answers with before it gives a token.
        requests: What was asked, as method and path.
        forms: What was posted to the OAuth endpoints.
        tokens: The bearer tokens that came with calls.
        good_token: The only one that is let in.
        is_overloaded: Whether the token endpoint answers nobody for now.
    """

    def __init__(self) -> None:
        self.address = ""
        self.polls: list[str] = []
        self.requests: list[str] = []
        self.forms: list[dict[str, str]] = []
        self.tokens: list[str] = []
        self.good_token = "token-1"
        self.refresh_fails = False
        self.is_overloaded = False

    @property
    def url(self) -> str:
        """The address of the catalogue."""
        return f"{self.address}/mcp"

    def app(self) -> Any:
        """Both servers as one application."""
        server = _catalogue()
        guarded = server.streamable_http_app()
        oauth = Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self._metadata),
                Route("/device", self._device, methods=["POST"]),
                Route("/token", self._token, methods=["POST"]),
            ]
        )

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await guarded(scope, receive, send)
                return
            self.requests.append(f"{scope['method']} {scope['path']}")
            if not scope["path"].startswith("/mcp"):
                await oauth(scope, receive, send)
                return
            headers = {key.decode(): value.decode() for key, value in scope["headers"]}
            token = headers.get("authorization", "").removeprefix("Bearer ")
            self.tokens.append(token)
            if token != self.good_token:
                await Response(status_code=401)(scope, receive, send)
                return
            await guarded(scope, receive, send)

        return app

    async def _metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.address,
                "device_authorization_endpoint": f"{self.address}/device",
                "token_endpoint": f"{self.address}/token",
            }
        )

    async def _device(self, request: Request) -> Response:
        self.forms.append(await _form(request))
        return JSONResponse(
            {
                "device_code": "device-code",
                "user_code": "ABCD-EFGH",
                "verification_uri": f"{self.address}/enter",
                "expires_in": 60,
                "interval": 1,
            }
        )

    async def _token(self, request: Request) -> Response:
        form = await _form(request)
        self.forms.append(form)
        if self.is_overloaded:
            return JSONResponse({}, status_code=503)
        if form["grant_type"] == "refresh_token":
            if self.refresh_fails:
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            return JSONResponse({"access_token": self.good_token, "expires_in": 3600})
        if self.polls:
            return JSONResponse({"error": self.polls.pop(0)}, status_code=400)
        return JSONResponse(
            {"access_token": self.good_token, "refresh_token": "refresh-1", "expires_in": 3600}
        )


async def _form(request: Request) -> dict[str, str]:
    import urllib.parse

    return dict(urllib.parse.parse_qsl((await request.body()).decode()))


def _catalogue() -> MCPServer:
    server = MCPServer("catalogue-for-tests")

    @server.tool(name="mail.send", description="Sends a mail to somebody.")
    def send_mail(to: str, text: str) -> str:  # pyright: ignore[reportUnusedFunction]
        return f"sent to {to}: {text}"

    @server.tool(name="calendar.find", description="Finds appointments in a calendar.")
    def find(day: str) -> str:  # pyright: ignore[reportUnusedFunction]
        return f"nothing on {day}"

    for number in range(40):

        @server.tool(name=f"tracker.tool_{number}", description=f"Does thing {number} with tickets.")
        def ticket(account_id: str = "") -> str:  # pyright: ignore[reportUnusedFunction]
            return account_id

    return server


@contextmanager
def serve_catalogue() -> Generator[FakeCatalogue]:
    """Serves one on a free port of loopback, in a thread of its own."""
    catalogue = FakeCatalogue()
    server = uvicorn.Server(
        uvicorn.Config(
            catalogue.app(), host="127.0.0.1", port=0, log_config=None, timeout_graceful_shutdown=1
        )
    )
    thread = threading.Thread(target=server.run, name="catalogue", daemon=True)
    thread.start()
    end = time.monotonic() + 20
    while not server.started:
        assert time.monotonic() < end, "the catalogue does not start"
        assert thread.is_alive()
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    catalogue.address = f"http://{host}:{port}"
    try:
        yield catalogue
    finally:
        server.should_exit = True
        thread.join(20)
