"""Evidence: which source said something, by which rule, and how much it weighs."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["AUTHORITY", "Source"]


class Source(StrEnum):
    """Where a report or an event comes from."""

    PROTOCOL = "protocol"
    PROGRAM_STATUS = "program_status"
    HOOK = "hook"
    TITLE = "title"
    SCREEN = "screen"
    PROCESS = "process"
    OPERATOR = "operator"
    POLICY = "policy"
    CORE = "core"


AUTHORITY: dict[Source, int] = {
    Source.OPERATOR: 6,
    Source.PROTOCOL: 5,
    Source.PROGRAM_STATUS: 4,
    Source.HOOK: 4,
    Source.TITLE: 3,
    Source.SCREEN: 2,
    Source.PROCESS: 1,
    Source.POLICY: 0,
    Source.CORE: 0,
}
"""Which source prevails over which when they disagree about activity; more is stronger."""
