"""One-shot runs of four further harnesses, and what some of them do over ACP: only where somebody asks for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.live import cline, hermes, kimi, vibe
from support.live.inspan_cli import InspanCli, spoken_text
from support.live.netns import Namespace
from support.live.one_shot import SEAT, add_one_shot_seat, until_over
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600), pytest.mark.opt_in("INSPAN_LIVE_ALL")]

TARGETS: dict[str, Target] = {
    "cline": cline.TARGET,
    "hermes": hermes.TARGET,
    "kimi": kimi.TARGET,
    "vibe": vibe.TARGET,
}
PLAIN_TEXT = "The scripted model answers plainly. PLAIN-ANSWER"
RECALLED = "I was told: the word is heron"


@pytest.fixture(params=sorted(TARGETS))
def ready(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[ReadyTarget]:
    """A harness in an arena of its own."""
    with open_target(TARGETS[request.param], namespace) as made:
        yield made


@pytest.fixture
def inspan(ready: ReadyTarget) -> InspanCli:
    """Inspan with one seat that runs the harness once for each prompt, and approves everything."""
    return add_one_shot_seat(ready.arena, ready.target.pin, approvals="bypass")


def only(*names: str) -> pytest.MarkDecorator:
    """The test is about some of the harnesses alone."""
    return pytest.mark.parametrize("ready", names, indirect=True)


def said_last(inspan: InspanCli, seat: str = SEAT) -> str:
    return spoken_text(inspan.events(), turn=inspan.seat(seat)["last_turn"]["id"]).strip()


def test_a_prompt_is_answered_once_with_the_words_of_the_model(inspan: InspanCli) -> None:
    first = inspan.send_and_wait(SEAT, "-- the word is heron; `touch no` $(touch no)")
    assert (first["state"], first["turn_outcome"]) == ("started", "completed")
    seat = until_over(inspan)
    assert (seat["status"], seat["launch"]["reason"]) == ("idle", "done")
    assert said_last(inspan) == PLAIN_TEXT
    assert inspan.arena.model.times_prompted("-- the word is heron; `touch no` $(touch no)") == 1
    assert not (inspan.arena.workspace / "no").exists()


@only("hermes", "kimi", "vibe")
def test_the_next_run_resumes_the_session(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "the word is heron")
    before = until_over(inspan)["session"]["id"]
    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    session = until_over(inspan)["session"]
    assert (session["id"], session["resume_outcome"]) == (before, "resumed")
    assert said_last(inspan) == RECALLED


@only("cline")
def test_a_harness_that_cannot_resume_is_not_said_to_have_done_so(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "the word is heron")
    assert until_over(inspan)["session"]["identity"] == "not_yet"
    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    assert until_over(inspan)["session"]["identity"] == "not_yet"
    assert said_last(inspan) == "I was told:"


def test_a_refused_key_is_a_typed_error(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "AUTHFAIL please")
    turn = until_over(inspan)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == ("failed", "auth_required")
    assert turn["error"]["hint"]


@only("cline", "hermes", "kimi")
def test_a_usage_limit_is_one(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "QUOTA please")
    turn = until_over(inspan)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == ("limited", "limited")


@only("vibe")
def test_a_usage_limit_that_is_waited_out_in_silence_can_be_cancelled(inspan: InspanCli) -> None:
    delivery = inspan.send(SEAT, "QUOTA please")
    inspan.until(lambda: inspan.arena.model.times_prompted("QUOTA please") >= 2, "another attempt")
    assert inspan.seat(SEAT)["status"] == "running"
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, delivery["id"])["outcome"] == "cancelled"


def test_a_run_is_cancelled_or_killed_and_the_next_one_works(inspan: InspanCli) -> None:
    slow = inspan.send(SEAT, "SLOW [words=600] [interval=0.2]")
    inspan.until(lambda: inspan.arena.model.times_prompted("SLOW") == 1, "the prompt")
    inspan.call("cancel", SEAT)
    assert inspan.until_turn_ended(SEAT, slow["id"])["outcome"] == "cancelled"
    until_over(inspan)
    if inspan.seat(SEAT)["status"] == "held":
        inspan.call("start", SEAT, "--fresh")

    hung = inspan.send(SEAT, "HANG please")
    inspan.until(lambda: inspan.arena.model.times_prompted("HANG please") == 1, "the prompt")
    inspan.kill_harness(SEAT)
    assert inspan.until_turn_ended(SEAT, hung["id"])["outcome"] in ("failed", "lost")
    assert until_over(inspan)["launch"]["signal"] == 9
    assert inspan.send_and_wait(SEAT, "PLAIN again")["turn_outcome"] == "completed"


@only("cline", "vibe")
def test_a_denied_command_is_reported_with_what_would_allow_it(ready: ReadyTarget) -> None:
    inspan = add_one_shot_seat(ready.arena, ready.target.pin)
    inspan.send_and_wait(SEAT, "TOOLSHELL [cmd=echo no > refused.txt]")
    until_over(inspan)
    (denied,) = [one["event"] for one in inspan.events() if one["type"] == "permission_denied"]
    assert denied["rule"]
    assert not (ready.arena.workspace / "refused.txt").exists()


def test_a_bypassing_seat_runs_a_command_unasked(inspan: InspanCli) -> None:
    inspan.send_and_wait(SEAT, "TOOLSHELL [cmd=echo yes > allowed.txt]")
    assert until_over(inspan)["last_turn"]["outcome"] == "completed"
    assert (inspan.arena.workspace / "allowed.txt").exists()


@only("hermes", "kimi", "vibe")
def test_where_nobody_signed_in_the_turn_fails_with_a_typed_error(ready: ReadyTarget) -> None:
    ready.arena.environment.pop("OPENAI_API_KEY", None)
    for settings in ready.arena.home.glob(".*/config.*"):
        settings.unlink()
    inspan = add_one_shot_seat(ready.arena, ready.target.pin, approvals="bypass")
    inspan.send_and_wait(SEAT, "good morning")
    turn = until_over(inspan)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == ("failed", "auth_required")
    assert turn["error"]["hint"]


@only("hermes", "vibe")
def test_a_fork_over_acp_knows_what_was_said_and_its_parent_nothing_of_the_fork(ready: ReadyTarget) -> None:
    inspan = InspanCli(ready.arena)
    place = ("--workspace", str(ready.arena.workspace), "--approvals", "bypass")
    inspan.call("seat", "add", SEAT, "--harness", ready.target.pin, *place)
    inspan.send_and_wait(SEAT, "the word is heron")
    parent = inspan.seat(SEAT)["session"]["id"]
    inspan.call("seat", "fork", SEAT, "branch")
    # Vibe opens no session that another process has open.
    inspan.call("stop", SEAT)
    inspan.until(lambda: inspan.seat(SEAT)["launch"]["status"] == "ended", "the end of the launch")
    assert inspan.send_and_wait("branch", "RECALL please")["turn_outcome"] == "completed"
    assert inspan.seat("branch")["session"]["id"] != parent
    assert said_last(inspan, "branch") == RECALLED
    assert inspan.send_and_wait(SEAT, "RECALL again")["turn_outcome"] == "completed"
    assert inspan.seat(SEAT)["session"]["id"] == parent
    assert said_last(inspan) == RECALLED


@only("kimi")
def test_over_acp_permissions_are_asked_silence_is_a_failure_and_a_killed_session_goes_on(
    ready: ReadyTarget,
) -> None:
    inspan = InspanCli(ready.arena)
    inspan.add_seat(SEAT, "kimi")
    assert inspan.send_and_wait(SEAT, "the word is heron")["turn_outcome"] == "completed"
    before = inspan.seat(SEAT)["session"]["id"]

    allowed = inspan.send(SEAT, "TOOLSHELL [cmd=echo yes > allowed.txt]")
    inspan.call("approve", inspan.until_permission(SEAT))
    assert inspan.until_turn_ended(SEAT, allowed["id"])["outcome"] == "completed"
    assert (ready.arena.workspace / "allowed.txt").read_text() == "yes\n"

    refused = inspan.send(SEAT, "TOOLWRITE [path=refused.txt]")
    inspan.call("deny", inspan.until_permission(SEAT))
    assert inspan.until_turn_ended(SEAT, refused["id"])["outcome"] == "completed"
    assert not (ready.arena.workspace / "refused.txt").exists()

    inspan.send_and_wait(SEAT, "QUOTA please")
    turn = inspan.seat(SEAT)["last_turn"]
    assert (turn["outcome"], turn["error"]["code"]) == ("failed", "call_failed")
    assert turn["error"]["hint"]

    hung = inspan.send(SEAT, "HANG please")
    inspan.until_spoken("never")
    inspan.kill_harness(SEAT)
    assert inspan.until_turn_ended(SEAT, hung["id"])["outcome"] == "failed"
    inspan.until(lambda: inspan.seat(SEAT)["launch"]["status"] == "ended", "the end of the launch")
    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    assert inspan.seat(SEAT)["session"]["id"] == before
    assert "the word is heron" in said_last(inspan)
