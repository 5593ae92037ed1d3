"""The HTTP connection as the server sees it: tells the application which transport a request came by."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Mapping
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Connection", "is_local", "peer_of", "transport_of"]

_KEY = "inspan.transport"
_SOL_LOCAL = 0
_LOCAL_PEERPID = 2
"""What macOS calls them; Python has no names for them."""


class Connection(H11Protocol):
    """Uvicorn's HTTP/1.1 with one addition: the transport stands in every request's scope.

    ASGI has no word for "hang up now"; without it a client that never reads would keep its connection for
    ever. The kind of the socket decides whether a request must carry the token.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Takes the connection."""
        super().connection_made(transport)
        inner = self.app

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope[_KEY] = transport
            await inner(scope, receive, send)

        self.app = app


def transport_of(scope: Mapping[str, Any]) -> asyncio.Transport | None:
    """The transport that a request came by; `None` where there is no socket, as in a test of the application."""
    return cast("asyncio.Transport | None", scope.get(_KEY))


def is_local(scope: Mapping[str, Any]) -> bool:
    """Whether a request came by the Unix socket, which only its owner can open."""
    transport = transport_of(scope)
    if transport is None:
        return False
    sock = transport.get_extra_info("socket")
    return sock is not None and sock.family == socket.AF_UNIX


def peer_of(scope: Mapping[str, Any]) -> int | None:
    """The process at the other end of a Unix socket, as the kernel says; `None` where that is not known."""
    transport = transport_of(scope)
    if transport is None or not is_local(scope):
        return None
    sock: socket.socket = transport.get_extra_info("socket")
    try:
        if sys.platform == "linux":
            packed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid = int(struct.unpack("3i", packed)[0])
        elif sys.platform == "darwin":
            pid = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
        else:
            return None
    except OSError:
        return None
    return pid or None
