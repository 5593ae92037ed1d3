"""How a turn ended in truth, which had only been seen to end: recorded, shown, and by a stronger source alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from inspan.model.events import TurnEnded
from inspan.model.evidence import Source
from inspan.model.reports import PromptAnswered, PromptCorrected, Reported
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.turn_events import TurnCorrected
from inspan.seats.inputs import TransportReported
from inspan.store import open_store
from support.seat_scene import Scene
from support.store.drafts import add_seat, appending, draft, launch, queue, sending, turn_ended

ERROR = CallError(code="limited", message="too many")


def tell(scene: Scene, body: PromptAnswered | PromptCorrected, source: Source, *, of: str = "") -> None:
    reported = Reported(body=body, source=source, rule="test")
    scene.give(TransportReported(launch=of or scene.launch, reported=reported))


def ended(source: Source = Source.SCREEN) -> Scene:
    scene = Scene().running()
    tell(scene, PromptAnswered(delivery="d-1", outcome=TurnOutcome.COMPLETED, raw_reason="idle"), source)
    assert scene.last(TurnEnded).outcome is TurnOutcome.COMPLETED
    return scene


def correction(delivery: str = "d-1", outcome: TurnOutcome = TurnOutcome.LIMITED) -> PromptCorrected:
    return PromptCorrected(delivery=delivery, outcome=outcome, raw_reason="hook.StopFailure", error=ERROR)


def test_the_newest_turn_is_corrected_once_and_says_what_it_was() -> None:
    scene = ended()
    for _ in range(2):
        tell(scene, correction(), Source.HOOK)
    assert scene.count(TurnCorrected) == 1
    said = scene.last(TurnCorrected)
    assert (said.was, said.outcome, said.error) == (TurnOutcome.COMPLETED, TurnOutcome.LIMITED, ERROR)
    last = scene.seat.last_turn
    assert last is not None
    assert (last.outcome, last.was, last.error) == (TurnOutcome.LIMITED, TurnOutcome.COMPLETED, ERROR)
    assert scene.count(TurnEnded) == 1


@pytest.mark.parametrize(
    ("body", "of"),
    [
        (correction("another"), ""),
        (correction(outcome=TurnOutcome.COMPLETED), ""),
        (correction(), "l_earlier"),
    ],
)
def test_nothing_else_is_corrected(body: PromptCorrected, of: str) -> None:
    scene = ended()
    tell(scene, body, Source.HOOK, of=of)
    assert scene.count(TurnCorrected) == 0


def test_a_turn_that_still_runs_is_not_corrected() -> None:
    scene = Scene().running()
    tell(scene, correction(), Source.HOOK)
    assert scene.count(TurnCorrected) == 0
    assert scene.seat.in_flight is not None


@pytest.mark.parametrize(
    ("ended_by", "outcome"),
    [
        (Source.SCREEN, TurnOutcome.LIMITED),
        (Source.TITLE, TurnOutcome.LIMITED),
        (Source.HOOK, TurnOutcome.COMPLETED),
        (Source.PROTOCOL, TurnOutcome.COMPLETED),
    ],
)
def test_only_a_stronger_source_changes_the_record_and_a_rebuild_comes_to_the_same(
    throwaway_home: Path, ended_by: Source, outcome: TurnOutcome
) -> None:
    said = TurnCorrected(
        turn="t1", delivery="d1", outcome=TurnOutcome.LIMITED, was=TurnOutcome.COMPLETED, error=ERROR
    )

    async def test() -> None:
        path = throwaway_home / "log.db"
        async with open_store(path) as store:
            turn = turn_ended("t1", "d1", TurnOutcome.COMPLETED, launch="l1", source=ended_by)
            begun = (add_seat(), *launch("l1"), queue("d1"), sending("d1", "t1", launch="l1"))
            await store.append(appending(*begun, turn, draft(said, launch="l1", source=Source.HOOK)))
            live = store.turn("t1")
            assert live is not None
            assert live.outcome is outcome
            assert live.was is (TurnOutcome.COMPLETED if outcome is TurnOutcome.LIMITED else None)
            await store.rebuild()
            assert store.turn("t1") == live

    asyncio.run(test())
