"""One write, of which it is known afterwards that it was done, that it was not, or that nobody can say."""

from __future__ import annotations

import os

from inspan.apps.client import JsonObject, Reply
from inspan.apps.faults import AppUnreachable, Misused

from .session import Session

__all__ = ["idempotency_headers", "write"]

TIMEOUT_S = 120.0
"""How long an app may take over a write: an operation may wait for something slow."""

_KEY = "Idempotency-Key"


def idempotency_headers(key: str | None) -> dict[str, str]:
    """The header under which the app does the write once, with the caller's key or a fresh one.

    Raises:
        Misused: The key cannot be sent in a header.
    """
    if key is not None and (not key.isascii() or not key.isprintable() or not key.strip()):
        raise Misused(
            "--idempotency-key takes plain letters and digits.", hint="Such as --idempotency-key order-17."
        )
    return {_KEY: os.urandom(16).hex() if key is None else key}


def write(
    session: Session, method: str, path: str, values: JsonObject | None, headers: dict[str, str]
) -> Reply:
    """Sends it once, and never again by itself.

    Raises:
        AppUnreachable: No answer came; the message says where that leaves open whether it was done.
    """
    try:
        return session.client.request(method, path, values, headers, timeout_s=TIMEOUT_S)
    except AppUnreachable as fault:
        if isinstance(fault.__cause__, ConnectionRefusedError):
            raise
        hint = "Read what is there before you repeat it."
        if _KEY in headers:
            hint = f"Read what is there, or repeat it safely with --idempotency-key {headers[_KEY]}"
        raise AppUnreachable(
            f"{fault.message} Whether it was done is not known.", hint=hint, fields=fault.fields
        ) from fault
