"""A bridge takes queued work to real harnesses, each run once with leave for `a2app`; each reports by that program itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support.apps.bridge_ground import TOKEN, until, write_app
from support.live import claude, codex, copilot, gemini, opencode, pi, qwen
from support.live.arena import Arena
from support.live.netns import Namespace
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

TARGETS: dict[str, Target] = {
    "claude": claude.TARGET,
    "codex": codex.TARGET,
    "copilot": copilot.TARGET,
    "gemini": gemini.TARGET,
    "opencode": opencode.TARGET,
    "pi": pi.TARGET,
    "qwen": qwen.TARGET,
}
PROPRIETARY = ("claude", "copilot")
PORT = 8090

_CALL = """\
import json, sys
from inspan.apps.client import AppClient
method, path, body = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
with AppClient("http://127.0.0.1:8090", token=sys.argv[4]) as client:
    reply = client.request(method, path, body)
    print(json.dumps(reply.body))
    sys.exit(not reply.is_ok)
"""


def params(*names: str) -> list[Any]:
    opted = pytest.mark.opt_in("INSPAN_LIVE_PROPRIETARY")
    return [pytest.param(name, marks=opted if name in PROPRIETARY else ()) for name in names]


@pytest.fixture(params=params(*TARGETS))
def ready(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[ReadyTarget]:
    """A harness in an arena of its own, whose workspace is an app that runs."""
    with open_target(TARGETS[request.param], namespace) as made:
        arena = made.arena
        arena.environment["A2APP_HOME"] = str(arena.home / ".a2app")
        write_app(arena.workspace, PORT)
        app = arena.start([sys.executable, "app.py"], is_piped=False)
        until(lambda: answer(arena, "GET", "/api/_a2app"), "the app")
        yield made
        app.kill()
        app.wait()
        assert arena.model.unscripted() == []


def answer(arena: Arena, method: str, path: str, body: object = None) -> dict[str, Any] | None:
    done = arena.run([sys.executable, "-c", _CALL, method, path, json.dumps(body), TOKEN])
    return json.loads(done.stdout) if done.returncode == 0 else None


def want(arena: Arena, command: str) -> str:
    """Has the app queue a task of which the scripted model makes this one shell command."""
    body = {"capability": "work", "payload": {"note": f"TOOLSHELL [cmd={command}]"}, "key": command}
    made = answer(arena, "POST", "/api/ops/want", body)
    assert made is not None
    return str(made["result"]["task"])


def bridged(ready: ReadyTarget) -> tuple[int, str]:
    """One look of a bridge to the harness: its exit status, and all that it said."""
    words = [
        "agent-app",
        str(ready.arena.workspace),
        "bridge",
        "start",
        "--once",
        "--harness",
        ready.target.pin,
    ]
    done = ready.arena.run(words, timeout_s=180.0)
    return done.returncode, f"{done.stdout}\n{done.stderr}"


@pytest.mark.requirement("P27", "P30")
def test_a_real_harness_does_a_queued_task_and_closes_it_by_itself(ready: ReadyTarget) -> None:
    task = want(ready.arena, "a2app . tasks complete {task} --result '{}'")
    status, said = bridged(ready)
    closed = answer(ready.arena, "GET", f"/api/_a2app/tasks/{task}")
    assert closed is not None
    assert (closed["status"], closed["result"]) == ("completed", {}), said
    assert status == 0, said


@pytest.mark.requirement("P27", "P31")
@pytest.mark.parametrize("ready", params("claude", "copilot", "gemini", "opencode", "qwen"), indirect=True)
def test_leave_for_our_program_is_leave_for_no_other(ready: ReadyTarget) -> None:
    task = want(ready.arena, "touch forbidden.txt")
    status, said = bridged(ready)
    assert not (ready.arena.workspace / "forbidden.txt").exists()
    closed = answer(ready.arena, "GET", f"/api/_a2app/tasks/{task}")
    assert closed is not None
    assert closed["status"] == "failed", said
    assert closed["reason"] in ("no_outcome_reported", "harness_exited_nonzero"), said
    assert status == 1
