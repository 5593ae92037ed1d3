"""Claims: who has a task and who had it, whatever is killed at whatever moment; every task ends once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from typing import Any

import pytest

from inspan.apps.client import AppUnreachable
from inspan.apps.processes import is_alive
from support.apps.bridge_ground import Ground, open_ground, until

TERMINAL = ("completed", "failed", "canceled")


@pytest.mark.requirement("P36")
def test_two_bridges_on_one_queue_bring_each_task_once() -> None:
    with open_ground() as ground:
        wanted = [ground.want("do") for _ in range(8)]
        bridges = [ground.start_bridge(), ground.start_bridge(folder=ground.twin())]
        for task in wanted:
            assert ground.until_status(task, *TERMINAL)["status"] == "completed"
        begun = [one["task"] for one in ground.agents()]
        assert sorted(begun) == sorted(wanted)
        assert [one.poll() for one in bridges] == [None, None]


def claim_anew(ground: Ground, task: str) -> dict[str, Any]:
    """The task, taken by somebody with the same credential as soon as the app has taken it back."""

    def take() -> dict[str, Any] | None:
        reply = ground.client.claim(task)
        return reply.body if reply.is_ok else None

    return until(take, f"a new claim of {task}")


@pytest.mark.requirement("P30", "P36")
def test_a_bridge_that_lost_its_claim_while_it_stood_still_ends_its_agent_and_closes_nothing() -> None:
    with open_ground(lease_s=2.0) as ground:
        bridge = ground.start_bridge()
        task = ground.want("hang")
        agent = ground.until_agent(task)["pid"]
        bridge.send_signal(signal.SIGSTOP)
        taken = claim_anew(ground, task)
        bridge.send_signal(signal.SIGCONT)
        until(lambda: not is_alive(agent), "the end of the agent")
        until(lambda: "the claim was lost" in ground.bridge_log(), "word of the lost claim")
        now = ground.task(task)
        # Taken back once more by now, perhaps, since the thief says nothing either; but never closed.
        assert now["status"] in ("working", "submitted")
        assert (
            now["claim"] in (None, taken["claim"]) or now["claim"]["claimedAt"] > taken["claim"]["claimedAt"]
        )


@pytest.mark.requirement("P36")
def test_what_an_agent_reports_under_a_claim_that_was_lost_is_refused() -> None:
    with open_ground(lease_s=2.0) as ground:
        bridge = ground.start_bridge()
        task = ground.want("late")
        ground.until_agent(task)
        bridge.kill()
        bridge.wait()
        taken = claim_anew(ground, task)
        (ground.root / "agent.log.go").touch()

        def answered() -> str | None:
            # The new claim is kept by its holder meanwhile.
            ground.client.progress(task, claimed_at=taken["claim"]["claimedAt"])
            return next((one["what"] for one in ground.agents_all() if "answered" in one["what"]), None)

        said = until(answered, "the late agent's report")
        assert said.startswith("answered 1 ")
        assert "task_not_claimable" in said
        assert ground.task(task)["result"] is None
        assert ground.client.complete(task, result={"by": "the new one"}).is_ok
        assert ground.task(task)["result"] == {"by": "the new one"}


class _Witness:
    """Sees what becomes of every task, and that what has ended never changes."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.ended: dict[str, tuple[object, object, object]] = {}

    def look(self) -> None:
        try:
            tasks = self._ground.tasks()
        except AppUnreachable:
            return  # it was killed at this moment
        for id_, task in tasks.items():
            if task["status"] in TERMINAL:
                outcome = (task["status"], task["reason"], task["result"])
                assert self.ended.setdefault(id_, outcome) == outcome
            else:
                assert id_ not in self.ended


@pytest.mark.requirement("P36")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_killed_at_whatever_moment_every_task_ends_once(seed: int) -> None:
    chance = random.Random(seed)
    kills = int(os.environ.get("FAULT_KILLS_APPS", "8"))
    with open_ground(lease_s=2.0) as ground:
        witness = _Witness(ground)
        twin = ground.twin()
        bridges: list[subprocess.Popen[str]] = [ground.start_bridge(), ground.start_bridge(folder=twin)]
        wanted = [ground.want(chance.choice(["do", "slow", "twice", "nothing", "refuse"])) for _ in range(10)]
        for _ in range(kills):
            moment = time.monotonic() + chance.uniform(0.05, 1.2)
            while time.monotonic() < moment:
                witness.look()
            match chance.choice(["app", "bridge", "agent"]):
                case "app":
                    ground.kill_app()
                    ground.start_app()
                case "bridge":
                    which = chance.randrange(2)
                    bridges[which].kill()
                    bridges[which].wait()
                    bridges[which] = ground.start_bridge(folder=twin if which else None)
                case _:
                    running = [one["pid"] for one in ground.agents() if is_alive(one["pid"])]
                    if running:
                        os.kill(chance.choice(running), signal.SIGKILL)

        def all_ended() -> bool:
            witness.look()
            return len(witness.ended) == len(wanted)

        until(all_ended, f"the end of all tasks (seed {seed})", deadline_s=200.0)
        assert set(witness.ended) == set(wanted)
        assert {one["task"] for one in ground.agents()} <= set(wanted)
        known = {
            "no_outcome_reported",
            "harness_exited_nonzero",
            "cannot_do_it",
            "redelivery_exhausted",
            None,
        }
        assert {reason for _, reason, _ in witness.ended.values()} <= known
