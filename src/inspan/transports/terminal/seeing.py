"""Seeing: what a reading of a screen claims, as claims of the text and of the title."""

from __future__ import annotations

from datetime import datetime

from inspan.model.evidence import Source

from .claims import Claim, KeptError
from .evaluating import Match, Reading

__all__ = ["read_screen_claim", "read_title_claim"]


def read_screen_claim(reading: Reading, *, at: datetime, sequence: int) -> Claim | None:
    """What the text claims; `None` where no rule about an activity matched.

    An error that is seen belongs to the activity that is seen with it: it ended the turn, or is waited out.
    """
    return _claim(Source.SCREEN, reading.screen, reading.error, at=at, sequence=sequence)


def read_title_claim(reading: Reading, *, at: datetime, sequence: int) -> Claim | None:
    """What title and progress claim; `None` where no rule about them matched."""
    error = reading.error if reading.screen is None else None
    return _claim(Source.TITLE, reading.title, error, at=at, sequence=sequence)


def _claim(
    source: Source, match: Match | None, error: Match | None, *, at: datetime, sequence: int
) -> Claim | None:
    if match is None:
        return None
    rule = match.rule
    match rule.report:
        case "running" | "idle" | "needs_input":
            return Claim(
                source=source,
                rule=rule.name,
                activity=rule.report,
                at=at,
                sequence=sequence,
                kind=rule.owed,
                gate=rule.gate,
                error=None if error is None else _error(error),
                signs=rule.signs,
                evidence=match.evidence,
            )
        case "ready" | "limit" | "error" | "ignore":
            return None


def _error(match: Match) -> KeptError:
    return KeptError(
        code="limited" if match.rule.report == "limit" else match.rule.code,
        message=match.message or match.evidence,
        rule=match.rule.name,
        resets=match.resets,
    )
