"""Listening sockets: the Unix socket that only its owner may open, and TCP on the loopback where asked for."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import socket
from collections.abc import Generator

from inspan.home import Home
from inspan.model.errors import HostError, UsageError

__all__ = ["listen_on_tcp", "listen_on_unix", "parse_tcp_address", "read_or_make_token"]

_BACKLOG = 1024


@contextlib.contextmanager
def listen_on_unix(home: Home) -> Generator[socket.socket]:
    """The daemon's socket, 0600 from the instant at which it exists, and gone after the block.

    The caller holds the home. The umask is changed for as long as `bind` takes, and it belongs to the whole
    process: a file that another thread makes meanwhile is more private, never less.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        umask = os.umask(0o177)
        try:
            listener.bind(str(home.socket))
        finally:
            os.umask(umask)
        inode = home.socket.stat().st_ino
        try:
            listener.listen(_BACKLOG)
            listener.setblocking(False)
            yield listener
        finally:
            with contextlib.suppress(FileNotFoundError):
                if home.socket.stat().st_ino == inode:
                    home.socket.unlink()
    finally:
        listener.close()


def parse_tcp_address(text: str) -> tuple[str, int]:
    """`127.0.0.1:8700` or `[::1]:8700` as host and port; port 0 lets the system choose.

    Raises:
        UsageError: `invalid_argument`: not an address of the loopback, which alone is served without TLS.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not colon or not is_loopback or not port.isdigit() or int(port) > 65535:
        raise UsageError(
            f"{text!r} is not an address of the loopback with a port.",
            hint="Use --tcp 127.0.0.1:PORT. To reach it from elsewhere, forward the port over SSH.",
        )
    return host, int(port)


@contextlib.contextmanager
def listen_on_tcp(address: tuple[str, int]) -> Generator[socket.socket]:
    """A listening TCP socket at `address`.

    Raises:
        HostError: `daemon_unreachable`: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError as error:
            raise HostError(
                f"{address[0]} port {address[1]} cannot be listened on: {error.strerror}.",
                code="daemon_unreachable",
                hint="Choose another port, or port 0 for a free one.",
            ) from error
        listener.setblocking(False)
        yield listener
    finally:
        listener.close()


def read_or_make_token(home: Home) -> str:
    """The token that TCP clients present, from a 0600 file that is made when it is first needed.

    Raises:
        HostError: `home_insecure`: others can read the file.
    """
    with contextlib.suppress(FileExistsError):
        handle = os.open(home.token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    found = home.token.stat()
    token = home.token.read_text(encoding="ascii", errors="replace").strip()
    if found.st_mode & 0o077 or found.st_uid != os.geteuid() or len(token) < 32:
        raise HostError(
            f"The token in {home.token} can be read by others, or is too short to be one.",
            code="home_insecure",
            hint="Remove the file; a new one is made at the next start.",
        )
    return token
