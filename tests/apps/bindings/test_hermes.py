"""The plugin for Hermes in hosts that offer more, less and nothing of what it can use."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.apps.bindings import (
    BINDINGS,
    TOOL_NAMES,
    load_package,
    put_programs_on_path,
    read_bridge_profiles,
)

SKILLS = {"creator", "modify", "importer", "operator", "walk-verify", "connect"}


class Host:
    """A host with all that the newest one has; it keeps what was registered."""

    def __init__(self) -> None:
        self.tools: dict[str, Callable[..., str]] = {}
        self.skills: dict[str, Path] = {}
        self.commands: dict[str, Callable[[str], str | None]] = {}
        self.cli: dict[str, tuple[Any, Any]] = {}
        self.hooks: dict[str, Callable[..., Any]] = {}
        self.injected: list[str] = []

    def register_tool(self, name: str, toolset: str, schema: dict[str, Any], handler: Any) -> None:
        assert schema["parameters"]["additionalProperties"] is False
        self.tools[name] = handler

    def register_skill(self, name: str, path: Path, description: str = "") -> None:
        assert description
        self.skills[name] = path

    def register_command(self, name: str, handler: Any, **_: Any) -> None:
        self.commands[name] = handler

    def register_cli_command(self, name: str, help: str, setup_fn: Any, handler_fn: Any = None) -> None:
        self.cli[name] = (setup_fn, handler_fn)

    def register_hook(self, hook_name: str, callback: Any) -> None:
        self.hooks[hook_name] = callback

    def inject_message(self, content: str) -> bool:
        self.injected.append(content)
        return True


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    put_programs_on_path(monkeypatch)
    return load_package(BINDINGS / "hermes", "hermes_plugins_agent_apps")


@pytest.mark.requirement("P18")
def test_a_whole_host_gets_all_and_its_profile_is_added_without_a_default(
    plugin: ModuleType, throwaway_home: Path
) -> None:
    host = Host()
    plugin.register(host)
    assert list(host.tools) == TOOL_NAMES
    assert set(host.skills) == SKILLS
    assert all(path.is_file() for path in host.skills.values())
    profiles = read_bridge_profiles(throwaway_home / ".a2app")
    assert [one["id"] for one in profiles["harnesses"]] == ["hermes"]
    assert "default" not in profiles


@pytest.mark.requirement("P18")
def test_hosts_that_lack_each_thing_in_turn_get_the_rest(plugin: ModuleType) -> None:
    for missing in (
        "register_tool",
        "register_skill",
        "register_command",
        "register_cli_command",
        "register_hook",
    ):
        whole = Host()
        reduced = SimpleNamespace(
            **{
                name: getattr(whole, name)
                for name in dir(whole)
                if name.startswith("register_") and name != missing
            }
        )
        plugin.register(reduced)
        filled = [bool(one) for one in (whole.tools, whole.skills, whole.commands, whole.cli, whole.hooks)]
        assert filled.count(False) == 1, missing
    plugin.register(SimpleNamespace())


@pytest.mark.requirement("P18")
def test_a_host_that_raises_at_one_thing_still_gets_the_others(plugin: ModuleType) -> None:
    class Angry(Host):
        def register_skill(self, name: str, path: Path, description: str = "") -> None:
            raise ValueError(name)

    host = Angry()
    plugin.register(host)
    assert (len(host.tools), list(host.commands)) == (len(TOOL_NAMES), ["agent-app"])


@pytest.mark.requirement("P18", "P14")
def test_a_refusal_is_data_and_only_what_could_not_be_run_is_an_error(
    plugin: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host = Host()
    plugin.register(host)
    monkeypatch.setenv("TERMINAL_CWD", str(tmp_path))
    made = json.loads(host.tools["agent_app_build"]({"dir": "made", "name": "Made"}))
    assert made["dir"] == str(tmp_path / "made")
    assert (tmp_path / "made" / "manifest.json").is_file()
    again = host.tools["agent_app_build"]({"dir": "made"})
    assert "error" not in again[:9]
    assert "already" in again or "manifest" in again
    assert "error" in json.loads(host.tools["agent_app_describe"]({}))
    monkeypatch.setenv("INSPAN_CLI", str(tmp_path / "nothing"))
    assert "INSPAN_CLI" in json.loads(host.tools["agent_app_describe"]({"dir": "made"}))["error"]


def test_the_slash_command_becomes_the_next_turn_or_says_how(plugin: ModuleType) -> None:
    host = Host()
    plugin.register(host)
    slash = host.commands["agent-app"]
    assert slash("  make a list ") is None
    assert host.injected == ["Agent App Framework request (/agent-app): make a list"]
    assert "/agent-app" in (slash("") or "")
    host.inject_message = lambda content: False  # type: ignore[method-assign]
    assert "normal message" in (slash("make a list") or "")


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("/agent-app make a list", "make a list"),
        ("/agent_app@some_bot\nmake a list", "make a list"),
        ("/agent-app", None),
        ("/agent-apps make", None),
        ("say /agent-app make", None),
        ("", None),
        (None, None),
    ],
)
def test_a_platform_s_message_is_rewritten_if_it_is_a_request(
    plugin: ModuleType, text: str | None, becomes: str | None
) -> None:
    host = Host()
    plugin.register(host)
    answer = host.hooks["pre_gateway_dispatch"](event=SimpleNamespace(text=text), gateway=None)
    expected = becomes and {
        "action": "rewrite",
        "text": f"Agent App Framework request (/agent-app): {becomes}",
    }
    assert answer == expected


def test_flags_behind_the_cli_command_reach_the_program(
    plugin: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host()
    plugin.register(host)
    set_up, handle = host.cli["agent-app"]
    parser = argparse.ArgumentParser()
    set_up(parser)
    assert handle(parser.parse_args(["list", "--json"])) == 0
    assert json.loads(capsys.readouterr().out)["apps"] == []
    assert handle(parser.parse_args([".", "tasks", "--nonsense"])) != 0
