"""Deliveries to a scripted agent that is a real process and really calls `a2app`: each task gets one true outcome."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator

import psutil
import pytest

from support.apps.bridge_ground import Ground, open_ground, until


@pytest.fixture
def ground() -> Generator[Ground]:
    with open_ground() as made:
        yield made


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.requirement("P30")
def test_a_task_is_claimed_brought_done_and_closed_by_its_agent(ground: Ground) -> None:
    task = ground.want("do", {"about": "a card"})
    ran = ground.once()
    assert ran.status == 0, ran.err
    assert ran.json == {
        "ok": True,
        "once": True,
        "harness": "scripted",
        "mode": "headless",
        "seen": 1,
        "delivered": 1,
        "failed": 0,
        "skipped": 0,
    }
    closed = ground.task(task)
    assert (closed["status"], closed["result"]) == ("completed", {"by": "the agent"})
    assert closed["progress"] == {"step": "half way", "percent": 50}
    assert ground.record() is None


@pytest.mark.requirement("P31")
def test_an_agent_that_ends_well_and_did_nothing_has_completed_nothing(ground: Ground) -> None:
    task = ground.want("nothing")
    ran = ground.once()
    assert (ran.status, ran.json["failed"]) == (1, 1)
    closed = ground.task(task)
    assert (closed["status"], closed["reason"]) == ("failed", "no_outcome_reported")
    assert "I was asked for nothing" in closed["progress"]["step"]
    assert "I was asked for nothing" in ran.err


@pytest.mark.requirement("P30")
@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("refuse", "failed", "cannot_do_it"),
        ("fail", "failed", "harness_exited_nonzero"),
        ("killed", "failed", "harness_exited_nonzero"),
        ("ask", "input-required", None),
        ("flood", "failed", "no_outcome_reported"),
    ],
)
def test_whatever_an_agent_does_its_task_has_the_outcome_that_is_true(
    ground: Ground, how: str, status: str, reason: str | None
) -> None:
    task = ground.want(how)
    ran = ground.once()
    closed = ground.task(task)
    assert (closed["status"], closed["reason"]) == (status, reason), ran.err
    assert len(ground.agents()) == 1
    if how == "flood":
        assert closed["progress"]["step"].endswith("THE END")
        assert len(ran.err) < 10_000


@pytest.mark.requirement("P36")
def test_an_agent_that_answers_twice_is_heard_once(ground: Ground) -> None:
    task = ground.want("twice")
    assert ground.once().status == 0
    assert ground.task(task)["result"] == {"n": 1}
    (answered,) = [one["what"] for one in ground.agents_all() if one["what"].startswith("answered")]
    assert answered == "answered 0 1"


@pytest.mark.requirement("P30")
def test_a_task_that_takes_too_long_fails_and_its_whole_group_is_ended(ground: Ground) -> None:
    ground.profile(ground.headless(timeoutMs=1500))
    task = ground.want("deaf")
    ran = ground.once()
    assert ground.task(task)["reason"] == "harness_timeout", ran.err
    leader = ground.agents()[0]["pid"]
    assert is_gone(leader)
    assert [one for one in psutil.pids() if _group_of(one) == leader and not is_gone(one)] == []


@pytest.mark.requirement("P7", "P30")
def test_a_cancel_reaches_the_agent_and_its_group(ground: Ground) -> None:
    bridge = ground.start_bridge()
    task = ground.want("hang")
    agent = ground.until_agent(task)["pid"]
    assert ground.client.cancel(task).is_ok
    until(lambda: is_gone(agent), "the agent's end")
    assert ground.task(task)["status"] == "canceled"
    # And the bridge goes on with what comes next.
    after = ground.want("do")
    ground.until_status(after, "completed")
    assert bridge.poll() is None


@pytest.mark.requirement("P30")
def test_a_lease_is_kept_while_a_silent_agent_works(ground: Ground) -> None:
    with open_ground(lease_s=2.0) as short:
        short.start_bridge()
        task = short.want("hang")
        short.until_agent(task)
        claimed_at = short.task(task)["claim"]["claimedAt"]
        began = time.monotonic()
        until(lambda: time.monotonic() - began > 5.0, "two leases and more")
        still = short.task(task)
        assert (still["status"], still["claim"]["claimedAt"]) == ("working", claimed_at)
        assert len(short.agents()) == 1
        assert ground.tasks() == {}


@pytest.mark.requirement("P30")
def test_an_agent_that_reported_and_does_not_end_holds_nobody_up_for_ever(ground: Ground) -> None:
    ground.profile(ground.headless(timeoutMs=3000))
    task = ground.want("report-and-hang")
    ran = ground.once()
    assert ran.json["delivered"] == 1, ran.err
    assert ground.task(task)["status"] == "completed"
    assert is_gone(ground.agents()[0]["pid"])


@pytest.mark.requirement("P30")
def test_what_an_agent_leaves_in_its_group_ends_with_it_and_a_daemon_does_not_hold_the_bridge(
    ground: Ground,
) -> None:
    left = ground.want("leave-a-child")
    daemon = ground.want("daemonise")
    ran = ground.once()
    assert ran.json["delivered"] == 2, ran.err
    assert {ground.task(one)["status"] for one in (left, daemon)} == {"completed"}
    first = next(one["pid"] for one in ground.agents() if one["task"] == left)
    assert [one for one in psutil.pids() if _group_of(one) == first and not is_gone(one)] == []
    ground.until_agent(daemon, "daemon")


@pytest.mark.requirement("P33")
def test_an_agent_is_given_no_key_that_was_not_named(ground: Ground) -> None:
    task = ground.want("environment")
    secret = {"OPENAI_API_KEY": "k", "A2APP_TOKEN": "t", "MY_SECRET": "s", "LC_TIME": "C"}
    words = ("start", "--once", "--harness", "scripted")
    assert ground.bridge(*words, environ=secret).status == 0
    told = ground.task(task)["result"]
    assert told["agent"] == "bridge:agent"
    assert {"LC_TIME", "A2APP_HOME", "ISP_AGENT_LOG", "PATH", "HOME"} <= set(told["names"])
    assert not {"OPENAI_API_KEY", "A2APP_TOKEN", "MY_SECRET"} & set(told["names"])


@pytest.mark.requirement("P30")
def test_tasks_are_brought_one_at_a_time_and_the_oldest_first(ground: Ground) -> None:
    wanted = [ground.want("do") for _ in range(4)]
    assert ground.once().json["delivered"] == 4
    begun = [(one["at"], one["task"]) for one in ground.agents()]
    assert [task for _, task in begun] == wanted
    ended = [one["at"] for one in ground.agents_all() if one["what"] == "begun"]
    assert ended == sorted(ended)


@pytest.mark.requirement("P29", "P30")
def test_only_the_capabilities_that_were_named_are_brought_and_the_others_wait(ground: Ground) -> None:
    mine, other = ground.want("do"), ground.want("nothing")
    ran = ground.once("--capability", "do")
    assert (ran.json["seen"], ran.json["delivered"], ran.json["skipped"]) == (2, 1, 1)
    assert ground.task(mine)["status"] == "completed"
    assert ground.task(other)["status"] == "submitted"
    assert ran.err.count(other) == 1


@pytest.mark.requirement("P29")
def test_a_dry_run_claims_nothing_writes_nothing_and_shows_what_would_be_said(ground: Ground) -> None:
    task = ground.want("do", {"note": "line one\nline two"})
    ran = ground.once("--dry-run")
    assert ran.status == 0, ran.err
    (one,) = ran.json["prompts"]
    assert ran.json["dryRun"] is True
    assert (one["task"], one["capability"]) == (task, "do")
    assert '"note": "line one\\nline two"' in one["prompt"]
    assert ground.task(task)["status"] == "submitted"
    assert ground.agents() == []
    assert ground.record() is None


@pytest.mark.requirement("P30")
def test_a_program_that_cannot_be_run_is_said_to_be_at_fault(ground: Ground) -> None:
    broken = ground.root / "broken"
    broken.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    broken.chmod(0o755)
    ground.profile(ground.headless(command=str(broken)))
    task = ground.want("do")
    ran = ground.once()
    assert ground.task(task)["reason"] == "harness_spawn_failed", ran.err


def test_a_prompt_comes_on_standard_input_where_the_route_says_so(ground: Ground) -> None:
    ground.profile(ground.headless(input="stdin", args=[]))
    task = ground.want("do", {"long": "x" * 100_000})
    assert ground.once().status == 0
    assert ground.task(task)["status"] == "completed"


@pytest.mark.requirement("P30")
def test_a_bridge_waits_for_an_app_that_is_away_and_says_so_once(ground: Ground) -> None:
    ground.start_bridge()
    first = ground.want("do")
    until(lambda: f"{first}: completed" in ground.bridge_log(), "the end of the first task")
    ground.kill_app()
    until(lambda: "asked again" in ground.bridge_log(), "word of the app's absence")
    ground.start_app()
    ground.until_status(ground.want("do"), "completed")
    assert ground.bridge_log().count("asked again") == 1
    assert ground.bridge_log().count("answering again") == 1


@pytest.mark.requirement("P36")
def test_an_app_that_goes_away_in_mid_task_and_comes_back_hears_the_end(ground: Ground) -> None:
    ground.start_bridge()
    task = ground.want("slow")
    ground.until_agent(task)
    ground.kill_app()
    ground.start_app()
    closed = ground.until_status(task, "completed", "failed")
    # Its agent reported, or could not reach the app at that moment; either way there is one outcome.
    assert closed["reason"] in (None, "no_outcome_reported")
    assert len(ground.agents()) == 1


def test_a_stranger_on_the_apps_port_is_shown_no_token_and_gets_no_work(ground: Ground) -> None:
    ground.start_bridge()
    first = ground.want("do")
    until(lambda: f"{first}: completed" in ground.bridge_log(), "the end of the first task")
    ground.kill_app()
    manifest = json.loads((ground.folder / "manifest.json").read_text())
    # Another app, which keeps the port of the first.
    with open_ground(starts_app=False, port=ground.port) as other:
        other_manifest = {**manifest, "id": "e1e1e1e1e1e1", "port": ground.port}
        (other.folder / "manifest.json").write_text(json.dumps(other_manifest))
        other.start_app(as_id="e1e1e1e1e1e1")
        task = other.want("do")
        until(lambda: "somebody else" in ground.bridge_log(), "word of the stranger")
        assert other.task(task)["status"] == "submitted"
        assert len(ground.agents()) == 1


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0
