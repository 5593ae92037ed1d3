"""The bindings of apps, loaded by the real harnesses in the sealed namespace."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from support.apps.bindings import BINDINGS, TOOL_NAMES, read_bridge_profiles
from support.live import hermes, pi
from support.live.netns import Namespace
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

LARGE = pytest.mark.opt_in("INSPAN_LIVE_ALL")
SKILLS = {"creator", "modify", "importer", "operator", "walk-verify", "connect"}

_HERMES = """\
import json
from hermes_cli.plugins import discover_plugins, get_plugin_commands, get_plugin_manager
discover_plugins(force=True)
from tools.registry import registry
manager = get_plugin_manager()
loaded = manager._plugins["agent-apps"]
answer = registry.dispatch("agent_app_build", {"dir": "made", "name": "Made"})
print(json.dumps({
    "enabled": loaded.enabled, "error": loaded.error, "tools": sorted(loaded.tools_registered),
    "hooks": loaded.hooks_registered, "skills": manager.list_plugin_skills("agent-apps"),
    "commands": sorted(get_plugin_commands()), "cli": sorted(manager._cli_commands), "answer": answer,
}))
"""


@pytest.fixture
def ready(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[ReadyTarget]:
    """A harness in an arena of its own."""
    target: Target = request.param
    with open_target(target, namespace) as made:
        yield made
        assert made.arena.model.unscripted() == []


def last_json(text: str) -> Any:
    return json.loads(text.strip().splitlines()[-1])


@LARGE
@pytest.mark.requirement("P18", "P23")
@pytest.mark.parametrize("ready", [pytest.param(hermes.TARGET, id="hermes")], indirect=True)
def test_the_real_plugin_manager_loads_the_plugin_and_its_registry_runs_a_tool(ready: ReadyTarget) -> None:
    arena = ready.arena
    folder = arena.home / ".hermes"
    shutil.copytree(BINDINGS / "hermes", folder / "plugins" / "agent-apps")
    with (folder / "config.yaml").open("a") as settings:
        settings.write("plugins:\n  enabled: [agent-apps]\n")
    done = arena.run([str(ready.installed.folder / "python"), "-c", _HERMES], timeout_s=120)
    assert done.returncode == 0, done.stderr
    said = last_json(done.stdout)
    assert (said["enabled"], said["error"]) == (True, None)
    assert said["tools"] == sorted(TOOL_NAMES)
    assert said["hooks"] == ["pre_gateway_dispatch"]
    assert set(said["skills"]) == SKILLS
    assert "agent-app" in said["commands"]
    assert "agent-app" in said["cli"]
    assert json.loads(said["answer"])["ok"] is True
    assert (arena.workspace / "made" / "manifest.json").is_file()
    assert read_bridge_profiles(arena.home / ".a2app")["harnesses"][0]["id"] == "hermes"
    listed = arena.run([str(ready.installed.program), "agent-app", "list", "--json"], timeout_s=120)
    assert [one["name"] for one in last_json(listed.stdout)["apps"]] == ["Made"], listed.stderr


_ASK_PI = '{"type": "get_commands", "id": "1"}\n'


@pytest.mark.requirement("P22")
@pytest.mark.parametrize("ready", [pytest.param(pi.TARGET, id="pi")], indirect=True)
def test_pi_installs_the_package_and_sees_its_extension_prompt_and_skills(ready: ReadyTarget) -> None:
    arena = ready.arena
    program = str(ready.installed.program)
    package = arena.root / "package"
    shutil.copytree(BINDINGS / "pi", package)
    added = arena.run([program, "install", str(package)])
    assert added.returncode == 0, added.stderr
    running = arena.start([program, "--mode", "rpc", "--no-session"])
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(_ASK_PI.encode())
    running.stdin.flush()
    commands: dict[str, str] = {}
    told = ""
    while not (commands and told):
        line = running.stdout.readline()
        assert line, "it ended before it said both"
        message = json.loads(line)
        if message.get("command") == "get_commands":
            commands = {one["name"]: one["source"] for one in message["data"]["commands"]}
        elif message.get("method") == "notify":
            told = message["message"]
    running.stdin.close()
    running.wait(timeout=30)
    running.stdout.close()
    assert commands["agent-app"] == "prompt"
    assert {name for name in commands if name.startswith("skill:")} == {f"skill:{name}" for name in SKILLS}
    assert told.startswith("Agent Apps: bridge profile registered.")
    assert [one["id"] for one in read_bridge_profiles(arena.home / ".a2app")["harnesses"]] == ["pi"]
