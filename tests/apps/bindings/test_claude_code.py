"""The marketplace folder for Claude Code, by the shapes that it reads; the real program reads it in the live tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.apps.bindings import BINDINGS, put_programs_on_path, read_bridge_profiles

FOLDER = BINDINGS / "claude-code"


def manifest(name: str) -> Any:
    return json.loads((FOLDER / ".claude-plugin" / name).read_text())


@pytest.mark.requirement("P17")
def test_the_folder_is_a_marketplace_with_one_plugin_that_is_itself() -> None:
    market, plugin = manifest("marketplace.json"), manifest("plugin.json")
    (entry,) = market["plugins"]
    assert (entry["name"], entry["version"]) == (plugin["name"], plugin["version"])
    assert (FOLDER / entry["source"]).resolve() == FOLDER.resolve()
    assert market["owner"]["name"]
    assert re.fullmatch(r"[a-z0-9-]+", market["name"])


@pytest.mark.requirement("P17")
def test_it_has_a_command_and_six_skills_and_nothing_to_build() -> None:
    plugin = manifest("plugin.json")
    heads = [path.read_text().split("---\n")[1] for path in (FOLDER / plugin["skills"]).glob("*/SKILL.md")]
    assert len(heads) == 6
    assert all("description: " in head and "name: " in head for head in heads)
    command = (FOLDER / plugin["commands"] / "agent-app.md").read_text()
    assert "description: " in command.split("---\n")[1]
    assert "$ARGUMENTS" in command
    assert {path.suffix for path in FOLDER.rglob("*") if path.is_file()} == {".json", ".md"}  # no code


@pytest.mark.requirement("P17", "P16")
def test_the_server_that_it_names_answers_and_has_added_the_profile(
    monkeypatch: pytest.MonkeyPatch, throwaway_home: Path
) -> None:
    put_programs_on_path(monkeypatch)
    server = manifest("plugin.json")["mcpServers"]["a2app"]
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    done = subprocess.run(
        [str(Path(sys.executable).with_name(server["command"])), *server["args"]],
        input="".join(json.dumps(one) + "\n" for one in asked),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    hello, listed = (json.loads(line)["result"] for line in done.stdout.splitlines())
    assert hello["serverInfo"]["name"] == "a2app"
    assert len(listed["tools"]) == 17
    assert "bridge profile: registered" in done.stderr
    profiles = read_bridge_profiles(throwaway_home / ".a2app")
    assert [one["id"] for one in profiles["harnesses"]] == ["claude"]
    assert "default" not in profiles
