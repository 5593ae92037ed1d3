"""One viewer's terminal: the bytes that draw it, for as long as the client reads and the harness lives."""

from __future__ import annotations

import asyncio

from litestar.types import HTTPScope, Receive, Scope, Send

from inspan.seats.service import TerminalViewer
from inspan.transports.terminal.guest import GuestTerminal

from .beside import running_beside
from .lifetime import Lifetime

__all__ = ["PIECE_BYTES", "TerminalStream"]

PIECE_BYTES = 64 * 1024
"""How much is written at once."""


class TerminalStream:
    """An ASGI application that serves one viewer, and closes it whatever happens.

    The body is nothing but the terminal's bytes, so there is no sign of life in it and no last word: it ends when
    the harness has, or as the daemon stops. A client that reads slowly is shown the newest screen instead of all
    that led to it, and nobody waits for it.

    Args:
        viewer: The viewer, which belongs to this stream from now on.
        lifetime: The daemon's life.
        guest: Fit the bytes to a terminal that is somebody's own; see `GuestTerminal`.
    """

    def __init__(self, viewer: TerminalViewer, *, lifetime: Lifetime, guest: bool) -> None:
        self._viewer = viewer
        self._lifetime = lifetime
        self._guest = GuestTerminal() if guest else None

    async def __call__(self, scope: Scope | HTTPScope, receive: Receive, send: Send) -> None:
        """Serves until the harness ends, the client hangs up, or the daemon stops."""
        del scope
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self._headers()})
            async with (
                running_beside(_until_gone(receive), name="a terminal's client") as gone,
                running_beside(self._lifetime.until_stopped(), name="a terminal's daemon") as stopped,
                running_beside(self._show(send), name="a terminal stream") as showing,
            ):
                await asyncio.wait((gone, stopped, showing), return_when=asyncio.FIRST_COMPLETED)
                is_gone = gone.done()
            if not is_gone:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._viewer.close()

    async def _show(self, send: Send) -> None:
        while (piece := await self._viewer.read()) is not None:
            shown = piece if self._guest is None else self._guest.fit(piece)
            for start in range(0, len(shown), PIECE_BYTES):
                body = shown[start : start + PIECE_BYTES]
                await send({"type": "http.response.body", "body": body, "more_body": True})
            if self._guest is not None and self._guest.wants_redraw:
                self._viewer.redraw()

    def _headers(self) -> list[tuple[bytes, bytes]]:
        viewer = self._viewer
        headers = [
            (b"content-type", b"application/octet-stream"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
            (b"inspan-columns", b"%d" % viewer.columns),
            (b"inspan-rows", b"%d" % viewer.rows),
        ]
        if viewer.token:
            headers.append((b"inspan-writer", viewer.token.encode("ascii")))
        return headers


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
