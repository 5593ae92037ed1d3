"""Connecting: a client of a home's daemon, which is started where none serves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator

from inspan.home import Home, locate_home
from inspan.model.errors import HostError

from .autostart import START_TIMEOUT_S, ensure_daemon
from .client import Client

__all__ = ["connect"]

_ENDING = frozenset(["daemon_stopping", "daemon_unreachable"])
_LOOK_AGAIN_S = 0.05


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
    deadline = time.monotonic() + start_timeout_s
    while True:
        if start:
            await asyncio.to_thread(ensure_daemon, place, timeout_s=max(0.0, deadline - time.monotonic()))
        client = Client(place)
        try:
            await client.check_version()
            break
        except HostError as error:
            await client.close()
            # What listened may have been about to end; then the next one is needed.
            if not start or error.code not in _ENDING or time.monotonic() >= deadline:
                raise
        except BaseException:
            await client.close()
            raise
        await asyncio.sleep(_LOOK_AGAIN_S)
    try:
        yield client
    finally:
        await client.close()
