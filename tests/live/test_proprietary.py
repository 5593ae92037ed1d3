"""Claude Code and Copilot, which are not free software, over ACP and in one-shot runs: only where somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from support.live import claude, copilot
from support.live.inspan_cli import InspanCli, spoken_text
from support.live.netns import Namespace
from support.live.one_shot import SEAT, add_one_shot_seat, until_over
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(600),
    pytest.mark.opt_in("INSPAN_LIVE_PROPRIETARY"),
]

RECALLED = "I was told: the word is heron"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A harness in one mode: the variables without which it is not signed in, and what a bolder seat may do unasked."""

    harness: str
    target: Target
    signs_in: tuple[str, ...]
    bold: str = "edits"
    unasked: str = "TOOLWRITE [path=allowed.txt]"


CLAUDE = Case(harness="claude-code", target=claude.TARGET, signs_in=("ANTHROPIC_API_KEY",))
CLAUDE_ACP = Case(harness="claude-code", target=claude.ADAPTER, signs_in=("ANTHROPIC_API_KEY",))
COPILOT = Case(
    harness="copilot",
    target=copilot.TARGET,
    # Without a network it is told so by a variable, which asks for a provider.
    signs_in=tuple(
        f"COPILOT_{name}"
        for name in ("PROVIDER_TYPE", "PROVIDER_API_KEY", "PROVIDER_BASE_URL", "MODEL", "OFFLINE")
    ),
    bold="bypass",
    unasked="TOOLSHELL [cmd=echo yes > allowed.txt]",
)
OVER_ACP = pytest.mark.parametrize("case", [CLAUDE_ACP, COPILOT], ids=lambda case: case.harness)
ONE_SHOT = pytest.mark.parametrize("case", [CLAUDE, COPILOT], ids=lambda case: case.harness)


@pytest.fixture
def ready(case: Case, namespace: Namespace) -> Iterator[ReadyTarget]:
    """The harness in an arena of its own; what it asked for was scripted."""
    with open_target(case.target, namespace) as made:
        yield made
        assert made.arena.model.unscripted() == []


def acp_seat(ready: ReadyTarget, case: Case) -> InspanCli:
    inspan = InspanCli(ready.arena)
    inspan.add_seat(SEAT, case.harness)
    return inspan


def sign_out(ready: ReadyTarget, case: Case) -> None:
    for name in case.signs_in:
        ready.arena.environment.pop(name, None)


def assert_ended(inspan: InspanCli, outcome: str, code: str) -> None:
    turn = inspan.seat(SEAT)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == (outcome, code)
    assert turn["error"]["hint"]


@OVER_ACP
def test_a_conversation_with_permissions_and_a_cancel(case: Case, ready: ReadyTarget) -> None:
    inspan = acp_seat(ready, case)
    answered = inspan.send_and_wait(SEAT, "good morning")
    assert (answered["state"], answered["turn_outcome"]) == ("started", "completed")
    assert inspan.arena.model.times_prompted("good morning") == 1

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


@OVER_ACP
def test_a_usage_limit_and_a_refused_key_are_typed_errors(case: Case, ready: ReadyTarget) -> None:
    inspan = acp_seat(ready, case)
    inspan.send_and_wait(SEAT, "QUOTA please")
    assert_ended(inspan, "limited", "limited")
    inspan.send_and_wait(SEAT, "AUTHFAIL please")
    assert_ended(inspan, "failed", "auth_required")


@OVER_ACP
def test_after_a_kill_the_conversation_goes_on(case: Case, ready: ReadyTarget) -> None:
    inspan = acp_seat(ready, case)
    inspan.send_and_wait(SEAT, "the word is heron")
    before = inspan.seat(SEAT)["session"]["id"]
    delivery = inspan.send(SEAT, "HANG please")
    inspan.until_spoken("never")
    inspan.kill_harness(SEAT)
    assert inspan.until_turn_ended(SEAT, delivery["id"])["outcome"] == "failed"
    inspan.until(lambda: inspan.seat(SEAT)["launch"]["status"] == "ended", "the end of the launch")

    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    seat = inspan.seat(SEAT)
    assert seat["session"]["id"] == before
    assert "the word is heron" in spoken_text(inspan.events(), turn=seat["last_turn"]["id"])
    assert inspan.arena.model.times_prompted("HANG please") == 1


@OVER_ACP
def test_a_daemon_killed_in_mid_turn_follows_the_turn_to_its_end(case: Case, ready: ReadyTarget) -> None:
    inspan = acp_seat(ready, case)
    delivery = inspan.send(SEAT, "SLOW [words=40] [interval=0.1]")
    inspan.until_spoken("slow-3")
    inspan.kill_daemon()
    turn = inspan.until_turn_ended(SEAT, delivery["id"])
    assert turn["outcome"] == "completed"
    text = " ".join(f"slow-{index}" for index in range(40)) + " SLOW-END"
    assert spoken_text(inspan.events(), turn=turn["id"]) == text


