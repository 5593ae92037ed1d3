"""The composition root: the one place where the parts of a daemon are put together."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager

import msgspec

import inspan
from inspan.home import API_VERSION, Home, prepare_home
from inspan.seats.service import SeatService

from .application import create_application
from .event_log import EventLog
from .feed import Feed, FeedLimits, open_feed
from .lifetime import Lifetime
from .ownership import hold_home
from .services import Services
from .serving import open_server
from .sockets import listen_on_tcp, listen_on_unix, read_or_make_token

__all__ = ["Daemon", "OpenParts", "Parts", "open_daemon", "open_parts"]

_LOG = logging.getLogger(__name__)


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind the HTTP interface: the seats and the log."""

    seats: SeatService
    log: EventLog


OpenParts = Callable[[Home], AbstractAsyncContextManager[Parts]]
"""Opens the parts of a home that this process owns."""


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """A daemon that serves.

    Attributes:
        home: Its home.
        lifetime: Its life; `stop` on it asks for the end, which its opener brings about.
        feed: Its newest events, and who watches them.
        tcp: The address that it listens on, besides its socket.
    """

    home: Home
    lifetime: Lifetime
    feed: Feed
    tcp: tuple[str, int] | None = None


@contextlib.asynccontextmanager
async def open_parts(home: Home) -> AsyncGenerator[Parts]:
    """The real ones: the store, the harness host, and the seats, which pick up whatever still runs."""
    from inspan.host import HarnessHost
    from inspan.seats.core import open_seats
    from inspan.store import open_store

    async with (
        open_store(home.database) as store,
        HarnessHost(home.path, environ=os.environ) as host,
        open_seats(store=store, host=host, home=home) as seats,
    ):
        yield Parts(seats=seats, log=store)


@contextlib.asynccontextmanager
async def open_daemon(
    home: Home,
    *,
    tcp: tuple[str, int] | None = None,
    open_parts: OpenParts = open_parts,
    limits: FeedLimits | None = None,
) -> AsyncGenerator[Daemon]:
    """Owns `home` and serves it inside the block.

    The socket appears once everything behind it is ready, so whoever can connect is answered. However the block
    ends, neither socket, lock nor `daemon.json` is left behind. Harnesses run on.

    Args:
        home: The home; it is made where it is missing.
        tcp: A loopback address to listen on too.
        open_parts: Opens what stands behind the interface.
        limits: Bounds of the event streams.

    Raises:
        HostError: `daemon_running`, `home_insecure`, `home_read_only`, `socket_path_too_long`.
        StoreError: The log cannot be opened.
    """
    lifetime = Lifetime()
    async with contextlib.AsyncExitStack() as stack:
        prepare_home(home)
        stack.enter_context(hold_home(home))
        parts = await stack.enter_async_context(open_parts(home))
        feed = await stack.enter_async_context(open_feed(parts.log, limits))
        services = Services(seats=parts.seats, log=parts.log, feed=feed, home=home, lifetime=lifetime)
        app = create_application(services, token=read_or_make_token(home) if tcp else None)
        sockets = [stack.enter_context(listen_on_unix(home))]
        if tcp:
            sockets.append(stack.enter_context(listen_on_tcp(tcp)))
        await stack.enter_async_context(open_server(app, sockets))
        # In this order at the end: no new work, streams say goodbye, the server waits for what is under way.
        stack.callback(feed.close)
        stack.callback(lifetime.stop)
        bound = _address_of(sockets[1]) if tcp else None
        stack.enter_context(_record_of(home, lifetime, bound))
        yield Daemon(home=home, lifetime=lifetime, feed=feed, tcp=bound)


def _address_of(sock: socket.socket) -> tuple[str, int]:
    host, port = sock.getsockname()[:2]
    return str(host), int(port)


@contextlib.contextmanager
def _record_of(home: Home, lifetime: Lifetime, tcp: tuple[str, int] | None) -> Generator[None]:
    """`daemon.json`, for people and programs that ask who serves; the lock alone proves it."""
    record = {
        "pid": os.getpid(),
        "started_at": lifetime.started_at.isoformat(),
        "version": inspan.__version__,
        "api": API_VERSION,
        "socket": str(home.socket),
        "tcp": f"{tcp[0]}:{tcp[1]}" if tcp else None,
    }
    new = home.record.with_name(f"{home.record.name}.new")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(record, file)
        new.replace(home.record)
    except OSError as error:
        # It is only for show, and on a full disk the daemon is needed more than its name.
        _LOG.warning("%s cannot be written: %s", home.record.name, error.strerror)
    try:
        yield
    finally:
        for path in (home.record, new):
            with contextlib.suppress(OSError):
                path.unlink()
