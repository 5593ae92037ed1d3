"""Serving: uvicorn on sockets that are ours, without its signals, its file modes and its log of requests."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Generator

import uvicorn
from litestar.types import ASGIApp

from .beside import running_beside
from .connection import Connection

__all__ = ["open_server"]

_KEEP_ALIVE_S = 75
_GOODBYE_S = 5


class _Server(uvicorn.Server):
    """Uvicorn's server, told by events instead of asked ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = asyncio.Event()
        self.stop_wanted = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leaves the signals to the process that we run in."""
        yield

    async def until_ready(self, serving: asyncio.Task[None]) -> None:
        """Returns once connections are taken; raises what `serving` raised if it never came to that."""
        ready = asyncio.create_task(self.is_ready.wait())
        try:
            await asyncio.wait((ready, serving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if serving.done():
            serving.result()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.is_ready.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.stop_wanted.wait()


@contextlib.asynccontextmanager
async def open_server(app: ASGIApp, sockets: list[socket.socket]) -> AsyncGenerator[None]:
    """Serves `app` on `sockets` inside the block.

    At its end requests that are under way may finish for some seconds; event streams must have been told to
    end before.
    """
    config = uvicorn.Config(
        app,  # pyright: ignore[reportArgumentType]  # Litestar and uvicorn each describe ASGI in types of their own
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GOODBYE_S,
    )
    server = _Server(config)
    async with running_beside(server.serve(sockets), name="the HTTP server") as serving:
        await server.until_ready(serving)
        try:
            yield
        finally:
            server.stop_wanted.set()
            # A cancelled block still says goodbye to its clients.
            await asyncio.wait((serving,))
