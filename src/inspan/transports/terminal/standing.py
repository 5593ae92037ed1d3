"""Standing: the newest claim of every source, and which sources have lost their say.

A claim that came out of order is dropped. A source that a weaker one contradicts for long loses its say until it
speaks again. Both are kept as values, so that a verdict can name them.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from inspan.model.evidence import AUTHORITY, Source
from inspan.model.permission import NeedsInputKind

from .claims import Claim

__all__ = [
    "CONTRADICTION_S",
    "NO_CLAIMS",
    "SEEN",
    "Claims",
    "Demotion",
    "accept_claim",
    "follow_contradictions",
    "withdraw_claim",
]

CONTRADICTION_S = 10.0
"""How long a weaker source may contradict a stronger one before the stronger loses its say."""

SEEN = (Source.TITLE, Source.SCREEN)
"""Sources that show what is so now, and are looked at again and again."""


class Demotion(msgspec.Struct, frozen=True, kw_only=True):
    """A source that lost its say, until it makes a claim of a higher sequence than `sequence`."""

    source: Source
    sequence: int
    at: datetime
    reason: str


class _Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    sequence: int
    against: str
    since: datetime


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """The newest claim of every source, and what became of their contradictions.

    Attributes:
        newest: By source.
        heard: The highest sequence of every source, also of claims that were withdrawn.
        contradictions: By the stronger source, since when it has been contradicted.
        demotions: By source.
        worked_at: When the newest spell of work began, whoever said so.
        errors_since: By source that is looked at, since when the error that it shows has been there.
    """

    newest: dict[Source, Claim] = {}
    heard: dict[Source, int] = {}
    contradictions: dict[Source, _Contradiction] = {}
    demotions: dict[Source, Demotion] = {}
    worked_at: datetime | None = None
    errors_since: dict[Source, datetime] = {}

    def is_old_error(self, source: Source) -> bool:
        """Whether the error that a source shows stood there before the newest work began."""
        since = self.errors_since.get(source)
        return since is not None and self.worked_at is not None and since < self.worked_at


NO_CLAIMS = Claims()


def accept_claim(claims: Claims, claim: Claim) -> Claims:
    """The claims with one more; one that is not newer than the newest of its source changes nothing."""
    if claim.sequence <= claims.heard.get(claim.source, -1):
        return claims
    return _heard(claims, claim.source, claim.sequence, claim)


def withdraw_claim(claims: Claims, source: Source, *, sequence: int) -> Claims:
    """The claims without that source's: it says nothing any more. One that came too late changes nothing."""
    if sequence <= claims.heard.get(source, -1):
        return claims
    return _heard(claims, source, sequence, None)


def follow_contradictions(claims: Claims, *, now: datetime) -> Claims:
    """The claims with their contradictions brought up to now: who has been contradicted for long loses its say."""
    contradictions: dict[Source, _Contradiction] = {}
    demotions = dict(claims.demotions)
    for claim in claims.newest.values():
        against = _against(claims, claim)
        if claim.source in demotions or against is None:
            continue
        before = claims.contradictions.get(claim.source)
        is_same = (
            before is not None
            and before.against == against.activity
            and (before.sequence == claim.sequence or claim.source in SEEN)
        )
        since = before.since if before is not None and is_same else now
        if (now - since).total_seconds() > CONTRADICTION_S:
            demotions[claim.source] = Demotion(
                source=claim.source,
                sequence=claim.sequence,
                at=now,
                reason=f"it says {claim.activity}, and {against.source} has said {against.activity} "
                f"for more than {CONTRADICTION_S:g} s",
            )
            continue
        contradictions[claim.source] = _Contradiction(
            sequence=claim.sequence, against=against.activity, since=since
        )
    return msgspec.structs.replace(claims, contradictions=contradictions, demotions=demotions)


def _heard(claims: Claims, source: Source, sequence: int, claim: Claim | None) -> Claims:
    before = claims.newest.get(source)
    newest = {other: kept for other, kept in claims.newest.items() if other is not source}
    if claim is not None:
        newest[source] = claim
    begins = claim is not None and claim.activity == "running" and not _is_running(before)
    return Claims(
        newest=newest,
        heard={**claims.heard, source: sequence},
        contradictions=claims.contradictions,
        demotions={
            other: demotion
            for other, demotion in claims.demotions.items()
            if other is not source or (source in SEEN and _is_same(claims, source, claim))
        },
        worked_at=claim.at if claim is not None and begins else claims.worked_at,
        errors_since=_errors_since(claims, source, before, claim),
    )


def _is_running(claim: Claim | None) -> bool:
    return claim is not None and claim.activity == "running"


def _errors_since(
    claims: Claims, source: Source, before: Claim | None, claim: Claim | None
) -> dict[Source, datetime]:
    """Since when each source that is looked at shows the error that it shows."""
    error = None if claim is None or source not in SEEN else claim.error
    others = {other: since for other, since in claims.errors_since.items() if other is not source}
    if claim is None or error is None:
        return others
    was = None if before is None else before.error
    is_same = was is not None and (was.code, was.rule, was.message) == (error.code, error.rule, error.message)
    return {**others, source: claims.errors_since.get(source, claim.at) if is_same else claim.at}


def _is_same(claims: Claims, source: Source, claim: Claim | None) -> bool:
    """Whether a source that is looked at again and again says what it said before: that is no new word."""
    before = claims.newest.get(source)
    return (
        before is not None
        and claim is not None
        and (before.rule, before.evidence) == (claim.rule, claim.evidence)
    )


def _against(claims: Claims, claim: Claim) -> Claim | None:
    """What is seen, by a weaker source, to be otherwise. A dialog needs no time: it overrules at once."""
    if AUTHORITY[claim.source] > AUTHORITY[Source.PROGRAM_STATUS]:
        return None
    for source in SEEN:
        other = claims.newest.get(source)
        if (
            other is not None
            and AUTHORITY[source] < AUTHORITY[claim.source]
            and other.activity != claim.activity
            and other.activity != "needs_input"
            and not (claim.kind is NeedsInputKind.LOGIN and other.activity == "idle")
        ):
            return other
    return None
