"""A bridge takes queued work to real harnesses, each run once with leave for `a2app`; each reports by that program itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspan.apps.bridge.builtin import profile_entry
from inspan.apps.profiles import register_harness_profile
from support.apps.bridge_ground import TOKEN, until, write_app
from support.live import claude, cline, codex, copilot, gemini, hermes, kimi, opencode, pi, qwen, vibe
from support.live.arena import Arena
from support.live.netns import Namespace
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

TARGETS: dict[str, Target] = {
    "claude": claude.TARGET,
    "cline": cline.TARGET,
    "codex": codex.TARGET,
    "copilot": copilot.TARGET,
    "gemini": gemini.TARGET,
    "hermes": hermes.TARGET,
    "kimi": kimi.TARGET,
    "opencode": opencode.TARGET,
    "pi": pi.TARGET,
    "qwen": qwen.TARGET,
    "vibe": vibe.TARGET,
}
OPT_INS = {
    "INSPAN_LIVE_PROPRIETARY": ("claude", "copilot"),
    "INSPAN_LIVE_ALL": ("cline", "hermes", "kimi", "vibe"),
}
PORT = 8090
LOGIN_SHELLS = ("hermes",)
"""Those whose commands find what a login finds, as the page says: what installs `a2app` sees to that."""
KEYS_OF_OTHERS = {"vibe": ("vibe", "OPENAI_API_KEY")}
"""Those that are set up here for a provider that is not their own, whose key an operator has to name."""

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
    """The harnesses, each with the variable without which it does not run."""
    variables = {name: variable for variable, group in OPT_INS.items() for name in group}
    return [
        pytest.param(name, marks=pytest.mark.opt_in(variables[name]) if name in variables else ())
        for name in names
    ]


@pytest.fixture(params=params(*TARGETS))
def ready(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[ReadyTarget]:
    """A harness in an arena of its own, whose workspace is an app that runs."""
    with open_target(TARGETS[request.param], namespace) as made:
        arena = made.arena
        arena.environment["A2APP_HOME"] = str(arena.home / ".a2app")
        write_app(arena.workspace, PORT)
        if request.param in LOGIN_SHELLS:
            profile = f'export PATH="{Path(sys.executable).parent}:$PATH"\n'
            (arena.home / ".profile").write_text(profile, encoding="utf-8")
        if request.param in KEYS_OF_OTHERS:
            write_profile(arena, *KEYS_OF_OTHERS[request.param])
        app = arena.start([sys.executable, "app.py"], is_piped=False)
        until(lambda: answer(arena, "GET", "/api/_a2app"), "the app")
        yield made
        app.kill()
        app.wait()
        if request.param not in OPT_INS["INSPAN_LIVE_ALL"]:  # those ask their servers for more than answers
            assert arena.model.unscripted() == []


def write_profile(arena: Arena, harness: str, variable: str) -> None:
    """Writes the built-in profile into `harnesses.json`, with one more variable that the harness needs."""
    entry = profile_entry(harness, arena.environment)
    assert entry is not None
    entry["routes"][0]["env"] = [variable]
    home = Path(arena.environment["A2APP_HOME"])
    home.mkdir(mode=0o700)
    assert register_harness_profile(entry, home=home).status == "registered"


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
