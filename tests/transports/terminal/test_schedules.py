"""Random schedules of prompts, dialogs, drafts, people, other programs and crashes: what never happens, never happens."""

from __future__ import annotations

import os

import pytest

from inspan.model.turn import TurnOutcome
from support.paper_console import Schedule

SCHEDULES = int(os.environ.get("INSPAN_SCHEDULES", "200"))
BATCH = 100


@pytest.mark.requirement("L9", "L11", "L8", "H-E8", "L22")
@pytest.mark.parametrize("batch", range(max(1, SCHEDULES // BATCH)))
def test_no_key_meets_what_it_was_not_meant_for_and_every_outcome_is_true(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        schedule = Schedule(seed)
        schedule.run()
        check(schedule, seed)


def check(schedule: Schedule, seed: int) -> None:
    console, core = schedule.console, schedule.core
    keys = console.logs.get("keys.jsonl", [])
    submitted = [one["text"] for one in console.logs.get("prompts.jsonl", [])]
    # No text and no Enter of ours met a dialog, a draft or another program.
    assert bytes(console.front) == b"", seed
    assert [key for key in keys if key["what"] == "text" and key["met"] in ("dialog", "draft")] == [], seed
    assert [key for key in keys if key["what"] == "enter" and key["met"] == "draft"] == [], seed
    assert [key for key in keys if key["what"] == "clear" and key["met"] != "composer"] == [], seed
    # What a dialog was answered is what somebody wanted for that very dialog.
    names = {"Yes": "allow_once", "Yes, always": "allow_always", "No": "reject_once"}
    given = [
        (one["asked"], names.get(one["choice"], one["choice"]))
        for one in console.logs.get("answers.jsonl", [])
    ]
    assert [answer for answer in given if answer not in schedule.intended] == [], seed
    # Nothing is doubled, and what was submitted is what was sent.
    assert len(submitted) == len(set(submitted)), seed
    assert set(submitted) <= set(schedule.texts.values()), seed
    # Nothing is lost: every prompt has an end, and the end is true.
    assert not core.queue, seed
    assert core.flight is None, seed
    assert set(core.ends) == set(schedule.texts), seed
    for delivery, text in schedule.texts.items():
        outcome, error = core.ends[delivery], core.errors.get(delivery)
        if text in submitted:
            is_denied = error in ("typing_swallowed", "typing_touched", "submit_ignored")
            assert not is_denied or outcome is TurnOutcome.LOST, (seed, delivery)
            assert delivery in core.rendered or outcome is TurnOutcome.LOST, (seed, delivery)
        else:
            doubtful = (TurnOutcome.FAILED, TurnOutcome.CANCELLED, TurnOutcome.LOST)
            assert outcome in doubtful, (seed, delivery, outcome, error)
            assert error is not None, (seed, delivery)
