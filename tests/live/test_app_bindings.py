"""The bindings of apps, loaded by the real harnesses in the sealed namespace."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.apps.bindings import BINDINGS, TOOL_NAMES, read_bridge_profiles
from support.live import claude, hermes, openclaw, pi
from support.live.arena import Arena
from support.live.install import install
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


@pytest.fixture
def dsh(arena: Arena) -> dict[str, Any]:
    """What the binding for dsh did in the real registry of tools."""
    shutil.copytree(BINDINGS / "dsh", arena.workspace, dirs_exist_ok=True)
    shutil.copy(Path(hermes.__file__).with_name("dsh_check.mjs"), arena.workspace)
    (arena.workspace / "node_modules").symlink_to(install("dsh-tools").folder)
    done = arena.run(["node", "dsh_check.mjs"])
    assert done.returncode == 0, done.stderr
    return {**last_json(done.stdout), "stderr": done.stderr}


@pytest.mark.requirement("P21", "P23", "P14")
def test_the_real_registry_of_dsh_takes_every_tool_and_what_comes_late(
    dsh: dict[str, Any], arena: Arena
) -> None:
    assert "default" not in dsh["exports"]
    assert [one["name"] for one in dsh["schemas"]] == TOOL_NAMES
    table = {one["name"]: one for one in json.loads((BINDINGS / "dsh" / "tools.json").read_text())["tools"]}
    for schema in dsh["schemas"]:
        told = table[schema["name"]]["parameters"]
        assert schema["parameters"].get("required", []) == told["required"]
        assert schema["parameters"]["properties"] == told["properties"]
        assert dsh["modes"][schema["name"]] == (
            "parallel" if table[schema["name"]]["isReadOnly"] else "exclusive"
        )
    assert (dsh["missing"]["code"], dsh["wrongType"]["code"]) == ("INVALID_ARGS", "INVALID_ARGS")
    assert dsh["built"]["value"]["json"]["ok"] is True
    assert (arena.workspace / "made" / "manifest.json").is_file()
    assert (dsh["refusedByProgram"]["isError"], dsh["refusedByProgram"]["value"]["code"]) == (False, 1)
    assert dsh["unreachable"]["isError"] is True
    assert "not running" in dsh["unreachable"]["text"]
    assert dsh["aborted"]["isError"] is True
    # The services that came late, and that all of it goes with the plugin.
    assert {one["name"] for one in dsh["skills"]} == SKILLS
    assert all(one["content"].startswith("# ") for one in dsh["skills"]), dsh["skills"]
    assert all(one["description"] for one in dsh["skills"])
    assert dsh["noSkill"] is None
    assert dsh["route"] == ["exact", "/agent-apps"]
    assert dsh["page"]["status"] == 200
    assert "Made" in dsh["page"]["body"]
    assert [dsh[name]["status"] for name in ("foreign", "crossSite", "posted")] == [403, 403, 405]
    assert dsh["clientId"] == json.loads((BINDINGS / "dsh" / "package.json").read_text())["name"]
    assert [(one["name"], one["id"], one["src"]) for one in dsh["slots"]] == [
        ("main", "agent-apps", "/agent-apps"),
        ("sidebar.panellist", "agent-apps", None),
    ]
    assert dsh["left"] == {"tools": 0, "skills": 0, "routes": 0}
    assert "bridge profile: none. dsh cannot be run once" in dsh["stderr"]


def openclaw_says(ready: ReadyTarget, *words: str) -> str:
    done = ready.arena.run([str(ready.installed.program), *words], timeout_s=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@LARGE
@pytest.mark.requirement("P20", "P23")
@pytest.mark.parametrize("ready", [pytest.param(openclaw.TARGET, id="openclaw")], indirect=True)
def test_openclaw_loads_the_plugin_and_its_gateway_serves_the_manager(ready: ReadyTarget) -> None:
    arena = ready.arena
    openclaw_says(ready, "plugins", "install", str(BINDINGS / "openclaw"), "--force", "--accept-capabilities")
    looked = json.loads(openclaw_says(ready, "plugins", "inspect", "agent-apps", "--runtime", "--json"))
    assert (looked["plugin"]["status"], looked["diagnostics"]) == ("loaded", [])
    assert looked["plugin"]["toolNames"] == []
    openclaw_says(ready, "config", "set", "plugins.entries.agent-apps.config.tools", "all")
    looked = json.loads(openclaw_says(ready, "plugins", "inspect", "agent-apps", "--runtime", "--json"))
    assert (looked["plugin"]["toolNames"], looked["diagnostics"]) == (TOOL_NAMES, [])
    openclaw_says(ready, "config", "set", "plugins.entries.agent-apps.config.tab", "all")
    assert json.loads(openclaw_says(ready, "agent-app", "made", "scaffold", "--name", "Made"))["ok"] is True
    (app,) = json.loads(openclaw_says(ready, "agent-app", "list", "--json"))["apps"]

    gateway = arena.start(openclaw.gateway_words(ready.installed.program), is_piped=False)
    try:
        done = arena.run([sys.executable, "-c", openclaw.VISIT, app["path"]], timeout_s=240)
        assert done.returncode == 0, done.stderr
        seen = last_json(done.stdout)
    finally:
        gateway.terminate()
        gateway.wait(timeout=60)
    assert seen["unsigned"] == 401
    assert seen["served"][0] == 200
    assert seen["apps"]["apps"][0]["status"] == "running"
    assert seen["stopped"][0] == 200
    assert seen["sent"][0] == 200, seen["sent"]
    assert [one["role"] for one in seen["session"]["messages"]][:2] == ["user", "assistant"], seen["session"]
    assert seen["session"]["messages"][0]["text"].endswith("PLAIN well done")
    assert "PLAIN-ANSWER" in seen["session"]["messages"][1]["text"]
    assert "PLAIN well done" in json.dumps(arena.model.lines())


@pytest.mark.opt_in("INSPAN_LIVE_PROPRIETARY")
@pytest.mark.requirement("P17", "P23")
@pytest.mark.parametrize("ready", [pytest.param(claude.TARGET, id="claude-code")], indirect=True)
def test_claude_code_takes_the_folder_as_a_marketplace_and_its_plugin_s_server_runs(
    ready: ReadyTarget,
) -> None:
    arena, program, folder = ready.arena, str(ready.installed.program), str(BINDINGS / "claude-code")
    validated = arena.run([program, "plugin", "validate", folder])
    assert validated.returncode == 0, validated.stdout
    for words in (["marketplace", "add", folder], ["install", "agent-apps@inspan"]):
        done = arena.run([program, "plugin", *words])
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    detailed = arena.run([program, "plugin", "details", "agent-apps"])
    assert [name for name in SKILLS if name not in detailed.stdout] == []
    listed = arena.run([program, "mcp", "list"])
    assert "a2app" in listed.stdout, f"{listed.stdout}\n{listed.stderr}"
    assert "Connected" in listed.stdout, f"{listed.stdout}\n{listed.stderr}"
    assert [one["id"] for one in read_bridge_profiles(arena.home / ".a2app")["harnesses"]] == ["claude"]
