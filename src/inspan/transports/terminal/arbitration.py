"""Arbitration: which of several claims is believed, and why. Pure: the time is an argument.

The order of authority decides, with five exceptions that are all written here. A dialog that is drawn overrules
whatever else is said. A hook's word that work goes on holds for a limited time. A claim that came out of order is
dropped. A source that a weaker one contradicts for long loses its say until it speaks again, and the verdict
names it. And a program that asks to sign in, while its composer is free, has ended its turn with an error.

Nothing here makes `idle` out of silence: without a claim the verdict is `unknown`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from inspan.model.evidence import AUTHORITY, Source
from inspan.model.permission import NeedsInputKind
from inspan.model.screen_rules import Gate, Sign

from .claims import BackgroundWork, Claim, KeptError
from .standing import SEEN, Claims, Demotion, follow_contradictions

__all__ = ["FRESH_S", "Considered", "Verdict", "judge"]

FRESH_S = 15.0
"""How long a hook's word that work goes on is believed without another."""
DRAWN_S = 0.25
"""How long a program may take to draw what it said: until then an error of an earlier turn may still be shown."""


class Considered(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that was weighed, and what became of it."""

    claim: Claim
    outcome: Literal["believed", "agrees", "outranked", "overruled", "stale", "demoted"]
    reason: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is believed.

    Attributes:
        activity: What the session does.
        source: The source that is believed; `core` where there is none.
        rule: Its rule.
        at: When it was said; its age is for the reader to tell.
        kind: What a person owes.
        gate: Which gate is up.
        is_drawn: The dialog is on the screen, so that an answer can be typed; a record alone comes early.
        error: The error that is kept.
        signs: What was seen beside the activity.
        is_turn_over: A turn has ended.
        background: Work that goes on beside the turn.
        demoted: Sources that lost their say.
        considered: Every claim, the believed one first.
    """

    activity: Literal["unknown", "running", "idle", "needs_input"] = "unknown"
    source: Source = Source.CORE
    rule: str = "default"
    at: datetime | None = None
    kind: NeedsInputKind | None = None
    gate: Gate | None = None
    is_drawn: bool = False
    error: KeptError | None = None
    signs: tuple[Sign, ...] = ()
    is_turn_over: bool = False
    background: tuple[BackgroundWork, ...] = ()
    demoted: tuple[Demotion, ...] = ()
    considered: tuple[Considered, ...] = ()


def judge(
    claims: Claims, *, now: datetime, background: tuple[BackgroundWork, ...] = ()
) -> tuple[Claims, Verdict]:
    """Weigh the claims.

    Args:
        claims: The newest of every source.
        now: The time; it never runs backwards from one call to the next.
        background: Work beside the turn, passed on.

    Returns:
        The claims with their contradictions brought up to now, and the verdict.
    """
    claims = follow_contradictions(claims, now=now)
    ranked = _ranked(claims)
    usable = [claim for claim in ranked if not _doubt(claims, claim, now)]
    dialog = next((claim for claim in _seen(usable) if claim.activity == "needs_input"), None)
    top = dialog or (usable[0] if usable else None)
    demoted = tuple(claims.demotions.values())
    if top is None:
        considered = tuple(_considered(claims, ranked, None, now))
        return claims, Verdict(background=background, demoted=demoted, considered=considered)
    seen = {claim.source: claim for claim in _seen(usable)}
    is_fresh = (now - top.at).total_seconds() < DRAWN_S
    is_stale = top.source not in SEEN and is_fresh and claims.is_old_error(Source.SCREEN)
    verdict = _verdict(top, seen, is_error_stale=is_stale)
    return claims, msgspec.structs.replace(
        verdict,
        background=background,
        demoted=demoted,
        considered=tuple(_considered(claims, ranked, top, now)),
    )


def _verdict(top: Claim, seen: dict[Source, Claim], *, is_error_stale: bool) -> Verdict:
    screen = seen.get(Source.SCREEN)
    activity, error, kind, gate = top.activity, top.error, top.kind, top.gate
    if top.activity == "needs_input" and screen is not None:
        if screen.activity == "needs_input":
            kind, gate = screen.kind, screen.gate
        elif screen.activity == "idle" and kind is NeedsInputKind.LOGIN and top.source not in SEEN:
            activity, kind = "idle", None
            error = KeptError(code="auth_required", rule=top.rule)
    if screen is not None and screen.activity == activity:
        error = error if error is not None and is_error_stale else _join(error, screen.error)
    agreeing = [claim for claim in (top, *seen.values()) if claim.activity == activity]
    return Verdict(
        activity=activity,
        source=top.source,
        rule=top.rule,
        at=top.at,
        kind=kind,
        gate=gate,
        is_drawn=activity == "needs_input" and screen is not None and screen.activity == "needs_input",
        error=error,
        signs=tuple(dict.fromkeys(sign for claim in agreeing for sign in claim.signs)),
        is_turn_over=top.is_turn_over,
    )


def _join(said: KeptError | None, seen: KeptError | None) -> KeptError | None:
    """One error out of what was said and what was seen: the screen knows what it is, the program its words."""
    if said is None or seen is None:
        return said or seen
    return KeptError(
        code=seen.code or said.code,
        message=said.message or seen.message,
        rule=seen.rule or said.rule,
        resets=seen.resets or said.resets,
    )


def _ranked(claims: Claims) -> list[Claim]:
    """Strongest first; of equals, the one that spoke last."""
    return sorted(claims.newest.values(), key=lambda claim: (-AUTHORITY[claim.source], -claim.at.timestamp()))


def _seen(ranked: list[Claim]) -> list[Claim]:
    """What is seen now, the text before the title: it is what names a dialog."""
    return sorted(
        (claim for claim in ranked if claim.source in SEEN), key=lambda claim: AUTHORITY[claim.source]
    )


def _doubt(claims: Claims, claim: Claim, now: datetime) -> str:
    """Why a claim has no say; empty where it has."""
    if claim.source in claims.demotions:
        return claims.demotions[claim.source].reason
    if (
        claim.source is Source.HOOK
        and claim.activity == "running"
        and (now - claim.at).total_seconds() > FRESH_S
    ):
        return f"a hook said so more than {FRESH_S:g} s ago, and nothing since"
    return ""


def _considered(claims: Claims, ranked: list[Claim], top: Claim | None, now: datetime) -> list[Considered]:
    told: list[Considered] = []
    for claim in ranked:
        doubt = _doubt(claims, claim, now)
        if claim is top:
            told.insert(0, Considered(claim=claim, outcome="believed", reason=_why(claim, ranked)))
        elif doubt:
            outcome = "demoted" if claim.source in claims.demotions else "stale"
            told.append(Considered(claim=claim, outcome=outcome, reason=doubt))
        elif top is not None and claim.activity == top.activity:
            told.append(Considered(claim=claim, outcome="agrees", reason=f"{top.source} says the same"))
        elif top is not None and AUTHORITY[claim.source] > AUTHORITY[top.source]:
            told.append(
                Considered(claim=claim, outcome="overruled", reason="a dialog is drawn on the screen")
            )
        else:
            told.append(
                Considered(claim=claim, outcome="outranked", reason="a stronger source says otherwise")
            )
    return told


def _why(top: Claim, ranked: list[Claim]) -> str:
    if top.activity == "needs_input" and top.source in SEEN:
        return "a dialog that is seen overrules everything"
    return "the only claim" if len(ranked) == 1 else "the strongest claim that holds"
