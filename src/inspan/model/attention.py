"""Attention: what an operator should know of a seat, by a code; it holds nothing back and is no failure."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

__all__ = ["ATTENTION_CAP", "Attention", "AttentionCode", "AttentionRaised", "add_attention"]

AttentionCode = Literal["activity_unknown", "command_opened_dialog", "permission_unanswerable"]
"""What it is. `activity_unknown`: a prompt was typed though nobody could say what the console does.
`command_opened_dialog`: a command of the console opened a dialog, and prompts wait until a person has closed it.
`permission_unanswerable`: the harness asked for a permission that nobody could have given, and was refused."""

ATTENTION_CAP = 8
"""How many are kept of a seat; the log has all of them."""


class AttentionRaised(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="attention_raised"):
    """Something happened that an operator should know of; whatever it is about goes on.

    Attributes:
        code: What it is.
        message: One sentence.
        hint: What can be done about it.
        delivery: The delivery that it is about.
        request: The permission request that it is about.
    """

    code: AttentionCode
    message: str
    hint: str = ""
    delivery: str = ""
    request: str = ""


class Attention(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was raised of a seat and still stands: until its next prompt; fields as in `AttentionRaised`.

    Attributes:
        at: When it was raised.
    """

    code: AttentionCode
    message: str
    at: datetime
    hint: str = ""
    delivery: str = ""
    request: str = ""


def add_attention(
    known: tuple[Attention, ...], raised: AttentionRaised, at: datetime
) -> tuple[Attention, ...]:
    """What stands with one more, the newest last."""
    added = Attention(
        code=raised.code,
        message=raised.message,
        at=at,
        hint=raised.hint,
        delivery=raised.delivery,
        request=raised.request,
    )
    return (*known, added)[-ATTENTION_CAP:]
