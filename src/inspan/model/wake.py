"""Wakes: what it costs to start a harness again on a conversation that it has, as a fact of its manifest."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["WakeCost"]


class WakeCost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a start costs. Where it is `expensive`, core starts the harness only because somebody asked for it.

    Attributes:
        cost: `expensive`: each start pays for its context anew, or takes long.
        note: What it costs.
        source: Where that is known from.
        verified: Date and version.
    """

    cost: Literal["cheap", "expensive"]
    note: str = ""
    source: str = ""
    verified: str = ""
