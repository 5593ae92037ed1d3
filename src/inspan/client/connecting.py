"""Connecting: a client of a home's daemon, which is started where none serves."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator

from inspan.home import Home, locate_home

from .autostart import START_TIMEOUT_S, ensure_daemon
from .client import Client

__all__ = ["connect"]


@contextlib.asynccontextmanager
async def connect(
    home: str | os.PathLike[str] | Home | None = None,
    *,
    start: bool = True,
    start_timeout_s: float = START_TIMEOUT_S,
) -> AsyncGenerator[Client]:
    """A client of the daemon that serves `home`.

    Args:
        home: The home's folder; `$INSPAN_HOME` or the platform's place where none is named.
        start: Start a daemon where none serves. It goes on after this program ends.
        start_timeout_s: How long it may take to start.

    Yields:
        The client; it is closed at the end of the block.

    Raises:
        HostError: `daemon_unreachable`, `daemon_version`, `home_insecure`, `home_read_only`,
            `socket_path_too_long`.
        StoreError: The log cannot be opened.
    """
    place = home if isinstance(home, Home) else locate_home(home)
    if start:
        await asyncio.to_thread(ensure_daemon, place, timeout_s=start_timeout_s)
    client = Client(place)
    try:
        await client.check_version()
        yield client
    finally:
        await client.close()
