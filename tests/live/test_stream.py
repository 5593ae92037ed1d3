"""Harnesses in records of their own, end to end: command line, daemon, holder, harness and model, in the namespace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from support.live import claude, codex, pi
from support.live.arena import FAKE_KEY
from support.live.inspan_cli import InspanCli, Json, spoken_text
from support.live.netns import Namespace
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SEAT = "tester"
SLOW = "SLOW [words=40] [interval=0.1]"
SLOW_TEXT = " ".join(f"slow-{index}" for index in range(40)) + " SLOW-END"
LONG = "SLOW [words=600] [interval=0.2]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A harness, the posture of its seat, and whether it asks before it runs a command."""

    harness: str
    target: Target
    approvals: str = "ask"
    asks: bool = True


CODEX = Case(harness="codex", target=codex.TARGET)
PI = Case(harness="pi", target=pi.TARGET, approvals="bypass", asks=False)
CLAUDE = Case(harness="claude-code", target=claude.TARGET)
_PROPRIETARY = pytest.mark.opt_in("INSPAN_LIVE_PROPRIETARY")


def of(*cases: Case) -> pytest.MarkDecorator:
    """The test is about these harnesses."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=case.harness, marks=[_PROPRIETARY] if case is CLAUDE else [])
            for case in cases
        ],
    )


@pytest.fixture
def ready(case: Case, namespace: Namespace) -> Iterator[ReadyTarget]:
    """A harness in an arena of its own; what it asked for was scripted."""
    with open_target(case.target, namespace) as made:
        yield made
        assert made.arena.model.unscripted() == []


@pytest.fixture
def inspan(case: Case, ready: ReadyTarget) -> InspanCli:
    """Inspan with one seat that speaks to the harness in its own records."""
    return with_seat(case, ready)


def with_seat(case: Case, ready: ReadyTarget, name: str = SEAT) -> InspanCli:
    cli = InspanCli(ready.arena)
    how = ("--harness", case.harness, "--mode", "stream", "--approvals", case.approvals)
    cli.call("seat", "add", name, *how, "--workspace", str(ready.arena.workspace))
    return cli


def shell(command: str) -> str:
    """A prompt that makes the model run a command, outside of a sandbox where there is one."""
    return f"TOOLSHELL [escalate=1] [cmd={command}]"


def starts_of(inspan: InspanCli) -> int:
    return len([one for one in inspan.events() if one["type"] == "launch_starting"])


def last_turn(inspan: InspanCli, seat: str = SEAT) -> Json:
    return inspan.seat(seat)["last_turn"]


@pytest.mark.requirement("H-C7")
@of(CODEX, PI, CLAUDE)
def test_one_process_has_a_conversation_whose_failures_are_typed(inspan: InspanCli) -> None:
    first = inspan.send_and_wait(SEAT, "the word is heron")
    assert (first["state"], first["turn_outcome"]) == ("started", "completed")
    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    turn = last_turn(inspan)
    assert spoken_text(inspan.events(), turn=turn["id"]) == "I was told: the word is heron"

    inspan.send_and_wait(SEAT, "QUOTA please")
    turn = last_turn(inspan)
    assert (turn["outcome"], turn["error"]["code"]) == ("limited", "limited")
    inspan.send_and_wait(SEAT, "AUTHFAIL please")
    turn = last_turn(inspan)
    assert (turn["outcome"], turn["error"]["code"]) == ("failed", "auth_required")
    assert turn["error"]["hint"]
    assert inspan.seat(SEAT)["status"] == "idle"
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"
    assert starts_of(inspan) == 1


@pytest.mark.requirement("H-N17")
@of(CODEX, PI, CLAUDE)
def test_prompts_that_come_during_a_turn_wait_and_each_is_sent_once(inspan: InspanCli) -> None:
    prompts = [inspan.send(SEAT, text) for text in (SLOW, "PLAIN second", "PLAIN third")]
    inspan.until_turn_ended(SEAT, prompts[-1]["id"])
    ended = [one["event"]["delivery"] for one in inspan.events() if one["type"] == "turn_ended"]
    assert ended == [one["id"] for one in prompts]
    assert [inspan.arena.model.times_prompted(text) for text in (SLOW, "PLAIN second")] == [1, 1]


@pytest.mark.requirement("H-C13")
@of(CODEX, CLAUDE)
def test_a_permission_is_allowed_and_denied_from_the_command_line(inspan: InspanCli) -> None:
    allowed = inspan.send(SEAT, shell("echo yes > allowed.txt"))
    inspan.call("approve", inspan.until_permission(SEAT))
    assert inspan.until_turn_ended(SEAT, allowed["id"])["outcome"] == "completed"
    assert (inspan.arena.workspace / "allowed.txt").read_text() == "yes\n"

    refused = inspan.send(SEAT, shell("echo no > refused.txt"))
    request = inspan.until_permission(SEAT)
    opened = [one["event"] for one in inspan.events() if one["type"] == "permission_opened"]
    assert opened[-1]["request"] == request
    assert "echo no > refused.txt" in opened[-1]["tool_call"]["title"]
    inspan.call("deny", request)
    assert inspan.until_turn_ended(SEAT, refused["id"])["outcome"] == "completed"
    assert not (inspan.arena.workspace / "refused.txt").exists()


@of(PI)
def test_what_an_extension_asks_is_answered_by_the_posture(case: Case, ready: ReadyTarget) -> None:
    pi.write_gate(ready.arena.home)
    inspan = with_seat(case, ready)
    sent = inspan.send_and_wait(SEAT, shell("echo yes > confirmed.txt"))
    assert sent["turn_outcome"] == "completed"
    assert (ready.arena.workspace / "confirmed.txt").read_text() == "yes\n"
    (answered,) = [one["event"] for one in inspan.events() if one["type"] == "permission_answered"]
    assert (answered["decision"], answered["by"], answered["option"]) == ("allow", "posture", "yes")


@of(CODEX, PI, CLAUDE)
def test_a_cancel_ends_the_turn_in_mid_stream_and_at_once(inspan: InspanCli) -> None:
    slow = inspan.send(SEAT, LONG)
    inspan.until_spoken("slow-3")
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, slow["id"])["outcome"] == "cancelled"
    again = inspan.send(SEAT, LONG)
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, again["id"])["outcome"] == "cancelled"
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"
    assert starts_of(inspan) == 1


@of(CODEX, CLAUDE)
def test_a_cancel_answers_an_open_permission_and_ends_the_turn(inspan: InspanCli) -> None:
    asked = inspan.send(SEAT, shell("echo no > cancelled.txt"))
    inspan.until_permission(SEAT)
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, asked["id"])["outcome"] == "cancelled"
    assert not inspan.seat(SEAT).get("needs_input")
    assert not (inspan.arena.workspace / "cancelled.txt").exists()
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"


@of(CODEX, PI, CLAUDE)
def test_after_a_kill_the_conversation_goes_on_in_another_process(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "the word is heron")
    before = inspan.seat(SEAT)["session"]["id"]
    delivery = inspan.send(SEAT, "HANG please")
    inspan.until_spoken("never")
    inspan.kill_harness(SEAT)
    assert inspan.until_turn_ended(SEAT, delivery["id"])["outcome"] == "failed"
    inspan.until(lambda: inspan.seat(SEAT)["launch"]["status"] == "ended", "the end of the launch")
    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    seat = inspan.seat(SEAT)
    assert (seat["session"]["id"], seat["session"]["resume_outcome"]) == (before, "resumed")
    assert "the word is heron" in spoken_text(inspan.events(), turn=seat["last_turn"]["id"])
    assert inspan.arena.model.times_prompted("HANG please") == 1


@of(CODEX, PI, CLAUDE)
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


@of(CODEX, CLAUDE)
def test_a_permission_that_was_open_when_the_daemon_died_is_answered_after_it(inspan: InspanCli) -> None:
    asked = inspan.send(SEAT, shell("echo late > late.txt"))
    request = inspan.until_permission(SEAT)
    inspan.kill_daemon()
    assert inspan.until_permission(SEAT) == request
    inspan.call("approve", request)
    assert inspan.until_turn_ended(SEAT, asked["id"])["outcome"] == "completed"
    assert (inspan.arena.workspace / "late.txt").read_text() == "late\n"
    assert inspan.call("approve", request, exit_status=None)["error"]["code"] == "permission_closed"


@of(CODEX, PI)
def test_a_fork_knows_what_was_said_and_its_parent_nothing_of_the_fork(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "the word is heron")
    parent = inspan.seat(SEAT)["session"]["id"]
    inspan.call("seat", "fork", SEAT, "branch")
    assert inspan.send_and_wait("branch", "RECALL please")["turn_outcome"] == "completed"
    branch = inspan.seat("branch")
    assert branch["session"]["id"] != parent
    assert spoken_text(inspan.events(), turn=branch["last_turn"]["id"]) == "I was told: the word is heron"
    assert inspan.send_and_wait(SEAT, "RECALL again")["turn_outcome"] == "completed"
    turn = last_turn(inspan)
    assert spoken_text(inspan.events(), turn=turn["id"]) == "I was told: the word is heron"


@of(CODEX, PI, CLAUDE)
def test_a_conversation_that_is_gone_is_not_replaced_silently(case: Case, inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "PLAIN first")
    inspan.call("stop", SEAT)
    inspan.until(lambda: inspan.seat(SEAT)["launch"]["status"] == "ended", "the end of the launch")
    folder = {"codex": ".codex/sessions", "pi": ".pi/agent/sessions", "claude-code": ".claude/projects"}
    kept = list((inspan.arena.home / folder[case.harness]).rglob("*.jsonl"))
    assert kept
    for file in kept:
        file.unlink()
    held = inspan.send(SEAT, "PLAIN second")
    inspan.until(lambda: inspan.seat(SEAT)["status"] == "held", "the held prompt")
    seat = inspan.seat(SEAT)
    assert seat["session"]["resume_outcome"] == "missing"
    assert seat["launch"]["error"]["code"] == "session_missing"
    inspan.call("start", SEAT, "--fresh")
    assert inspan.until_turn_ended(SEAT, held["id"])["outcome"] == "completed"


@of(CODEX, PI)
def test_without_a_key_the_turn_fails_with_a_typed_error(case: Case, ready: ReadyTarget) -> None:
    ready.arena.environment.pop("OPENAI_API_KEY", None)
    models = ready.arena.home / ".pi" / "agent" / "models.json"
    if models.exists():
        models.write_text(models.read_text().replace(FAKE_KEY, "$NO_SUCH_KEY"))
    inspan = with_seat(case, ready)
    sent = inspan.send_and_wait(SEAT, "good morning")
    error = sent.get("error") or last_turn(inspan)["error"]
    assert error["code"] == "auth_required", (sent, inspan.seat(SEAT))
    assert ready.arena.model.turns() == []
