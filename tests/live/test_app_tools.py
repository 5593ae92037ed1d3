"""Real harnesses call the tools of apps over MCP, after `inspan app connect` and nothing else."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from inspan.apps.tools.table import TOOLS
from support.apps.bridge_ground import TOKEN, until, write_app
from support.live import gemini, opencode
from support.live.arena import Arena
from support.live.netns import Namespace
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

PORT = 8090
TARGETS: dict[str, tuple[Target, Sequence[str]]] = {
    "gemini": (gemini.TARGET, ("gemini", "--approval-mode", "yolo", "-p")),
    "opencode": (opencode.TARGET, ("opencode", "run")),
}
"""How each is run once with a prompt, and leave for its tools of MCP servers."""

_CALL = """\
import json, sys
from inspan.apps.client import AppClient
with AppClient("http://127.0.0.1:8090", token=sys.argv[4]) as client:
    reply = client.request(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
    print(json.dumps(reply.body))
    sys.exit(not reply.is_ok)
"""


@pytest.fixture(params=sorted(TARGETS))
def ready(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[ReadyTarget]:
    """A harness that is connected, and an app that runs in its workspace."""
    with open_target(TARGETS[request.param][0], namespace) as made:
        write_app(made.arena.workspace, PORT)
        app = made.arena.start([sys.executable, "app.py"], is_piped=False)
        until(lambda: _is_up(made.arena), "the app")
        connected = made.arena.run(["inspan", "app", "connect", request.param])
        assert connected.returncode == 0, connected.stderr
        yield made
        app.kill()
        app.wait()
        assert made.arena.model.unscripted() == []


def _is_up(arena: Arena) -> bool:
    return arena.run([sys.executable, "-c", _CALL, "GET", "/api/_a2app", "null", TOKEN]).returncode == 0


def _app(arena: Arena, method: str, path: str, body: object = None) -> dict[str, Any]:
    done = arena.run([sys.executable, "-c", _CALL, method, path, json.dumps(body), TOKEN])
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def _called(ready: ReadyTarget, tool: str, arguments: Mapping[str, object]) -> str:
    """Has the harness's model call the tool; what the harness says."""
    words = TARGETS[ready.target.pin][1]
    prompt = f"TOOLNAMED [tool={tool}] [args={json.dumps(arguments)}]"
    is_read = words[-1] != "-p"  # what it gets as an argument it puts into quotes of its own
    done = ready.arena.run(
        [*words] if is_read else [*words, prompt], timeout_s=180.0, stdin_text=prompt if is_read else ""
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.requirement("P11", "P16")
def test_a_real_harness_offers_its_model_all_seventeen_tools_and_runs_those_that_it_calls(
    ready: ReadyTarget,
) -> None:
    offered = _called(ready, "no_such_tool", {})
    assert [tool.name for tool in TOOLS if tool.name not in offered] == []
    arena, where = ready.arena, str(ready.arena.workspace)
    wanted = {"capability": "work", "payload": {"note": "by a tool"}, "key": "one"}
    task = _app(arena, "POST", "/api/ops/want", wanted)["result"]["task"]
    assert "AFTER-TOOL" in _called(ready, "agent_app_describe", {"dir": where})
    assert _app(arena, "GET", f"/api/_a2app/tasks/{task}")["status"] == "submitted"
    assert "AFTER-TOOL" in _called(ready, "agent_app_next_task", {"dir": where})
    assert _app(arena, "GET", f"/api/_a2app/tasks/{task}")["status"] == "working"
    done = {"dir": where, "id": task, "result": {"note": "done"}}
    assert "AFTER-TOOL" in _called(ready, "agent_app_complete_task", done)
    closed = _app(arena, "GET", f"/api/_a2app/tasks/{task}")
    assert (closed["status"], closed["result"]) == ("completed", {"note": "done"})
