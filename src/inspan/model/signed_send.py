"""Signed sends: what an operator's signature stands for. The standard library alone, since the command line signs."""

from __future__ import annotations

import json

__all__ = ["NAMESPACE", "signed_bytes"]

NAMESPACE = "inspan-send"
"""The namespace of the signatures: one that was made for something else counts for nothing here."""


def signed_bytes(
    *,
    home: str,
    seat: str,
    delivery: str,
    text: str,
    request: str = "",
    is_urgent: bool = False,
    override: str = "",
) -> bytes:
    """Everything that a send does, as the bytes that are signed.

    The delivery's id is among them, and is used once for ever in a home: a signature cannot be used a second time, for
    another seat, or in another home.

    Args:
        home: The home's absolute path, links resolved.
        seat: The seat's name.
        delivery: The delivery's id.
        text: The prompt.
        request: The request that it is an attempt at.
        is_urgent: It is typed though a turn runs.
        override: Why it is typed whatever is seen.
    """
    told = {
        "delivery": delivery,
        "home": home,
        "now": is_urgent,
        "override": override,
        "request": request,
        "seat": seat,
        "text": text,
        "version": 1,
    }
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode("ascii")
