"""Context usage: where it is told how full a conversation's context is."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

__all__ = ["ContextCount", "ContextSource", "ContextUsage"]


class ContextSource(StrEnum):
    """What tells how full the context is.

    `protocol`: a message of its own. `footer`: the lowest lines of the screen. `title`: the terminal's title.
    `unknown`: nobody said.
    """

    PROTOCOL = "protocol"
    FOOTER = "footer"
    TITLE = "title"
    UNKNOWN = "unknown"


class ContextCount(StrEnum):
    """What the number counts: what is `used`, or what is `left`."""

    USED = "used"
    LEFT = "left"


class ContextUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where one mode tells how full the context is.

    The value is a whole percent, rounded down. A fresh chat may show none.

    Attributes:
        kind: What tells it. `protocol` needs no more; what comes by it is taken whatever stands here.
        pattern: For `footer` and `title`: regular expression whose group `percent` is the number; the last match
            counts.
        counts: What the number counts.
        rows: For `footer`: how many of the lowest rows that are not empty are read.
        source: Where the fact comes from.
        verified: Date and version.
    """

    kind: ContextSource = ContextSource.UNKNOWN
    pattern: str = ""
    counts: ContextCount = ContextCount.USED
    rows: Annotated[int, msgspec.Meta(ge=1, le=20)] = 6
    source: str = ""
    verified: str = ""
