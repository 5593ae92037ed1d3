"""The ports of this machine that apps stand on, and who answers on one."""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

from .client import AppClient, JsonObject
from .faults import AppUnreachable

__all__ = [
    "FIRST_PORT",
    "LAST_PORT",
    "Occupant",
    "base_url_of",
    "free_ports",
    "is_listening",
    "is_port",
    "who_answers",
]

FIRST_PORT = 8090
"""The first port that is given to an app, and the one of an app whose manifest names none."""

LAST_PORT = 8999

_CONNECT_S = 0.3
_PROBE_S = 1.5
_LARGEST_PROBE_BYTES = 1024 * 1024


class Occupant(NamedTuple):
    """Who holds a port.

    Attributes:
        kind: `nobody`, an `app` (whose identity it is) or a `stranger`: something that is no such app, or hangs.
        identity: What the app says of itself; empty for the others.
    """

    kind: Literal["nobody", "app", "stranger"]
    identity: JsonObject

    @property
    def app_id(self) -> str:
        """The app's id, or nothing."""
        app: object = self.identity.get("app")
        found: object = app.get("id") if isinstance(app, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return found if isinstance(found, str) else ""


def base_url_of(port: int) -> str:
    """Where an app on this machine answers."""
    return f"http://127.0.0.1:{port}"


def is_port(value: object) -> bool:
    """Whether this is the number of a TCP port that a program can listen on."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536


def is_listening(port: int) -> bool:
    """Whether anything takes a connection on the loopback port, or keeps it from others without an answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_S):
            return True
    except TimeoutError:
        return True  # a full queue of connections is somebody's queue
    except OSError as error:
        return error.errno not in (errno.ECONNREFUSED, errno.EADDRNOTAVAIL)


def who_answers(port: int, *, timeout_s: float = _PROBE_S) -> Occupant:
    """Asks the port who it is, without any credential.

    Args:
        port: A loopback port.
        timeout_s: The most that each question may take, in seconds.
    """
    if not is_port(port) or not is_listening(port):
        return Occupant("nobody", {})
    try:
        with AppClient(
            base_url_of(port),
            agent="agent-app-status",
            timeout_s=timeout_s,
            largest_bytes=_LARGEST_PROBE_BYTES,
        ) as client:
            reply = client.request("GET", "/api/_a2app")
    except AppUnreachable:
        return Occupant("stranger" if is_listening(port) else "nobody", {})
    app: object = reply.body.get("app")
    if reply.is_ok and reply.body.get("a2app") is True and isinstance(app, dict):
        return Occupant("app", reply.body)
    return Occupant("stranger", {})


def free_ports(taken: Collection[int]) -> Iterator[int]:
    """The ports for apps, in order, that are neither `taken` nor listening at the moment when they are asked for."""
    return (port for port in range(FIRST_PORT, LAST_PORT + 1) if port not in taken and not is_listening(port))
