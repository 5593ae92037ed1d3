"""HTTP to a harness: is it up, and here is a task. Only what is asked for is trusted: a status, and no more.

The answer's body is never read, redirects are not followed, no proxy is asked, and unless the profile says otherwise
the address that a name leads to must be a loopback one at the moment of the call.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping
from threading import Timer
from typing import cast
from urllib.parse import urlsplit

from inspan.apps.client import JsonObject, encode_json

__all__ = ["HandoffFailed", "call", "headers_of", "is_up"]

HEALTH_S = 2.0
HANDOFF_S = 30.0


class HandoffFailed(Exception):
    """The harness could not be reached; the message says why, in one line and without a secret."""


def is_up(url: str, *, allow_remote: bool) -> bool:
    """Whether `url` answers with a 2xx within two seconds."""
    try:
        return 200 <= call("GET", url, None, {}, allow_remote=allow_remote, timeout_s=HEALTH_S) < 300
    except HandoffFailed:
        return False


def headers_of(token_env: str, headers: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The headers of a handoff; a route's own win over ours. A token that is not set is left out."""
    token = environ.get(token_env, "").strip() if token_env else ""
    ours = {"Content-Type": "application/json"}
    if token:
        ours["Authorization"] = f"Bearer {token}"
    own = {name.lower() for name in headers}
    return {**{name: value for name, value in ours.items() if name.lower() not in own}, **headers}


def call(
    method: str,
    url: str,
    body: JsonObject | None,
    headers: Mapping[str, str],
    *,
    allow_remote: bool,
    timeout_s: float = HANDOFF_S,
) -> int:
    """One request, and the status of its answer.

    Args:
        method: The HTTP method.
        url: http or https, checked when the profile was read.
        body: Sent as JSON.
        headers: Sent as they are.
        allow_remote: The address may be another than a loopback one.
        timeout_s: For all of it, from the first look-up to the last header.

    Raises:
        HandoffFailed: There is no answer.
    """
    data = None if body is None else encode_json(body)
    deadline = time.monotonic() + timeout_s
    try:
        parts = urlsplit(url)
        connection = _connect(
            parts.scheme, parts.hostname or "", parts.port, allow_remote=allow_remote, timeout_s=timeout_s
        )
    except (OSError, ValueError) as error:
        raise HandoffFailed(_reason(error)) from error
    # A socket's own limit begins anew with each byte.
    held = cast(socket.socket, connection.sock)
    watch = Timer(max(0.01, deadline - time.monotonic()), _shut, (held,))
    watch.daemon = True
    watch.start()
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, path, data, {"Connection": "close", **headers})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= deadline:
            raise HandoffFailed("it did not answer in time") from error
        raise HandoffFailed(_reason(error)) from error
    finally:
        watch.cancel()
        connection.close()


def _connect(
    scheme: str, host: str, port: int | None, *, allow_remote: bool, timeout_s: float
) -> http.client.HTTPConnection:
    is_tls = scheme == "https"
    found = socket.create_connection((host, port or (443 if is_tls else 80)), timeout=timeout_s)
    try:
        if not allow_remote:
            _check_peer(found)
        if is_tls:
            found = ssl.create_default_context().wrap_socket(found, server_hostname=host)
    except BaseException:
        found.close()
        raise
    connection = http.client.HTTPConnection(host, port or (443 if is_tls else 80))
    connection.default_port = 443 if is_tls else 80
    connection.sock = found
    return connection


def _check_peer(found: socket.socket) -> None:
    address = ipaddress.ip_address(str(found.getpeername()[0]).partition("%")[0])
    if not (getattr(address, "ipv4_mapped", None) or address).is_loopback:
        raise ValueError("its name leads to another machine, and allowRemote is not set")


def _shut(held: socket.socket) -> None:
    try:
        held.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is closed already


def _reason(error: Exception) -> str:
    match error:
        case TimeoutError():
            return "it did not answer in time"
        case ssl.SSLError():
            return "its certificate or its TLS cannot be used"
        case OSError():
            return error.strerror or type(error).__name__
        case ValueError():
            return str(error)
        case _:
            return f"it does not speak HTTP ({type(error).__name__})"
