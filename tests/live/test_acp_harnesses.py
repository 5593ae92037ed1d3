"""Two further harnesses over ACP, end to end: the same promises, and where each of them differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from support.live import gemini, qwen
from support.live.inspan_cli import InspanCli, spoken_text
from support.live.netns import Namespace
from support.live.target import Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SEAT = "tester"
SLOW = "SLOW [words=40] [interval=0.1]"
SLOW_TEXT = " ".join(f"slow-{index}" for index in range(40)) + " SLOW-END"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A harness, the variable without which it is not signed in, and whether it can resume over ACP."""

    harness: str
    target: Target
    key: str
    resumes: bool


CASES = (
    Case(harness="gemini", target=gemini.TARGET, key="GEMINI_API_KEY", resumes=False),
    Case(harness="qwen", target=qwen.TARGET, key="OPENAI_API_KEY", resumes=True),
)


@pytest.fixture(params=CASES, ids=[case.harness for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture
def inspan(case: Case, namespace: Namespace) -> Iterator[InspanCli]:
    with open_target(case.target, namespace) as ready:
        cli = InspanCli(ready.arena)
        cli.add_seat(SEAT, case.harness)
        yield cli
        assert ready.arena.model.unscripted() == []


def test_a_conversation_with_permissions_a_cancel_and_failures(case: Case, inspan: InspanCli) -> None:
    answered = inspan.send_and_wait(SEAT, "good morning")
    assert (answered["state"], answered["turn_outcome"]) == ("started", "completed")
    assert inspan.arena.model.times_prompted("good morning") == 1
    assert inspan.seat(SEAT)["session"]["mode"] == "default"

    allowed = inspan.send(SEAT, "TOOLSHELL [cmd=echo yes > allowed.txt]")
    inspan.call("approve", inspan.until_permission(SEAT))
    assert inspan.until_turn_ended(SEAT, allowed["id"])["outcome"] == "completed"
    assert (inspan.arena.workspace / "allowed.txt").read_text() == "yes\n"

    refused = inspan.send(SEAT, "PLAIN first, then TOOLSHELL [cmd=echo no > refused.txt]")
    inspan.call("deny", inspan.until_permission(SEAT))
    inspan.until_turn_ended(SEAT, refused["id"])
    assert not (inspan.arena.workspace / "refused.txt").exists()

    slow = inspan.send(SEAT, "SLOW [words=600] [interval=0.2]")
    inspan.until_spoken("slow-3")
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, slow["id"])["outcome"] == "cancelled"

    inspan.send_and_wait(SEAT, "AUTHFAIL please")
    turn = inspan.seat(SEAT)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == ("failed", "auth_required")
    assert turn["error"]["hint"]

    quota = inspan.send(SEAT, "QUOTA please")
    if case.harness == "gemini":
        turn = inspan.until_turn_ended(SEAT, quota["id"])
        assert (turn["outcome"], turn["error"]["code"]) == ("limited", "limited")
        return
    # It tries again for minutes and says nothing: the turn stays open, and a cancel ends it.
    model = inspan.arena.model
    inspan.until(lambda: model.times_prompted("QUOTA please") >= 1, "the request at the model")
    assert inspan.seat(SEAT)["in_flight"]["id"] == quota["id"]
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, quota["id"])["outcome"] == "cancelled"


def test_a_daemon_killed_in_mid_turn_follows_the_turn_to_its_end(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, SLOW)
    inspan.until_spoken("slow-3")
    inspan.kill_daemon()
    turn = inspan.until_turn_ended(SEAT, delivery["id"])
    assert turn["outcome"] == "completed"
    events = inspan.events()
    assert [envelope["position"] for envelope in events] == list(range(1, len(events) + 1))
    assert spoken_text(events, turn=turn["id"]) == SLOW_TEXT
    assert inspan.arena.model.times_prompted(SLOW) == 1


def test_after_a_kill_the_conversation_is_resumed_or_a_person_is_asked(case: Case, inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "the word is heron")
    before = inspan.seat(SEAT)["session"]["id"]
    delivery = inspan.send(SEAT, "HANG please")
    inspan.until_spoken("never")
    inspan.kill_harness(SEAT)
    assert inspan.until_turn_ended(SEAT, delivery["id"])["outcome"] == "failed"
    inspan.until(lambda: inspan.seat(SEAT)["launch"]["status"] == "ended", "the end of the launch")
    history = [one for one in inspan.events() if one["type"] == "message_chunk"]
    if case.resumes:
        assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"
        assert inspan.seat(SEAT)["session"]["id"] == before
        return
    # Its load over ACP destroys the conversation (observed), so nothing is loaded and a person decides.
    held = inspan.send(SEAT, "PLAIN again")
    seat = inspan.seat(SEAT)
    assert (seat["status"], seat["queue"][0]["held"]) == ("held", "awaiting_decision")
    assert seat["session"]["id"] == before
    inspan.call("start", SEAT, "--fresh")
    assert inspan.until_turn_ended(SEAT, held["id"])["outcome"] == "completed"
    assert [one for one in inspan.events() if one["type"] == "message_chunk"][: len(history)] == history


def test_without_a_sign_in_the_prompt_is_held_with_the_next_step(case: Case, namespace: Namespace) -> None:
    with open_target(case.target, namespace) as ready:
        del ready.arena.environment[case.key]
        inspan = InspanCli(ready.arena)
        inspan.add_seat(SEAT, case.harness)
        delivery = inspan.send(SEAT, "good morning")
        seat = inspan.until(
            lambda: shown if (shown := inspan.seat(SEAT))["status"] == "held" else None, "the held prompt"
        )
        assert seat["queue"][0]["id"] == delivery["id"]
        assert seat["launch"]["error"]["code"] == "auth_required"
        assert seat["launch"]["error"]["hint"]
        assert ready.arena.model.turns() == []
