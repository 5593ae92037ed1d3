"""Findings: what lint has to say of a harness's folder."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Finding"]


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that was found.

    Attributes:
        severity: A `fault`, or an `advice`.
        rule: A key of `lint.RULES`.
        at: The key in the manifest, or the file.
        message: The fact.
        hint: The next thing to do.
    """

    severity: Literal["fault", "advice"]
    rule: str
    at: str
    message: str
    hint: str = ""
