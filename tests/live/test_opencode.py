"""OpenCode end to end: command line, daemon, holder, harness and model, in the sealed namespace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.live.inspan_cli import InspanCli, Json, spoken_text
from support.live.target import ReadyTarget

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SEAT = "tester"
SLOW = "SLOW [words=40] [interval=0.1]"
SLOW_TEXT = " ".join(f"slow-{index}" for index in range(40)) + " SLOW-END"


@pytest.fixture
def inspan(opencode: ReadyTarget) -> Iterator[InspanCli]:
    """Inspan with one seat on OpenCode. Whatever a test did, nothing left the namespace unanswered."""
    cli = InspanCli(opencode.arena)
    cli.add_seat(SEAT, "opencode")
    yield cli
    assert opencode.arena.model.unscripted() == []


def _assert_nothing_lost_or_doubled(inspan: InspanCli, turn: Json, text: str) -> list[Json]:
    events = inspan.events()
    assert [envelope["position"] for envelope in events] == list(range(1, len(events) + 1))
    assert spoken_text(events, turn=turn["id"]) == text
    ends = [one for one in events if one["type"] == "turn_ended" and one["event"]["turn"] == turn["id"]]
    assert len(ends) == 1
    return events


def test_a_prompt_is_answered_and_reaches_the_model_once(inspan: InspanCli) -> None:
    delivery = inspan.send_and_wait(SEAT, "good morning")
    assert (delivery["state"], delivery["turn_outcome"]) == ("started", "completed")
    turn = inspan.seat(SEAT)["last_turn"]
    _assert_nothing_lost_or_doubled(inspan, turn, "The scripted model answers plainly. PLAIN-ANSWER")
    assert inspan.arena.model.times_prompted("good morning") == 1


def test_an_allowed_command_runs(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, "TOOLSHELL [cmd=echo yes > allowed.txt]")
    request = inspan.until_permission(SEAT)
    assert not (inspan.arena.workspace / "allowed.txt").exists()
    inspan.call("approve", request)
    turn = inspan.until_turn_ended(SEAT, delivery["id"])
    assert turn["outcome"] == "completed"
    assert (inspan.arena.workspace / "allowed.txt").read_text() == "yes\n"


def test_a_refused_command_does_not_run(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, "TOOLSHELL [cmd=echo no > refused.txt]")
    inspan.call("deny", inspan.until_permission(SEAT))
    inspan.until_turn_ended(SEAT, delivery["id"])
    assert not (inspan.arena.workspace / "refused.txt").exists()
    answered = [one["event"] for one in inspan.events() if one["type"] == "permission_answered"]
    assert [(one["decision"], one["option"]) for one in answered] == [("deny", "reject")]


def test_a_cancel_in_mid_stream_ends_the_turn_as_cancelled(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, "SLOW [words=600] [interval=0.2]")
    inspan.until_spoken("slow-3")
    inspan.call("cancel", SEAT)
    turn = inspan.until_turn_ended(SEAT, delivery["id"])
    assert turn["outcome"] == "cancelled"
    assert "SLOW-END" not in spoken_text(inspan.events())
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"


def test_a_harness_killed_in_mid_turn_ends_the_turn_and_leaves_the_seat_usable(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, "HANG please")
    inspan.until_spoken("never")
    inspan.kill_harness(SEAT)
    turn = inspan.until_turn_ended(SEAT, delivery["id"])
    assert turn["outcome"] in ("failed", "lost")
    assert inspan.seat(SEAT)["launch"]["signal"] == 9
    assert inspan.arena.model.times_prompted("HANG please") == 1


def test_a_daemon_killed_in_mid_turn_follows_the_turn_to_its_end(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, SLOW)
    inspan.until_spoken("slow-3")
    launch = inspan.seat(SEAT)["launch"]
    inspan.kill_daemon()
    turn = inspan.until_turn_ended(SEAT, delivery["id"])  # the first command starts a new daemon
    assert turn["outcome"] == "completed"
    _assert_nothing_lost_or_doubled(inspan, turn, SLOW_TEXT)
    assert inspan.seat(SEAT)["launch"]["pid"] == launch["pid"]
    assert inspan.arena.model.times_prompted(SLOW) == 1


def test_a_turn_that_ends_while_no_daemon_lives_is_recorded_afterwards(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, SLOW)
    inspan.until_spoken("slow-3")
    inspan.kill_daemon()
    model = inspan.arena.model
    number = next(turn["number"] for turn in model.turns() if SLOW in turn["last_user_text"])
    inspan.until(
        lambda: any(line["kind"] == "ended" and line["number"] == number for line in model.lines()),
        "the end of the answer",
    )
    turn = inspan.until_turn_ended(SEAT, delivery["id"])
    assert turn["outcome"] == "completed"
    _assert_nothing_lost_or_doubled(inspan, turn, SLOW_TEXT)
    assert model.times_prompted(SLOW) == 1


def test_a_permission_asked_before_the_daemon_was_killed_is_answered_after_it(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, "TOOLSHELL [cmd=echo late >> late.txt]")
    request = inspan.until_permission(SEAT)
    inspan.kill_daemon()
    assert inspan.until_permission(SEAT) == request
    inspan.call("approve", request)
    assert inspan.until_turn_ended(SEAT, delivery["id"])["outcome"] == "completed"
    assert (inspan.arena.workspace / "late.txt").read_text() == "late\n"


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_conversation_is_resumed_under_the_same_session_id(inspan: InspanCli, end: str) -> None:
    inspan.send_and_wait(SEAT, "the word is heron")
    before = inspan.seat(SEAT)
    if end == "stop":
        inspan.call("stop", SEAT)
    else:
        inspan.kill_harness(SEAT)
    inspan.until(lambda: inspan.seat(SEAT)["launch"]["status"] == "ended", "the end of the launch")
    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    after = inspan.seat(SEAT)
    assert after["session"]["id"] == before["session"]["id"]
    assert after["session"]["resume_outcome"] == "resumed"
    assert after["launch"]["id"] != before["launch"]["id"]
    turn = after["last_turn"]["id"]
    assert spoken_text(inspan.events(), turn=turn) == "I was told: the word is heron"
    newest = inspan.arena.model.turns()[-1]
    assert newest["user_texts"] == ["the word is heron", "RECALL please"]
