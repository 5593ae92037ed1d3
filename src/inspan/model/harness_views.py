"""Views of what a harness can be told: postures, and how each is expressed."""

from __future__ import annotations

import msgspec

from .posture import Approvals, Sandbox

__all__ = ["PostureView"]


class PostureView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A posture that a mode can honour.

    Attributes:
        approvals: The first axis.
        sandbox: The second axis.
        how: How the harness is told, in words; empty where it is what the harness does by itself.
        source: Where that is known from.
        verified: Date and version.
    """

    approvals: Approvals
    sandbox: Sandbox
    how: str = ""
    source: str = ""
    verified: str = ""
