"""What every built-in harness declares beside what it can do: where its configuration lies, and what it needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import inspan.harnesses
from inspan.conformance.outcomes import replay_in_mode
from inspan.host import HarnessHost
from inspan.model.reports import WillRetry
from inspan.plugin.manifest_file import load_manifest

ROOT = Path(inspan.harnesses.__file__).parent
REAL = sorted(
    file.parent.name for file in ROOT.glob("*/manifest.toml") if not load_manifest(file.parent).scripted
)


@pytest.mark.requirement("L16")
@pytest.mark.parametrize("harness", REAL)
def test_a_harness_says_where_its_configuration_lies_and_how_far_that_keeps_seats_apart(harness: str) -> None:
    view = HarnessHost(Path("/nowhere"), environ={}).view(harness)

    assert view.config is not None
    assert view.config.folder
    assert view.config.source
    # What isolates is said together with how: a variable, or another home.
    assert view.config.isolation in ("unknown", "home") or view.config.variable


@pytest.mark.requirement("H-A52")
@pytest.mark.parametrize("harness", REAL)
def test_busy_idle_waiting_and_session_id_name_their_mechanism_and_when_it_was_checked(harness: str) -> None:
    manifest = load_manifest(ROOT / harness)

    assert manifest.session.id_source
    for mode in manifest.modes.values():
        for claim in (mode.capabilities.activity, mode.capabilities.permission_report):
            if claim.is_supported:
                assert claim.note
                assert claim.source
                assert re.match(r"\d{4}-\d{2}-\d{2}[ ,]", claim.verified)


@pytest.mark.parametrize("harness", REAL)
def test_every_posture_that_is_shown_says_how_and_from_where_it_is_known(harness: str) -> None:
    for mode in HarnessHost(Path("/nowhere"), environ={}).view(harness).modes:
        assert len(mode.posture_rules) == len(mode.postures) > 0
        for rule in mode.posture_rules:
            assert rule.source
            assert rule.verified


@pytest.mark.parametrize("harness", REAL)
def test_a_one_shot_run_that_works_is_never_said_to_wait_for_an_answer_perhaps(harness: str) -> None:
    for mode in load_manifest(ROOT / harness).modes.values():
        # Its standard input has ended: nobody can be asked, so that what runs there does run.
        assert mode.transport != "headless" or mode.capabilities.permission_report.is_supported


def test_a_harness_that_never_answers_a_usage_limit_says_that_it_tries_again() -> None:
    mode = load_manifest(ROOT / "vibe").modes["acp"]

    reports = [one.report.body for one in replay_in_mode(ROOT / "vibe/recordings/acp.jsonl", mode).reports]

    waits = [body for body in reports if isinstance(body, WillRetry)]
    assert len(waits) > 10
    assert "rate_limited" in str(waits[0])
