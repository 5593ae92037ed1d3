"""The queue of work: whose a task is, what is taken back and when, and that each ends once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inspan.apps.author import App
from inspan.apps.conformance.reference import FULL_TOKEN, make_reference_app, queue_work
from inspan.apps.server.caller import Grant
from inspan.apps.server.tasks import MOST_DELIVERIES, TERMINAL
from support.apps.served import Answer, HandClock, Served, serving

TASKS = "/api/_a2app/tasks"
OTHER = Grant(token="other-secret", credential_id="cred_other", agent_name="other")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def app(tmp_path: Path, clock: HandClock) -> App:
    made = make_reference_app(tmp_path, clock=clock)
    made.grants.append(OTHER)
    return made


@pytest.fixture
def here(app: App) -> Iterator[Served]:
    with serving(app) as served:
        yield served


def queue(app: App, **options: Any) -> str:
    task = app.trigger("card.due_soon", {"card": "card_seed"}, capability="summarize", **options).task_id
    assert task is not None
    return task


def act(here: Served, task: str, verb: str, body: dict[str, Any] | None = None, **options: Any) -> Answer:
    return here.post(f"{TASKS}/{task}/{verb}", body or {}, **options)


@pytest.mark.requirement("P7")
def test_a_task_has_the_shape_of_the_protocol(app: App, here: Served) -> None:
    made = app.trigger("card.due_soon", {"card": "card_seed"}, capability="summarize")
    task = here.get(f"{TASKS}/{made.task_id}").body

    assert made.event_id.startswith("evt_")
    assert task["id"].startswith("tsk_")
    assert len(task["id"]) == 20
    assert task == {
        "id": made.task_id,
        "app": "conformance_kanban",
        "event": made.event_id,
        "status": "submitted",
        "request": {"capability": "summarize", "payload": {"card": "card_seed"}},
        "claim": None,
        "progress": {"step": None, "percent": None},
        "result": None,
        "reason": None,
        "createdAt": "2026-07-31T09:15:00.000Z",
        "updatedAt": "2026-07-31T09:15:00.000Z",
        "pollAfterMs": 2000,
        "deliveries": 0,
    }
    listed = here.get(TASKS).body
    assert listed == {"a2app": True, "tasks": [task], "pollAfterMs": 2000}


@pytest.mark.requirement("P7")
def test_a_task_goes_from_claim_over_progress_and_a_question_to_its_end(app: App, here: Served) -> None:
    task = queue(app)

    claimed = act(here, task, "claim", {"agent": "cred_full"}).body
    assert claimed["status"] == "working"
    assert claimed["claim"] == {
        "credentialId": "cred_full",
        "principal": "owner",
        "claimedAt": "2026-07-31T09:15:00.000Z",
    }
    assert act(here, task, "progress", {"step": "reading", "percent": 40}).body["progress"] == {
        "step": "reading",
        "percent": 40,
    }
    assert act(here, task, "progress", {}).body["progress"] == {"step": "reading", "percent": 40}
    asked = act(here, task, "progress", {"ask": "which list?"}).body
    assert (asked["status"], asked["ask"]) == ("input-required", "which list?")
    resumed = act(here, task, "progress", {"percent": 50}).body
    assert (resumed["status"], "ask" in resumed) == ("working", False)
    done = act(here, task, "complete", {"status": "completed", "result": {"summary": "1 card"}}).body
    assert (done["status"], done["result"]) == ("completed", {"summary": "1 card"})
    for verb in ("claim", "progress", "complete", "cancel"):
        assert act(here, task, verb, {"status": "completed"}).code == "task_not_claimable", verb


def test_a_task_that_failed_says_why(app: App, here: Served) -> None:
    first = queue(app)
    act(here, first, "claim")
    assert act(here, first, "complete", {"status": "failed", "reason": "no_list"}).body["reason"] == "no_list"
    second = queue(app)
    act(here, second, "claim")
    assert act(here, second, "complete", {"status": "failed"}).body["reason"] == "unspecified"


@pytest.mark.requirement("P7")
def test_a_task_is_claimed_under_ones_own_name_alone(app: App, here: Served) -> None:
    task = queue(app)

    stolen = act(here, task, "claim", {"agent": "cred_other"})
    assert (stolen.status, stolen.code) == (403, "principal_mismatch")
    assert act(here, task, "claim", {"agent": "conformance"}).status == 200
    assert act(here, task, "claim").status == 409


@pytest.mark.requirement("P7")
def test_progress_and_completion_are_the_claimers_alone(app: App, here: Served) -> None:
    task = queue(app)
    act(here, task, "claim")

    for verb, body in (("progress", {"percent": 1}), ("complete", {"status": "completed"})):
        refused = act(here, task, verb, body, token=OTHER.token)
        assert (refused.status, refused.code) == (403, "principal_mismatch")
    assert here.get(f"{TASKS}/{task}").body["status"] == "working"


@pytest.mark.requirement("P7")
def test_a_claim_that_was_taken_back_moves_nothing_although_the_credential_is_the_same(
    app: App, here: Served, clock: HandClock
) -> None:
    task = queue(app)
    first = act(here, task, "claim").body["claim"]["claimedAt"]
    clock.move(61)
    second = act(here, task, "claim").body["claim"]["claimedAt"]

    assert first != second
    for verb, body in (("progress", {"percent": 9}), ("complete", {"status": "completed"})):
        lost = act(here, task, verb, {**body, "claimedAt": first})
        assert (lost.status, lost.code) == (409, "task_not_claimable")
    assert here.get(f"{TASKS}/{task}").body["progress"]["percent"] is None
    assert act(here, task, "progress", {"percent": 10, "claimedAt": second}).status == 200
    assert act(here, task, "complete", {"status": "completed", "claimedAt": second}).status == 200


def test_two_claims_within_one_millisecond_have_different_times(
    app: App, here: Served, clock: HandClock
) -> None:
    task = queue(app)
    first = act(here, task, "claim").body["claim"]["claimedAt"]
    clock.move(61)
    here.get(TASKS)
    clock.move(-61)

    assert act(here, task, "claim").body["claim"]["claimedAt"] > first


@pytest.mark.requirement("P7")
def test_a_canceled_task_tells_its_agent_to_stop(app: App, here: Served) -> None:
    task = queue(app)
    act(here, task, "claim")

    assert act(here, task, "cancel", token=OTHER.token).body["status"] == "canceled"
    for verb, body in (("progress", {}), ("complete", {"status": "completed"})):
        told = act(here, task, verb, body)
        assert (told.status, told.code) == (409, "task_canceled")
    assert here.get(f"{TASKS}/{task}").body["result"] is None
    assert act(here, task, "cancel").code == "task_not_claimable"


@pytest.mark.requirement("P7")
def test_of_one_occurrence_there_is_one_task_until_it_ends_or_for_ever_where_it_is_named(
    app: App, here: Served
) -> None:
    first = queue(app)
    assert queue(app) == first
    act(here, first, "claim")
    assert queue(app) == first
    act(here, first, "complete", {"status": "completed"})
    second = queue(app)
    assert second != first
    named = queue(app, dedup_key="card_seed at noon")
    assert named not in (first, second)
    act(here, named, "cancel")
    assert queue(app, dedup_key="card_seed at noon") == named


def test_key_order_makes_no_other_occurrence_and_another_capability_does(app: App) -> None:
    one = app.trigger("card.due_soon", {"a": 1, "b": 2}, capability="x").task_id
    same = app.trigger("card.due_soon", {"b": 2, "a": 1.0}, capability="x").task_id
    other = app.trigger("card.due_soon", {"a": 1, "b": 2}, capability="y").task_id

    assert one == same != other
    assert len(app.served.events.since(0)[0]) == 3


def test_what_is_not_declared_is_not_triggered(app: App) -> None:
    with pytest.raises(ValueError, match="not declared"):
        app.trigger("card.lost", {})

    assert app.trigger("card.due_soon", {}).task_id is None


@pytest.mark.requirement("P7")
def test_a_silent_task_goes_back_five_times_and_then_fails(app: App, here: Served, clock: HandClock) -> None:
    task = queue(app)
    for number in range(MOST_DELIVERIES):
        act(here, task, "claim")
        clock.move(59.9)
        assert here.get(f"{TASKS}/{task}").body["status"] == "working"
        clock.move(0.1)
        back = here.get(f"{TASKS}/{task}").body
        assert (back["status"], back["claim"], back["deliveries"]) == ("submitted", None, number + 1)
    act(here, task, "claim")
    clock.move(60)
    failed = here.get(f"{TASKS}/{task}").body
    assert (failed["status"], failed["reason"]) == ("failed", "redelivery_exhausted")


def test_a_task_of_which_something_is_heard_or_that_waits_for_an_answer_stays(
    app: App, here: Served, clock: HandClock
) -> None:
    task = queue(app)
    act(here, task, "claim")
    for _ in range(5):
        clock.move(40)
        assert act(here, task, "progress").status == 200
    act(here, task, "progress", {"ask": "?"})
    clock.move(10_000)
    assert here.get(f"{TASKS}/{task}").body["status"] == "input-required"


@pytest.mark.requirement("P7")
def test_the_sweep_runs_by_itself(tmp_path: Path) -> None:
    app = make_reference_app(tmp_path, lease_s=0.2)
    with serving(app) as here:
        task = queue(app)
        act(here, task, "claim")
        deadline = time.monotonic() + 20
        # Nobody asks about tasks: only the database is looked at.
        while (found := app.served.tasks.get(task)) is not None and found.status == "working":
            assert time.monotonic() < deadline
            threading.Event().wait(0.02)

        assert found is not None
        assert (found.status, found.deliveries) == ("submitted", 1)


@pytest.mark.parametrize(
    ("verb", "body"),
    [("progress", {"percent": 101}), ("progress", {"percent": "40"}), ("progress", {"percent": True}), ("progress", {"step": 5}),
     ("progress", {"step": "x" * 501}), ("complete", {}), ("complete", {"status": "done"}), ("complete", {"status": ["failed"]})],
)  # fmt: skip
def test_a_word_about_a_task_that_has_a_wrong_form_is_refused(
    app: App, here: Served, verb: str, body: dict[str, Any]
) -> None:
    task = queue(app)
    act(here, task, "claim")

    answer = act(here, task, verb, body)

    assert (answer.status, answer.code) == (400, "usage")
    assert here.get(f"{TASKS}/{task}").body["status"] == "working"


@pytest.mark.requirement("P7")
def test_what_is_not_there_or_not_done_with_tasks_is_refused(app: App, here: Served) -> None:
    task = queue(app)

    assert act(here, "tsk_nope", "claim").code == "task_not_found"
    assert here.get(f"{TASKS}/tsk_nope").code == "task_not_found"
    assert here.post(TASKS, {}).status == 405
    assert here.call("DELETE", f"{TASKS}/{task}").status == 405
    assert here.get(f"{TASKS}/{task}/claim").status == 405
    assert act(here, task, "steal").status == 404
    assert here.get(f"{TASKS}?status=lost").status == 400
    assert act(here, task, "claim", token=None).status == 401
    assert here.get(TASKS, token=None).status == 200


@pytest.mark.requirement("P7")
def test_of_many_claims_at_once_one_is_taken(app: App, here: Served) -> None:
    task = queue(app)
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(act(here, task, "claim").status)) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(statuses) == [200] + [409] * 11


def test_events_are_read_from_a_cursor_on(app: App, here: Served) -> None:
    for number in range(3):
        app.trigger("card.due_soon", {"number": number})
    first = here.get("/api/_a2app/events").body
    app.trigger("card.due_soon", {"number": 3})
    then = here.get(f"/api/_a2app/events?since={first['nextCursor']}").body

    assert [event["payload"]["number"] for event in first["events"]] == [0, 1, 2]
    assert [event["payload"]["number"] for event in then["events"]] == [3]
    assert here.get(f"/api/_a2app/events?since={then['nextCursor']}").body["events"] == []
    assert here.get("/api/_a2app/events?since=999999").body["nextCursor"] == then["nextCursor"]
    for cursor in ("x", "-1", "1.5", "9" * 30):
        assert here.get(f"/api/_a2app/events?since={cursor}").code == "usage"


@pytest.mark.parametrize("payload", [{"a": float("nan")}, {"a": 2**60}, {"a": object()}, {"a": "\ud800"}])
def test_a_payload_that_is_no_json_value_is_refused_and_leaves_nothing(
    app: App, payload: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="no JSON value"):
        app.trigger("card.due_soon", payload, capability="x")

    assert app.served.events.since(0)[0] == []


def test_what_an_operation_triggers_is_there_if_and_only_if_it_succeeds(tmp_path: Path) -> None:
    app = App("Ops", folder=tmp_path, grants=[OTHER])
    module = app.module("m")

    @module.operation()
    def work() -> None:
        app.trigger("done", {"a": 1}, capability="tell")

    @module.operation()
    def fail() -> None:
        app.trigger("done", {"a": 2}, capability="tell")
        raise RuntimeError

    with serving(app) as here:
        here.post("/api/ops/fail", {})
        here.post("/api/ops/work", {})
        tasks = here.get(TASKS).body["tasks"]
        events = here.get("/api/_a2app/events").body["events"]

    assert [task["request"]["payload"]["a"] for task in tasks] == [1]
    assert [event["payload"]["a"] for event in events] == [1]


@pytest.mark.requirement("P7")
def test_claims_survive_a_kill_of_the_app(tmp_path: Path) -> None:
    app = make_reference_app(tmp_path)
    queue_work(app)
    app.close()

    def start() -> tuple[subprocess.Popen[bytes], Served]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        program = [sys.executable, "-m", "inspan.apps.conformance.reference", str(port), str(tmp_path)]
        process = subprocess.Popen(program, stderr=subprocess.DEVNULL)
        served = Served(port, FULL_TOKEN)
        deadline = time.monotonic() + 30
        while True:
            try:
                served.get("/api/_a2app")
            except OSError:
                assert time.monotonic() < deadline
                threading.Event().wait(0.05)
            else:
                return process, served

    process, here = start()
    try:
        task = here.get(f"{TASKS}?status=submitted").body["tasks"][0]["id"]
        claim = act(here, task, "claim").body["claim"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process, here = start()
        assert act(here, task, "claim").status == 409
        done = act(here, task, "complete", {"status": "completed", "claimedAt": claim["claimedAt"]})
        assert done.body["status"] == "completed"
    finally:
        process.kill()
        process.wait()


class QueueMachine(RuleBasedStateMachine):
    """Two agents with two credentials do whatever they like to tasks, and a third thing happens: time."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="isp-")
        self.clock = HandClock()
        self.app = make_reference_app(Path(self.folder.name), clock=self.clock)
        self.app.grants.append(OTHER)
        self.serving = serving(self.app)
        self.here = self.serving.__enter__()
        self.tokens = [FULL_TOKEN, OTHER.token]
        self.tasks: list[str] = []
        self.claims: dict[str, tuple[int, str, float]] = {}
        self.ended: dict[str, dict[str, Any]] = {}
        self.back: dict[str, int] = {}

    def teardown(self) -> None:
        self.serving.__exit__(None, None, None)
        self.folder.cleanup()

    def _sweep(self) -> None:
        """What the model says about leases."""
        now = self.clock.now.timestamp()
        for task, (_, _, heard) in list(self.claims.items()):
            if heard != float("inf") and now - heard >= 60:
                del self.claims[task]
                self.back[task] += 1
                if self.back[task] > MOST_DELIVERIES:
                    self.ended[task] = {"status": "failed", "reason": "redelivery_exhausted"}

    @rule(number=st.integers(0, 3))
    def trigger(self, number: int) -> None:
        task = self.app.trigger("card.due_soon", {"number": number}, capability="x").task_id
        assert task is not None
        if task not in self.tasks:
            self.tasks.append(task)
            self.back[task] = 0
        assert task not in self.ended

    @rule(seconds=st.sampled_from([1, 30, 59, 61]))
    def wait(self, seconds: int) -> None:
        self.clock.move(seconds)
        self._sweep()
        assert self.here.get(TASKS).status == 200

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), agent=st.integers(0, 1))
    def claim(self, data: st.DataObject, agent: int) -> None:
        task = data.draw(st.sampled_from(self.tasks))
        answer = act(self.here, task, "claim", token=self.tokens[agent])
        if task in self.ended or task in self.claims:
            assert answer.status == 409
        else:
            assert answer.status == 200
            self.claims[task] = (agent, answer.body["claim"]["claimedAt"], self.clock.now.timestamp())

    @precondition(lambda self: self.tasks)
    @rule(
        data=st.data(),
        agent=st.integers(0, 1),
        verb=st.sampled_from(["progress", "ask", "complete", "fail"]),
        names=st.booleans(),
    )
    def tell(self, data: st.DataObject, agent: int, verb: str, names: bool) -> None:
        task = data.draw(st.sampled_from(self.tasks))
        held = self.claims.get(task)
        body: dict[str, Any] = {
            "progress": {"percent": 5}, "ask": {"ask": "?"}, "complete": {"status": "completed"}, "fail": {"status": "failed"}
        }[verb]  # fmt: skip
        if names:
            body = {**body, "claimedAt": held[1] if held else "2020-01-01T00:00:00.000Z"}
        path = "complete" if verb in ("complete", "fail") else "progress"
        answer = act(self.here, task, path, body, token=self.tokens[agent])
        if held is None:
            assert answer.status == 409
        elif held[0] != agent:
            assert answer.code == "principal_mismatch"
        else:
            assert answer.status == 200
            heard = float("inf") if verb == "ask" else self.clock.now.timestamp()
            self.claims[task] = (agent, held[1], heard)
            if path == "complete":
                del self.claims[task]
                self.ended[task] = {"status": answer.body["status"], "reason": answer.body["reason"]}

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(self.tasks))
        answer = act(self.here, task, "cancel")
        assert answer.status == (409 if task in self.ended else 200)
        if task not in self.ended:
            self.claims.pop(task, None)
            self.ended[task] = {"status": "canceled", "reason": None}

    @invariant()
    def what_is_stored_is_what_happened(self) -> None:
        for task in self.tasks:
            found = self.app.served.tasks.get(task)
            assert found is not None
            if task in self.ended:
                assert found.status in TERMINAL
                assert {"status": found.status, "reason": found.reason} == self.ended[task]
            elif task in self.claims:
                assert found.status in ("working", "input-required")
                assert found.claimed_at == self.claims[task][1]
            else:
                assert (found.status, found.claimed_at) == ("submitted", None)


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestQueue = pytest.mark.requirement("P7")(TestQueue)
