"""The actions for CraftBot with a stand-in for its module, of which no package exists."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.apps.bindings import BINDINGS, TOOL_NAMES, load_package, put_programs_on_path

Run = Callable[[dict[str, Any]], dict[str, Any]]


class AgentCore(ModuleType):
    """`agent_core` as its own actions use it: decorating registers."""

    def __init__(self) -> None:
        super().__init__("agent_core")
        self.registered: dict[str, tuple[dict[str, Any], Run]] = {}

    def action(self, *, name: str, **fields: Any) -> Callable[[Run], Run]:
        assert set(fields) == {
            "description",
            "mode",
            "action_sets",
            "input_schema",
            "output_schema",
            "parallelizable",
        }

        def keep(run: Run) -> Run:
            assert name not in self.registered
            self.registered[name] = (fields, run)
            return run

        return keep


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> AgentCore:
    put_programs_on_path(monkeypatch)
    made = AgentCore()
    monkeypatch.setitem(sys.modules, "agent_core", made)
    load_package(BINDINGS / "craftbot", "agent_apps_for_craftbot")
    return made


@pytest.mark.requirement("P19")
def test_importing_registers_every_tool_with_the_arguments_of_the_table(core: AgentCore) -> None:
    assert list(core.registered) == TOOL_NAMES
    table = {
        one["name"]: one for one in json.loads((BINDINGS / "craftbot" / "tools.json").read_text())["tools"]
    }
    for name, (fields, run) in core.registered.items():
        told = table[name]["parameters"]
        assert run.__name__ == name
        assert (fields["mode"], fields["action_sets"]) == ("CLI", ["agent_app"])
        assert fields["parallelizable"] is table[name]["isReadOnly"]
        assert set(fields["input_schema"]) == set(told["properties"])
        for key, shape in fields["input_schema"].items():
            assert shape["type"] == told["properties"][key]["type"]
            assert ("Optional." in shape["description"]) is (key not in told["required"])
        assert set(fields["output_schema"]) == {"status", "output", "exit_code"}


@pytest.mark.requirement("P19", "P14")
def test_success_refusal_and_failure_are_told_apart(
    core: AgentCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = core.registered["agent_app_build"][1]
    made = build({"dir": str(tmp_path / "made"), "name": "Made", "_session_id": "the host's own"})
    assert (made["status"], made["exit_code"]) == ("success", 0)
    assert json.loads(made["output"])["ok"] is True
    again = build({"dir": str(tmp_path / "made")})
    assert (again["status"], again["exit_code"]) == ("success", 1)
    assert "already" in again["output"]
    describe = core.registered["agent_app_describe"][1]
    unreached = describe({"dir": str(tmp_path / "made")})
    assert (unreached["status"], unreached["exit_code"]) == ("error", 3)
    assert describe({})["status"] == "error"
    monkeypatch.setenv("INSPAN_CLI", str(tmp_path / "nothing"))
    lost = describe({"dir": "."})
    assert (lost["status"], lost["exit_code"]) == ("error", 3)
    assert "INSPAN_CLI" in lost["output"]
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    monkeypatch.setenv("INSPAN_CLI", str(silent))
    assert describe({"dir": "."})["exit_code"] == 3


@pytest.mark.requirement("P19")
def test_the_host_s_texts_for_yes_and_numbers_are_read(core: AgentCore, tmp_path: Path) -> None:
    """Its models give booleans and numbers as text, which the tools refuse as they are."""
    build, validate = (core.registered[f"agent_app_{name}"][1] for name in ("build", "validate"))
    build({"dir": str(tmp_path / "made")})
    for yes in (True, "true", "Yes", "1"):
        checked = validate({"dir": str(tmp_path / "made"), "noBuild": yes})
        assert checked["exit_code"] == 0, checked
    waited = core.registered["agent_app_next_task"][1]({"dir": str(tmp_path / "made"), "waitMs": "5"})
    assert (waited["status"], waited["exit_code"]) == ("error", 3)  # not running, and no fault of the number
    wrong = core.registered["agent_app_next_task"][1]({"dir": str(tmp_path / "made"), "waitMs": "soon"})
    assert "waitMs" in wrong["output"]
