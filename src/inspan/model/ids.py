"""Identifiers: their forms, and how new ones are made."""

from __future__ import annotations

import re
import secrets
import time

from .errors import UsageError

__all__ = ["HARNESS_ID", "SEAT_NAME", "check_seat_name", "new_id", "new_nonce"]

HARNESS_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
"""A harness id: its folder's name."""

SEAT_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
"""A seat's name, chosen by the operator."""

DELIVERY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
"""A delivery's id: made by us, or by the caller to make a send repeatable."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """A fresh id such as `t_0m2k5v…`: `prefix`, milliseconds since the epoch, 50 random bits.

    Ids of one prefix sort by the time at which they were made.
    """
    value = (int(time.time() * 1000) << 50) | secrets.randbits(50)
    digits: list[str] = []
    for _ in range(19):
        value, digit = divmod(value, 32)
        digits.append(_ALPHABET[digit])
    return f"{prefix}_{''.join(reversed(digits))}"


def new_nonce() -> str:
    """A secret of 256 bits that proves who may own a launch."""
    return secrets.token_hex(32)


def check_seat_name(name: str) -> str:
    """`name` itself if it can name a seat.

    Raises:
        UsageError: `invalid_argument`.
    """
    if not SEAT_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a seat.",
            hint="Use 1 to 63 of a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit.",
        )
    return name
