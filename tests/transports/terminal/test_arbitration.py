"""Arbitration: which claim is believed, what a contradiction does, and that silence never becomes idle."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.transports.terminal.arbitration import FRESH_S, Verdict, judge
from inspan.transports.terminal.claims import BackgroundWork, Claim, KeptError
from inspan.transports.terminal.standing import (
    CONTRADICTION_S,
    NO_CLAIMS,
    Claims,
    accept_claim,
    withdraw_claim,
)

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def claim(source: Source, activity: Any, *, seconds: float = 0, sequence: int = 1, **more: Any) -> Claim:
    if activity == "needs_input":
        more.setdefault("kind", NeedsInputKind.PERMISSION)
    return Claim(
        source=source,
        rule=f"{source}.{activity}",
        activity=activity,
        at=at(seconds),
        sequence=sequence,
        **more,
    )


def heard(*claims: Claim) -> Claims:
    known = NO_CLAIMS
    for each in claims:
        known = accept_claim(known, each)
    return known


def verdict_of(*claims: Claim, seconds: float = 0) -> Verdict:
    return judge(heard(*claims), now=at(seconds))[1]


@pytest.mark.requirement("L2")
def test_without_a_claim_the_verdict_is_unknown() -> None:
    verdict = verdict_of()
    assert (verdict.activity, verdict.source, verdict.rule) == ("unknown", Source.CORE, "default")


@pytest.mark.requirement("L1")
def test_the_strongest_source_is_believed() -> None:
    order = [Source.PROTOCOL, Source.PROGRAM_STATUS, Source.TITLE, Source.SCREEN, Source.PROCESS]
    for stronger, weaker in itertools.pairwise(order):
        verdict = verdict_of(claim(weaker, "idle"), claim(stronger, "running"))
        assert (verdict.activity, verdict.source) == ("running", stronger)
        assert [considered.outcome for considered in verdict.considered] == ["believed", "outranked"]


def test_of_two_equals_the_one_that_spoke_last_is_believed() -> None:
    status = claim(Source.PROGRAM_STATUS, "running", seconds=1)
    assert verdict_of(status, claim(Source.HOOK, "idle", seconds=2), seconds=2).activity == "idle"
    assert verdict_of(status, claim(Source.HOOK, "idle", seconds=0), seconds=2).activity == "running"


@pytest.mark.requirement("H-C3", "H-C4", "H-C8")
@pytest.mark.parametrize("source", [Source.HOOK, Source.PROGRAM_STATUS, Source.TITLE])
def test_a_dialog_on_the_screen_overrules_a_fresh_word_that_work_goes_on(source: Source) -> None:
    verdict = verdict_of(claim(source, "running"), claim(Source.SCREEN, "needs_input", gate="trust"))
    assert (verdict.activity, verdict.source, verdict.gate) == ("needs_input", Source.SCREEN, "trust")
    assert verdict.is_drawn
    assert [considered.outcome for considered in verdict.considered] == ["believed", "overruled"]


def test_a_record_that_asks_comes_before_its_dialog_and_cannot_be_answered_yet() -> None:
    status = claim(Source.PROGRAM_STATUS, "needs_input", kind=NeedsInputKind.QUESTION)
    early = verdict_of(status, claim(Source.SCREEN, "running"))
    assert (early.activity, early.kind, early.is_drawn) == ("needs_input", NeedsInputKind.QUESTION, False)
    drawn = verdict_of(status, claim(Source.SCREEN, "needs_input", kind=NeedsInputKind.PLAN))
    assert (drawn.activity, drawn.kind, drawn.is_drawn) == ("needs_input", NeedsInputKind.PLAN, True)


def test_the_screen_names_the_dialog_that_the_title_only_announces() -> None:
    verdict = verdict_of(
        claim(Source.TITLE, "needs_input"), claim(Source.SCREEN, "needs_input", kind=NeedsInputKind.QUESTION)
    )
    assert (verdict.kind, verdict.source) == (NeedsInputKind.QUESTION, Source.SCREEN)


@pytest.mark.requirement("H-C10")
def test_a_hook_that_is_not_refreshed_loses_its_say_and_leaves_unknown() -> None:
    hook = claim(Source.HOOK, "running")
    assert verdict_of(hook, seconds=FRESH_S).activity == "running"
    stale = verdict_of(hook, seconds=FRESH_S + 1)
    assert stale.activity == "unknown"
    assert stale.considered[0].outcome == "stale"
    again = claim(Source.HOOK, "running", seconds=FRESH_S, sequence=2)
    assert verdict_of(hook, again, seconds=FRESH_S + 1).activity == "running"


def test_a_status_record_holds_for_as_long_as_it_stands() -> None:
    assert verdict_of(claim(Source.PROGRAM_STATUS, "running"), seconds=3600).activity == "running"


@pytest.mark.requirement("DEC8")
def test_claims_that_come_out_of_order_are_dropped() -> None:
    known = heard(claim(Source.HOOK, "idle", sequence=5), claim(Source.HOOK, "running", sequence=4))
    assert judge(known, now=at(0))[1].activity == "idle"
    assert accept_claim(known, claim(Source.HOOK, "running", sequence=5)) is known
    gone = withdraw_claim(known, Source.HOOK, sequence=6)
    assert accept_claim(gone, claim(Source.HOOK, "running", sequence=6)) is gone
    assert withdraw_claim(gone, Source.HOOK, sequence=3) is gone


@pytest.mark.requirement("DEC8")
def test_a_contradiction_that_lasts_takes_a_source_its_say_and_the_verdict_names_it() -> None:
    known = heard(claim(Source.PROGRAM_STATUS, "running"), claim(Source.SCREEN, "idle"))
    known, verdict = judge(known, now=at(0))
    assert (verdict.activity, verdict.demoted) == ("running", ())
    known, verdict = judge(known, now=at(CONTRADICTION_S))
    assert verdict.activity == "running"
    known, verdict = judge(known, now=at(CONTRADICTION_S + 1))
    assert (verdict.activity, verdict.source) == ("idle", Source.SCREEN)
    (demotion,) = verdict.demoted
    assert demotion.source is Source.PROGRAM_STATUS
    assert "screen has said idle" in demotion.reason
    known = accept_claim(known, claim(Source.PROGRAM_STATUS, "running", sequence=2, seconds=20))
    _, verdict = judge(known, now=at(20))
    assert (verdict.activity, verdict.demoted) == ("running", ())


def test_a_contradiction_that_ends_in_between_starts_anew() -> None:
    known = heard(claim(Source.PROGRAM_STATUS, "running"), claim(Source.SCREEN, "idle"))
    known, _ = judge(known, now=at(0))
    known = accept_claim(known, claim(Source.SCREEN, "running", sequence=2))
    known, _ = judge(known, now=at(8))
    known = accept_claim(known, claim(Source.SCREEN, "idle", sequence=3))
    known, _ = judge(known, now=at(9))
    _, verdict = judge(known, now=at(18))
    assert verdict.activity == "running"


def test_a_title_that_is_looked_at_again_does_not_start_its_contradiction_anew() -> None:
    known = NO_CLAIMS
    verdict = Verdict()
    for number in range(30):
        known = accept_claim(known, claim(Source.TITLE, "running", sequence=number, seconds=number))
        known = accept_claim(known, claim(Source.SCREEN, "idle", sequence=number, seconds=number))
        known, verdict = judge(known, now=at(number))
    assert (verdict.activity, verdict.source) == ("idle", Source.SCREEN)
    assert [demotion.source for demotion in verdict.demoted] == [Source.TITLE]


@pytest.mark.requirement("H-C7", "H-N12")
def test_an_error_that_ended_a_turn_is_idle_with_the_error_kept() -> None:
    said = claim(Source.PROGRAM_STATUS, "idle", error=KeptError(message="no more"), is_turn_over=True)
    seen = claim(
        Source.SCREEN, "idle", error=KeptError(code="limited", message="limit", rule="quota", resets="5pm")
    )
    verdict = verdict_of(said, seen)
    assert (verdict.activity, verdict.is_turn_over) == ("idle", True)
    assert verdict.error == KeptError(code="limited", message="no more", rule="quota", resets="5pm")


def test_an_error_of_an_earlier_turn_does_not_name_a_new_one_that_is_not_drawn_yet() -> None:
    old = KeptError(code="auth_required", message="sign in", rule="login")
    new = KeptError(code="limited", message="quota is used up", rule="quota", resets="5pm")
    said = KeptError(message="429 quota")
    known = heard(
        claim(Source.SCREEN, "idle", error=old),
        claim(Source.PROGRAM_STATUS, "running", seconds=5),
        claim(Source.SCREEN, "running", error=old, seconds=5.1, sequence=2),
        claim(Source.SCREEN, "idle", error=old, seconds=8, sequence=3),
        claim(Source.PROGRAM_STATUS, "idle", error=said, seconds=8, sequence=2, is_turn_over=True),
    )
    assert judge(known, now=at(8.012))[1].error == said
    drawn = accept_claim(known, claim(Source.SCREEN, "idle", error=new, seconds=8.05, sequence=4))
    named = KeptError(code="limited", message="429 quota", rule="quota", resets="5pm")
    assert judge(drawn, now=at(8.05))[1].error == named


def test_the_same_error_in_two_turns_names_the_second_once_it_could_be_drawn() -> None:
    seen = KeptError(code="limited", message="limit", rule="quota")
    said = KeptError(message="429")
    known = heard(
        claim(Source.SCREEN, "idle", error=seen),
        claim(Source.PROGRAM_STATUS, "running", seconds=5),
        claim(Source.SCREEN, "idle", error=seen, seconds=8, sequence=2),
        claim(Source.PROGRAM_STATUS, "idle", error=said, seconds=8, sequence=2, is_turn_over=True),
    )
    assert judge(known, now=at(8))[1].error == said
    error = judge(known, now=at(8.25))[1].error
    assert error is not None
    assert (error.code, error.message) == ("limited", "429")


def test_an_error_that_is_seen_stays_when_the_record_forgets_it() -> None:
    seen = claim(Source.SCREEN, "idle", error=KeptError(code="limited"))
    assert verdict_of(claim(Source.PROGRAM_STATUS, "idle"), seen).error == KeptError(code="limited")
    assert verdict_of(claim(Source.PROGRAM_STATUS, "running"), seen).error is None


@pytest.mark.requirement("H-N13")
def test_a_sign_in_that_is_asked_for_beside_a_free_composer_is_an_error_of_the_turn() -> None:
    asks = claim(Source.PROGRAM_STATUS, "needs_input", kind=NeedsInputKind.LOGIN)
    assert verdict_of(asks).activity == "needs_input"
    verdict = verdict_of(asks, claim(Source.SCREEN, "idle"), seconds=60)
    assert verdict.activity == "idle"
    assert verdict.error is not None
    assert verdict.error.code == "auth_required"


@pytest.mark.requirement("L3")
def test_background_work_and_signs_stand_beside_the_activity() -> None:
    child = BackgroundWork(id="a", activity="running", at=START)
    known = heard(
        claim(Source.PROGRAM_STATUS, "running"), claim(Source.SCREEN, "running", signs=("retrying",))
    )
    _, verdict = judge(known, now=at(0), background=(child,))
    assert (verdict.activity, verdict.signs, verdict.background) == ("running", ("retrying",), (child,))


SOURCES = st.sampled_from([Source.PROTOCOL, Source.PROGRAM_STATUS, Source.HOOK, Source.TITLE, Source.SCREEN])
STEPS = st.lists(
    st.tuples(
        SOURCES,
        st.sampled_from(["running", "needs_input", "withdrawn", "running"]),
        st.integers(min_value=1, max_value=30),
        st.floats(min_value=0, max_value=40),
    ),
    max_size=25,
)


@pytest.mark.requirement("L2")
@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_nothing_ever_becomes_idle_unless_a_source_said_idle(
    steps: list[tuple[Source, str, int, float]],
) -> None:
    known, clock = NO_CLAIMS, 0.0
    for source, what, sequence, wait in steps:
        if what == "withdrawn":
            known = withdraw_claim(known, source, sequence=sequence)
        else:
            known = accept_claim(known, claim(source, what, sequence=sequence, seconds=clock))
        clock += wait
        known, verdict = judge(known, now=at(clock))
        assert verdict.activity != "idle"
        assert len(verdict.considered) == len(known.newest)
        if any(
            each.source is Source.SCREEN and each.activity == "needs_input" for each in known.newest.values()
        ):
            assert verdict.activity == "needs_input"


@settings(max_examples=100, deadline=None)
@given(
    activities=st.dictionaries(SOURCES, st.sampled_from(["running", "idle", "needs_input"]), max_size=5),
    order=st.randoms(use_true_random=False),
)
def test_the_verdict_does_not_depend_on_the_order_in_which_sources_spoke(
    activities: dict[Source, str], order: Any
) -> None:
    claims = [
        claim(source, activity, seconds=0.5 if source is Source.HOOK else 0)
        for source, activity in activities.items()
    ]
    shuffled = list(claims)
    order.shuffle(shuffled)
    assert verdict_of(*claims, seconds=1) == verdict_of(*shuffled, seconds=1)
