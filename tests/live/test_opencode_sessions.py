"""OpenCode's sessions: forked, listed, set up, and taken up by another seat."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.live.inspan_cli import InspanCli, spoken_text
from support.live.target import ReadyTarget

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SEAT = "tester"


@pytest.fixture
def inspan(opencode: ReadyTarget) -> Iterator[InspanCli]:
    """Inspan with one seat on OpenCode that was told a word."""
    cli = InspanCli(opencode.arena)
    cli.add_seat(SEAT, "opencode")
    assert cli.send_and_wait(SEAT, "the word is heron")["turn_outcome"] == "completed"
    yield cli
    assert opencode.arena.model.unscripted() == []


def test_a_fork_knows_what_was_said_and_its_parent_nothing_of_the_fork(inspan: InspanCli) -> None:
    parent = inspan.seat(SEAT)["session"]["id"]
    inspan.call("seat", "fork", SEAT, "branch")

    assert inspan.send_and_wait("branch", "RECALL please")["turn_outcome"] == "completed"

    branch = inspan.seat("branch")
    assert branch["launch"]["attempt"] == "fork"
    assert branch["session"]["id"] != parent
    assert spoken_text(inspan.events(), turn=branch["last_turn"]["id"]) == "I was told: the word is heron"
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"
    assert inspan.seat(SEAT)["session"]["id"] == parent
    assert inspan.arena.model.turns()[-1]["user_texts"] == ["the word is heron", "PLAIN again"]


def test_sessions_are_listed_and_one_is_taken_up_by_another_seat(inspan: InspanCli) -> None:
    kept = inspan.seat(SEAT)["session"]["id"]
    (listed,) = inspan.call("session", "list", SEAT)["sessions"]
    assert (listed["id"], listed["workspace"]) == (kept, str(inspan.arena.workspace))
    inspan.add_seat("other", "opencode")
    assert (
        inspan.call("start", "other", "--session", kept, exit_status=4)["error"]["code"] == "session_in_use"
    )
    inspan.call("stop", SEAT)
    inspan.until(lambda: inspan.seat(SEAT)["launch"]["status"] == "ended", "the end of the launch")

    inspan.call("start", "other", "--session", kept)
    assert inspan.send_and_wait("other", "RECALL please")["turn_outcome"] == "completed"

    other = inspan.seat("other")
    assert (other["session"]["id"], other["session"]["provenance"]) == (kept, "chosen")
    assert spoken_text(inspan.events(), turn=other["last_turn"]["id"]) == "I was told: the word is heron"


def test_a_mode_is_in_force_once_the_harness_shows_it_and_a_strange_one_is_refused(inspan: InspanCli) -> None:
    session = inspan.seat(SEAT)["session"]
    assert "plan" in session["offered_modes"]

    after = inspan.call("seat", "set", SEAT, "--session-mode", "plan")

    (setting,) = [one for one in after["session"]["settings"] if one.get("by", "operator") == "operator"]
    assert (setting["effective"], setting["status"]) == ("plan", "effective")
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"
    refused = inspan.call("seat", "set", SEAT, "--model", "no/such", exit_status=2)["error"]
    assert refused["code"] == "option_unknown"
    assert "scripted-1" in refused["hint"]
