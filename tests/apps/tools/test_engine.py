"""What a harness with a plugin API of its own is given: tools, skills, a command, a display, a first prompt."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.apps.tools.arguments import ArgumentsRefused
from inspan.apps.tools.engine import Display, HostTool, OptionalHost, register_app_plugin, run_typed_line
from inspan.apps.tools.kickoff import Kickoff, KickoffError, kickoff
from inspan.apps.tools.table import TOOLS
from inspan.cli.main import main

T = TypeVar("T")

_SCRIPT = """#!{python}
import json, os, sys
words = sys.argv[1:]
if "serve" in words:
    print(json.dumps({{"ok": True, "id": "a1", "name": "Board", "url": "http://127.0.0.1:8090", "words": words}}))
else:
    print(json.dumps({{"program": os.path.basename(sys.argv[0]), "words": words}}))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    for name in ("operate", "build"):
        (tmp_path / name).write_text(_SCRIPT.format(python=sys.executable))
        (tmp_path / name).chmod(0o755)
    return {
        "PATH": os.defpath,
        "A2APP_CLI": str(tmp_path / "operate"),
        "AGENT_APP_CLI": str(tmp_path / "build"),
    }


def waited(call: Awaitable[T]) -> T:
    async def run() -> T:
        return await call

    return asyncio.run(run())


class Host:
    """A harness that offers everything."""

    def __init__(self) -> None:
        self.tools: dict[str, HostTool] = {}
        self.commands: dict[str, Callable[[Sequence[str]], Awaitable[int]]] = {}
        self.skills: list[Path] = []
        self.shown: list[Display] = []
        self.lines: list[str] = []

    def register_tool(self, tool: HostTool) -> None:
        self.tools[tool.name] = tool

    def everything(self) -> OptionalHost:
        return OptionalHost(
            register_command=lambda name, run: self.commands.update({name: run}),
            register_skills_dir=self.skills.append,
            register_display=self.shown.append,
            log=self.lines.append,
        )


@pytest.mark.requirement("P24")
def test_a_harness_with_a_display_shows_the_app_itself_and_no_other_opener_runs(
    environment: dict[str, str],
) -> None:
    host = Host()
    register_app_plugin(host, host.everything(), environment=environment)
    result = waited(host.tools["agent_app_serve"].run({"dir": "d", "open": True}))
    assert host.shown == [Display(id="agent-app:a1", label="Board", url="http://127.0.0.1:8090")]
    assert "--open" not in result.json["words"]


def test_a_harness_without_a_display_leaves_the_opener_to_the_program(environment: dict[str, str]) -> None:
    host = Host()
    register_app_plugin(host, environment=environment)
    result = waited(host.tools["agent_app_serve"].run({"dir": "d", "open": True}))
    assert "--open" in result.json["words"]
    assert list(host.tools) == [tool.name for tool in TOOLS]
    assert (host.commands, host.skills) == ({}, [])


def test_the_command_routes_a_line_by_its_verb(environment: dict[str, str]) -> None:
    host = Host()
    register_app_plugin(host, host.everything(), environment=environment)
    assert waited(host.commands["agent-app"]([".", "bridge", "start"])) == 0
    assert waited(host.commands["agent-app"]([".", "tasks", "next"])) == 0
    assert [json.loads(line)["program"] for line in host.lines] == ["build", "operate"]
    assert (host.skills[0] / "creator" / "SKILL.md").is_file()
    typed = asyncio.run(run_typed_line('. data cards create --title "a b"', environment=environment))
    assert typed.json["words"][-1] == "a b"
    with pytest.raises(ArgumentsRefused):
        asyncio.run(run_typed_line('. "open', environment=environment))


def test_a_first_prompt_names_the_skill_and_quotes_what_is_wanted() -> None:
    made = kickoff({"action": "build", "name": "Board", "requirement": "cards\n\nand lists", "port": 8091})
    assert isinstance(made, Kickoff)
    assert made.activity == "creator"
    assert "`creator` skill" in made.prompt
    assert "> cards\n> \n> and lists\n" in made.prompt
    assert "port 8091" in made.prompt
    operate = kickoff({"action": "operate", "dir": "/a", "requirement": "what is due?"})
    assert isinstance(operate, Kickoff)
    assert (operate.activity, operate.dir) == ("operator", "/a")


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"action": "destroy", "requirement": "x"},
        {"action": ["build"], "requirement": "x"},
        {"action": "build", "requirement": "x"},
        {"action": "build", "name": "a", "requirement": " "},
        {"action": "modify", "requirement": "x"},
        {"action": "operate", "dir": 7, "requirement": "x"},
        {"action": "build", "name": "a", "requirement": "x" * 30_000},
    ],
)
def test_what_is_missing_is_said(asked: dict[str, Any]) -> None:
    made = kickoff(asked)
    assert isinstance(made, KickoffError)
    assert made.message.endswith(".")


@given(name=st.text(max_size=60), requirement=st.text(min_size=1, max_size=200))
def test_nothing_that_is_asked_for_leaves_its_place_in_the_prompt(name: str, requirement: str) -> None:
    made = kickoff({"action": "build", "name": name, "dir": "d", "requirement": requirement})
    if isinstance(made, KickoffError):
        return
    head, *middle, empty, last = made.prompt.split("\n")
    assert head.startswith("Build a new Agent App")
    assert middle[0] == ""
    assert all(line.startswith(">") for line in middle[1:])
    assert empty == ""
    assert last.startswith("Load the `creator` skill")


def test_a_binding_in_another_language_runs_a_tool_by_a_command(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def call(tool: str, text: bytes) -> int:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
        return main(["app", "call", tool])

    assert call("agent_app_find", b'{"dir": ".", "term": "x"}') == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["json"] == {"program": "operate", "words": [".", "--find", "x"]}
    assert (answer["isError"], answer["code"]) == (False, 0)
    assert call("agent_app_find", b'{"dir": ".", "term": "--x"}') == 0
    assert json.loads(capsys.readouterr().out)["isError"] is True
    assert call("no_such", b"{}") == 2
    assert call("agent_app_find", b"[]") == 2
    assert call("agent_app_find", b"{") == 2
