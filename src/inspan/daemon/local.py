"""A daemon inside this process, for programs and tests that want no other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator

from inspan.client.client import Client
from inspan.home import Home, locate_home

from .composition import OpenParts, open_daemon, open_parts

__all__ = ["open_local"]


@contextlib.asynccontextmanager
async def open_local(
    home: str | os.PathLike[str] | Home | None = None, *, open_parts: OpenParts = open_parts
) -> AsyncGenerator[Client]:
    """Serves `home` from this process and event loop inside the block, and gives a client of it.

    It is the same daemon, on the same socket: other programs can connect to it. At the end of the block it
    stops; harnesses run on, and the next daemon of the home finds them.

    Args:
        home: The home's folder; `$INSPAN_HOME` or the platform's place where none is named.
        open_parts: Opens what stands behind the interface; tests give another.

    Yields:
        The client; it is closed at the end of the block.

    Raises:
        HostError: `daemon_running` where another process serves the home; `home_insecure`, `home_read_only`,
            `socket_path_too_long`.
        StoreError: The log cannot be opened.
    """
    place = home if isinstance(home, Home) else locate_home(home)
    async with open_daemon(place, open_parts=open_parts):
        client = Client(place)
        try:
            yield client
        finally:
            await client.close()
