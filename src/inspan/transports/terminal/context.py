"""How full the context is, as a console's footer or title shows it."""

from __future__ import annotations

import re

from inspan.model.context_usage import ContextCount, ContextSource, ContextUsage

from .screen import Snapshot

__all__ = ["read_context"]


def read_context(rule: ContextUsage, snapshot: Snapshot) -> int | None:
    """The percent of the context that is used, whole and rounded down; `None` where none is shown.

    Args:
        rule: Where it is shown.
        snapshot: What the screen shows; while it is half drawn nothing is read.
    """
    if snapshot.is_held or not rule.pattern:
        return None
    match rule.kind:
        case ContextSource.FOOTER:
            shown = [line for line in snapshot.lines if line.strip()][-rule.rows :]
        case ContextSource.TITLE:
            shown = [snapshot.title or ""]
        case ContextSource.PROTOCOL | ContextSource.UNKNOWN:
            return None
    found = [match["percent"] for line in shown for match in re.finditer(rule.pattern, line)]
    return _percent(found[-1], rule.counts) if found else None


def _percent(text: str, counts: ContextCount) -> int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not 0 <= value <= 100:
        return None
    return int(value if counts is ContextCount.USED else 100 - value)
