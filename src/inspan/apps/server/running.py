"""Running an app: uvicorn on one port of the loopback, until it is told to stop."""

from __future__ import annotations

import uvicorn

from .asgi import Asgi

__all__ = ["run", "server_config"]

_KEEP_ALIVE_S = 75
_GOODBYE_S = 5


def server_config(app: Asgi, *, host: str = "127.0.0.1", port: int) -> uvicorn.Config:
    """How uvicorn serves an app: no log of requests, no proxy's word for who calls, no websockets."""
    return uvicorn.Config(
        app,  # pyright: ignore[reportArgumentType]  # uvicorn describes ASGI in types of its own
        host=host,
        port=port,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GOODBYE_S,
    )


def run(app: Asgi, *, port: int) -> None:
    """Serves `app` on 127.0.0.1 until SIGINT or SIGTERM.

    Raises:
        SystemExit: The port cannot be had; uvicorn has said so on standard error.
    """
    uvicorn.Server(server_config(app, port=port)).run()