@OVER_ACP
def test_over_acp_a_missing_sign_in_is_told_with_the_next_step(case: Case, ready: ReadyTarget) -> None:
    sign_out(ready, case)
    inspan = acp_seat(ready, case)
    delivery = inspan.send(SEAT, "good morning")

    def told() -> dict[str, str] | None:
        seat = inspan.seat(SEAT)
        turn = seat.get("last_turn")
        if turn and turn["delivery"] == delivery["id"] and turn.get("outcome"):
            return turn["error"]
        return seat["launch"]["error"] if seat["status"] == "held" else None

    error = inspan.until(told, "an error")
    assert error["code"] == "auth_required"
    assert error["hint"]
    assert ready.arena.model.turns() == []


@pytest.mark.parametrize("case", [CLAUDE_ACP], ids=["claude-code"])
def test_a_fork_over_acp_knows_what_was_said(case: Case, ready: ReadyTarget) -> None:
    inspan = acp_seat(ready, case)
    inspan.send_and_wait(SEAT, "the word is heron")
    parent = inspan.seat(SEAT)["session"]["id"]
    inspan.call("seat", "fork", SEAT, "branch")
    assert inspan.send_and_wait("branch", "RECALL please")["turn_outcome"] == "completed"
    branch = inspan.seat("branch")
    assert branch["session"]["id"] != parent
    assert spoken_text(inspan.events(), turn=branch["last_turn"]["id"]) == RECALLED
    assert inspan.send_and_wait(SEAT, "RECALL again")["turn_outcome"] == "completed"
    assert spoken_text(inspan.events(), turn=inspan.seat(SEAT)["last_turn"]["id"]) == RECALLED


@ONE_SHOT
def test_one_shot_runs_go_on_in_their_session_and_type_their_failures(case: Case, ready: ReadyTarget) -> None:
    inspan = add_one_shot_seat(ready.arena, case.harness)
    assert inspan.send_and_wait(SEAT, "the word is heron")["turn_outcome"] == "completed"
    before = until_over(inspan)
    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    after = until_over(inspan)
    assert after["session"]["id"] == before["session"]["id"]
    # Copilot puts the time in front of what it is told.
    said = spoken_text(inspan.events(), turn=after["last_turn"]["id"])
    assert said.startswith("I was told: ")
    assert said.endswith("the word is heron")

    inspan.send_and_wait(SEAT, "AUTHFAIL please")
    until_over(inspan)
    assert_ended(inspan, "failed", "auth_required")
    inspan.send_and_wait(SEAT, "QUOTA please")
    until_over(inspan)
    assert_ended(inspan, "limited", "limited")


@ONE_SHOT
def test_a_cautious_one_shot_seat_writes_nothing_and_says_what_would_allow_it(
    case: Case, ready: ReadyTarget
) -> None:
    inspan = add_one_shot_seat(ready.arena, case.harness)
    inspan.send_and_wait(SEAT, "TOOLSHELL [cmd=echo no > refused.txt]")
    until_over(inspan)
    (denied,) = [one["event"] for one in inspan.events() if one["type"] == "permission_denied"]
    assert "echo no > refused.txt" in denied["rule"]
    assert not (ready.arena.workspace / "refused.txt").exists()

    add_one_shot_seat(ready.arena, case.harness, name="bold", approvals=case.bold)
    assert inspan.send_and_wait("bold", case.unasked)["turn_outcome"] == "completed"
    assert (ready.arena.workspace / "allowed.txt").exists()


@ONE_SHOT
def test_a_one_shot_run_is_cancelled_or_killed_and_the_next_one_works(case: Case, ready: ReadyTarget) -> None:
    inspan = add_one_shot_seat(ready.arena, case.harness)
    assert inspan.send_and_wait(SEAT, "PLAIN first")["turn_outcome"] == "completed"
    slow = inspan.send(SEAT, "SLOW [words=600] [interval=0.2]")
    inspan.until(lambda: inspan.arena.model.times_prompted("SLOW") == 1, "the prompt")
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, slow["id"])["outcome"] == "cancelled"
    until_over(inspan)

    hung = inspan.send(SEAT, "HANG please")
    inspan.until(lambda: inspan.arena.model.times_prompted("HANG please") == 1, "the prompt")
    inspan.kill_harness(SEAT)
    assert inspan.until_turn_ended(SEAT, hung["id"])["outcome"] == "failed"
    assert until_over(inspan)["launch"]["signal"] == 9
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"


@ONE_SHOT
def test_a_one_shot_run_without_a_sign_in_fails_with_a_typed_error(case: Case, ready: ReadyTarget) -> None:
    sign_out(ready, case)
    inspan = add_one_shot_seat(ready.arena, case.harness)
    inspan.send_and_wait(SEAT, "good morning")
    until_over(inspan)
    assert_ended(inspan, "failed", "auth_required")
    assert ready.arena.model.turns() == []


@pytest.mark.parametrize("case", [CLAUDE], ids=["claude-code"])
def test_a_fork_of_a_one_shot_conversation_knows_what_was_said(case: Case, ready: ReadyTarget) -> None:
    inspan = add_one_shot_seat(ready.arena, case.harness)
    inspan.send_and_wait(SEAT, "the word is heron")
    parent = until_over(inspan)["session"]["id"]
    inspan.call("seat", "fork", SEAT, "branch")
    assert inspan.send_and_wait("branch", "RECALL please")["turn_outcome"] == "completed"
    branch = until_over(inspan, "branch")
    assert branch["session"]["id"] != parent
    assert spoken_text(inspan.events(), turn=branch["last_turn"]["id"]) == RECALLED
