"""One-shot runs of real harnesses, end to end: command line, daemon, holder, harness and model, in the namespace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import pytest

from support.live import codex, gemini, opencode, pi, qwen
from support.live.arena import FAKE_KEY
from support.live.inspan_cli import InspanCli, spoken_text
from support.live.netns import Namespace
from support.live.one_shot import SEAT, add_one_shot_seat, until_over
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

TARGETS: dict[str, Target] = {
    "codex": codex.TARGET,
    "gemini": gemini.TARGET,
    "opencode": opencode.TARGET,
    "pi": pi.TARGET,
    "qwen": qwen.TARGET,
}
POSTURES = {"pi": "bypass"}
"""The posture of a seat where it is not the default one."""

SLOW = "SLOW [words=30] [interval=0.1]"
SLOW_TEXT = " ".join(f"slow-{index}" for index in range(30)) + " SLOW-END"
PLAIN_TEXT = "The scripted model answers plainly. PLAIN-ANSWER"


@pytest.fixture(params=sorted(TARGETS))
def ready(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[ReadyTarget]:
    """A harness in an arena of its own; what it asked for was scripted."""
    with open_target(TARGETS[request.param], namespace) as made:
        yield made
        assert made.arena.model.unscripted() == []


@pytest.fixture
def inspan(ready: ReadyTarget) -> InspanCli:
    """Inspan with one seat that runs the harness once for each prompt."""
    return with_seat(ready)


def with_seat(ready: ReadyTarget, *, name: str = SEAT, posture: str | None = None) -> InspanCli:
    pin = ready.target.pin
    return add_one_shot_seat(ready.arena, pin, name=name, approvals=posture or POSTURES.get(pin, "ask"))


def only(*names: str, on_request: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """The test is about some of the harnesses alone, and about slower ones where somebody asks for all."""
    more = [pytest.param(name, marks=pytest.mark.opt_in("INSPAN_LIVE_ALL")) for name in on_request]
    return pytest.mark.parametrize("ready", [*names, *more], indirect=True)


@pytest.mark.requirement("H-B18", "H-D14", "H-N55")
def test_a_prompt_is_answered_the_next_run_resumes_and_a_refused_key_is_a_typed_error(
    inspan: InspanCli,
) -> None:
    first = inspan.send_and_wait(SEAT, "the word is heron")
    assert (first["state"], first["turn_outcome"]) == ("started", "completed")
    before = until_over(inspan)
    assert (before["status"], before["launch"]["reason"]) == ("idle", "done")
    assert inspan.arena.model.times_prompted("the word is heron") == 1

    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    after = until_over(inspan)
    assert after["session"]["id"] == before["session"]["id"]
    assert after["session"]["resume_outcome"] == "resumed"

    inspan.send_and_wait(SEAT, "AUTHFAIL please")
    turn = until_over(inspan)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == ("failed", "auth_required")
    assert turn["error"]["hint"]
    events = inspan.events()
    assert spoken_text(events, turn=before["last_turn"]["id"]) == PLAIN_TEXT
    assert "the word is heron" in spoken_text(events, turn=after["last_turn"]["id"])
    assert len([one for one in events if one["type"] == "launch_starting"]) == 3


@only("codex", "pi", on_request=("opencode",))
def test_a_usage_limit_is_one_whatever_the_exit_status(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "QUOTA please")
    turn = until_over(inspan)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == ("limited", "limited")


@only("gemini")
def test_a_conversation_that_got_no_answer_is_not_kept_and_nothing_replaces_it_silently(
    inspan: InspanCli,
) -> None:
    inspan.send_and_wait(SEAT, "QUOTA please")
    turn = until_over(inspan)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == ("limited", "limited")
    refused = inspan.send_and_wait(SEAT, "PLAIN again")
    assert (refused["state"], refused["error"]["code"]) == ("refused", "session_missing")
    until_over(inspan)
    waiting = inspan.send(SEAT, "PLAIN at last")
    assert inspan.seat(SEAT)["status"] == "held"
    inspan.call("start", SEAT, "--fresh")
    assert inspan.until_turn_ended(SEAT, waiting["id"])["outcome"] == "completed"


@only("qwen")
def test_a_wait_for_another_attempt_has_a_deadline_and_can_be_cancelled(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, "QUOTA please")
    inspan.until(lambda: "try again" in inspan.seat(SEAT)["activity"]["why"], "a retry")
    assert inspan.seat(SEAT)["status"] == "running"
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, delivery["id"])["outcome"] == "cancelled"
    assert until_over(inspan)["status"] == "idle"
    (said,) = [one for one in inspan.events() if one["type"] == "retrying"]
    wait = datetime.fromisoformat(said["event"]["retry_at"]) - datetime.fromisoformat(said["at"])
    assert wait.total_seconds() == pytest.approx(60, abs=1)


@only("codex", "pi", on_request=("gemini", "opencode", "qwen"))
def test_a_run_killed_in_mid_turn_fails_its_turn_and_the_next_one_works(inspan: InspanCli) -> None:
    assert inspan.send_and_wait(SEAT, "PLAIN first")["turn_outcome"] == "completed"
    delivery = inspan.send(SEAT, "HANG please")
    inspan.until(lambda: inspan.arena.model.times_prompted("HANG please") == 1, "the prompt")
    inspan.kill_harness(SEAT)
    assert inspan.until_turn_ended(SEAT, delivery["id"])["outcome"] == "failed"
    assert until_over(inspan)["launch"]["signal"] == 9
    assert inspan.arena.model.times_prompted("HANG please") == 1
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"


@only("pi", on_request=("codex", "gemini", "opencode"))
def test_a_cancel_in_mid_stream_stops_the_run(inspan: InspanCli) -> None:
    slow = "SLOW [words=600] [interval=0.2]"
    delivery = inspan.send(SEAT, slow)
    # Not all of them stream: that the model was asked is what they have in common.
    inspan.until(lambda: inspan.arena.model.times_prompted(slow) == 1, "the prompt")
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, delivery["id"])["outcome"] == "cancelled"
    assert until_over(inspan)["status"] == "idle"


@only("codex", "pi", on_request=("gemini", "opencode", "qwen"))
def test_a_daemon_killed_in_mid_run_follows_it_to_its_end_and_loses_nothing(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, SLOW)
    inspan.until(lambda: inspan.arena.model.times_prompted(SLOW) == 1, "the prompt")
    pid = inspan.seat(SEAT)["launch"]["pid"]
    inspan.kill_daemon()
    turn = inspan.until_turn_ended(SEAT, delivery["id"])  # the first command starts a new daemon
    assert turn["outcome"] == "completed"
    seat = until_over(inspan)
    assert (seat["launch"]["pid"], seat["launch"]["reason"]) == (pid, "done")
    events = inspan.events()
    assert [one["position"] for one in events] == list(range(1, len(events) + 1))
    assert spoken_text(events, turn=turn["id"]) == SLOW_TEXT
    assert inspan.arena.model.times_prompted(SLOW) == 1


@pytest.mark.requirement("H-N17")
@only("codex", "pi")
def test_prompts_that_come_during_a_run_have_runs_of_their_own(inspan: InspanCli) -> None:
    first = inspan.send(SEAT, SLOW)
    second = inspan.send(SEAT, "PLAIN second")
    third = inspan.send_and_wait(SEAT, "RECALL third")
    assert third["turn_outcome"] == "completed"
    events = inspan.events()
    turns = [one["event"] for one in events if one["type"] == "turn_ended"]
    assert [turn["delivery"] for turn in turns] == [first["id"], second["id"], third["id"]]
    assert len([one for one in events if one["type"] == "launch_starting"]) == 3


@only("codex", "pi", on_request=("opencode", "qwen"))
def test_a_fork_knows_what_was_said_and_its_parent_nothing_of_the_fork(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "the word is heron")
    parent = until_over(inspan)["session"]["id"]
    inspan.call("seat", "fork", SEAT, "branch")
    assert inspan.send_and_wait("branch", "RECALL please")["turn_outcome"] == "completed"
    branch = until_over(inspan, "branch")
    assert branch["session"]["id"] != parent
    assert spoken_text(inspan.events(), turn=branch["last_turn"]["id"]) == "I was told: the word is heron"
    assert inspan.send_and_wait(SEAT, "RECALL again")["turn_outcome"] == "completed"
    seat = until_over(inspan)
    assert seat["session"]["id"] == parent
    assert spoken_text(inspan.events(), turn=seat["last_turn"]["id"]) == "I was told: the word is heron"


@pytest.mark.requirement("H-F3")
@only("opencode")
def test_a_denied_command_is_reported_with_the_rule_that_allows_it(ready: ReadyTarget) -> None:
    inspan = with_seat(ready)
    inspan.send_and_wait(SEAT, "TOOLSHELL [cmd=echo no > refused.txt]")
    until_over(inspan)
    (denied,) = [one["event"] for one in inspan.events() if one["type"] == "permission_denied"]
    assert denied["rule"] == '"permission": {"bash": {"echo no > refused.txt": "allow"}}'
    assert denied["is_shared"] is True
    assert not (ready.arena.workspace / "refused.txt").exists()


@only("codex", "gemini", on_request=("opencode", "qwen"))
def test_a_cautious_seat_runs_no_command_that_writes_and_a_bypassing_one_does(ready: ReadyTarget) -> None:
    inspan = with_seat(ready)
    inspan.send_and_wait(SEAT, "TOOLSHELL [cmd=echo no > refused.txt]")
    # What an operator's own rules say prevails over a posture, so that a bypassing seat has none of them here.
    own = ready.arena.home / ".config" / "opencode" / "opencode.json"
    if own.exists():
        settings = json.loads(own.read_text())
        own.write_text(json.dumps({key: value for key, value in settings.items() if key != "permission"}))
    with_seat(ready, name="bold", posture="bypass")
    bold = inspan.send_and_wait("bold", "TOOLSHELL [cmd=echo yes > allowed.txt]")
    assert bold["turn_outcome"] == "completed"
    assert (ready.arena.workspace / "allowed.txt").read_text() == "yes\n"
    assert not (ready.arena.workspace / "refused.txt").exists()


@pytest.mark.requirement("H-N55")
@only("codex", "gemini", "pi", "qwen")
def test_without_a_sign_in_the_turn_fails_with_a_typed_error(ready: ReadyTarget) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        ready.arena.environment.pop(name, None)
    models = ready.arena.home / ".pi" / "agent" / "models.json"
    if models.exists():
        models.write_text(models.read_text().replace(FAKE_KEY, "$NO_SUCH_KEY"))
    inspan = with_seat(ready)
    inspan.send_and_wait(SEAT, "good morning")
    turn = until_over(inspan)["last_turn"]
    assert turn["outcome"] == "failed"
    assert turn["error"]["code"] == "auth_required", turn
