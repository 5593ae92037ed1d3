"""Declarative packages: what they bring as data, that their code never runs, and how both kinds are shown."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.commands import run_command
from inspan.agent.plugins.entries import InlinePlugin
from inspan.agent.plugins.overview import overview_json, overview_text
from inspan.agent.plugins.packages import find_packages
from support.agent_ground import open_agent
from support.runtime_plugins import Context, MadePlugin

GOOD = {
    "name": "house-style",
    "version": "1",
    "description": "How we write.",
    "skills": "skills",
    "prompts": [{"name": "style", "file": "style.md"}],
}


def make_package(home: Path, declaration: Any = None, *, folder: str = "style") -> Path:
    """A whole package, with code in it that leaves a mark if it runs."""
    package = home / "packages" / folder
    skill = package / "skills" / "commit-message"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: commit-message\ndescription: How commits are told.\n---\nBriefly.\n"
    )
    (package / "style.md").write_text("Write briefly.")
    for code in ("__init__.py", "plugin.py", "skills/__init__.py"):
        (package / code).write_text(f"open({str(home / 'ran')!r}, 'w').close()\n")
    text = declaration if isinstance(declaration, str) else json.dumps(declaration or GOOD)
    (package / "inspan.plugin.json").write_text(text)
    return package


@pytest.mark.requirement("R6")
def test_a_package_brings_skills_and_sections_and_its_code_never_runs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_package(home)

    async def story() -> None:
        async with open_agent(tmp_path) as agent:
            (status,) = agent.package_status()
            assert (status.name, status.version, status.state) == ("house-style", "1", "active")
            assert status.contributions == {"prompts": 1, "skills": 1}
            skill = agent.skills.read("commit-message")
            assert (skill.skill.origin, skill.body.strip()) == ("configured", "Briefly.")
            session = await agent.new_session()
            assert (await session.run("hello")).stop_reason == "end_turn"

    asyncio.run(story())
    assert not (home / "ran").exists()


@pytest.mark.requirement("R6")
@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        pytest.param("{", "cannot be read", id="not JSON"),
        pytest.param("[]", "no object", id="no object"),
        pytest.param({**GOOD, "module": "plugin.py"}, "unknown key 'module'", id="names a module"),
        pytest.param({**GOOD, "name": "House Style"}, "its name", id="a name with a blank"),
        pytest.param({**GOOD, "version": 1}, "'version'", id="a version that is no text"),
        pytest.param({**GOOD, "version": "1\n2"}, "its version", id="a version of two lines"),
        pytest.param({**GOOD, "skills": "../../outside"}, "outside", id="skills outside"),
        pytest.param({**GOOD, "skills": "none"}, "not there", id="no such folder"),
        pytest.param({**GOOD, "prompts": {}}, "no list", id="prompts are no list"),
        pytest.param({**GOOD, "prompts": [{"name": "x"}]}, "no object", id="a section without a file"),
        pytest.param(
            {**GOOD, "prompts": [{"name": "x", "file": "/etc/hostname"}]}, "outside", id="another's file"
        ),
        pytest.param(
            {**GOOD, "prompts": [{"name": "x", "file": "link.md"}]}, "outside", id="a link to outside"
        ),
        pytest.param(
            {**GOOD, "prompts": [{"name": "x", "file": "none.md"}]}, "cannot be read", id="no such file"
        ),
        pytest.param(
            {**GOOD, "prompts": [{"name": "X", "file": "style.md"}]}, "name", id="a section's bad name"
        ),
        pytest.param(
            {**GOOD, "prompts": [{"name": "x", "file": "large.md"}]}, "bytes", id="a section too large"
        ),
    ],
)
def test_a_package_that_is_wrong_is_left_out_and_says_why(
    tmp_path: Path, declaration: Any, message: str
) -> None:
    home = tmp_path / "home"
    package = make_package(home, declaration)
    os.symlink("/etc/hostname", package / "link.md")
    (package / "large.md").write_text("x" * 100_000)

    (found,) = find_packages(home)

    assert (found.status.name, found.status.state) == ("style", "failed")
    assert message in found.status.message
    assert (found.skills, found.prompts) == (None, ())
    assert not (home / "ran").exists()


def test_two_packages_of_one_name_are_one(tmp_path: Path) -> None:
    make_package(tmp_path, folder="a")
    make_package(tmp_path, folder="b")

    assert [(one.status.name, one.status.state) for one in find_packages(tmp_path)] == [
        ("house-style", "active"),
        ("b", "failed"),
    ]
    assert find_packages(tmp_path / "nowhere") == ()


@pytest.mark.requirement("R89")
def test_the_commands_plugins_and_context_show_both_kinds(tmp_path: Path) -> None:
    make_package(tmp_path / "home")
    make_package(tmp_path / "home", "{", folder="broken")

    def fail(_: Context) -> None:
        raise ValueError("sk-planted")

    async def story() -> tuple[str, str]:
        plugins = [InlinePlugin(plugin=MadePlugin(id="mine", setup=fail), required=False)]
        async with open_agent(tmp_path, runtime_plugins=plugins) as agent:
            session = await agent.new_session()
            return await run_command(agent, session, "plugins"), await run_command(agent, session, "context")

    shown, context = asyncio.run(story())

    assert context.endswith(f"\n\n{shown}")
    assert "| memory 1 | active | builtin | 2 tools, 1 prompts, 1 pages |" in shown
    assert "| mine 1.2.3 | failed (setup: ValueError) | inline | - |" in shown
    assert "| house-style 1 | active | 1 prompts, 1 skills |" in shown
    assert "| broken | failed: It cannot be read (JSONDecodeError). | - |" in shown
    assert "sk-planted" not in shown


@pytest.mark.requirement("R14")
def test_both_kinds_are_shown_side_by_side_in_words_and_as_json(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_package(home)
    make_package(home, "{", folder="broken")

    def fail(_: Context) -> None:
        raise ValueError("sk-planted")

    async def story() -> tuple[str, Any]:
        plugins = [InlinePlugin(plugin=MadePlugin(id="mine", setup=fail), required=False)]
        async with open_agent(tmp_path, runtime_plugins=plugins, cloud_connectors=False) as agent:
            status = agent.runtime_plugin_status(), agent.package_status()
            return overview_text(*status), overview_json(*status)

    text, value = asyncio.run(story())

    assert text.splitlines() == [
        "Runtime plugins",
        "  memory 1 (builtin): active, 2 tools, 1 prompts, 1 pages",
        "  connector-cloud (builtin): disabled",
        "    The agent was made without cloud connectors.",
        "  mine 1.2.3 (inline): failed in setup with ValueError",
        "Packages",
        "  broken: failed",
        "    It cannot be read (JSONDecodeError).",
        "  house-style 1: active, 1 prompts, 1 skills",
    ]
    assert json.loads(json.dumps(value)) == value
    assert [one["id"] for one in value["runtime_plugins"]] == ["memory", "connector-cloud", "mine"]
    assert [one["state"] for one in value["packages"]] == ["failed", "active"]
    assert "sk-planted" not in text + json.dumps(value)
