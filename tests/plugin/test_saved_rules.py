"""Postures and saved rules: the posture's default first, what the operator saved after it, and the last match wins."""

from __future__ import annotations

import asyncio
import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.host import HarnessHost
from inspan.model.errors import ManifestError, UsageError
from inspan.model.plan import LaunchRequest
from inspan.model.posture import Approvals, Posture
from inspan.plugin.saved_rules import RuleTable, merge_rules, merge_settings
from support.harness_folders import add_harness, add_program, manifest_text

ACTIONS = st.sampled_from(["ask", "allow", "deny"])
PATTERNS = st.sampled_from(["*", "ls *", "rm *"])
TABLES = st.dictionaries(
    st.sampled_from(["*", "bash", "edit", "read"]),
    ACTIONS | st.dictionaries(PATTERNS, ACTIONS, min_size=1),
    max_size=4,
)

POSTURES = """
[[modes.acp.postures]]
approvals = "bypass"
environment = { ACME_RULES = '{"*":"allow","bash":"allow"}', ACME_MODE = "all" }
merges = { ACME_RULES = "rules" }
"""


def decide(rules: RuleTable, tool: str, command: str) -> str | None:
    """What a harness does that goes through its rules and keeps the last that matches."""
    found: str | None = None
    for name, value in rules.items():
        table: dict[str, str] = {"*": value} if isinstance(value, str) else value
        for pattern, action in table.items():
            if fnmatchcase(tool, name) and fnmatchcase(command, pattern):
                found = action
    return found


@pytest.mark.requirement("H-N30", "H-F2")
@given(
    default=TABLES,
    saved=TABLES,
    tool=st.sampled_from(["bash", "edit", "x"]),
    command=st.sampled_from(["ls a", "rm b", "c"]),
)
def test_what_the_operator_saved_wins_wherever_it_says_anything(
    default: RuleTable, saved: RuleTable, tool: str, command: str
) -> None:
    try:
        merged = merge_rules(default, saved)
    except ValueError:
        assert set(default) & {key for key, value in saved.items() if isinstance(value, dict)}
        return
    decided = decide(saved, tool, command) or decide(default, tool, command)
    assert decide(merged, tool, command) == decided


@pytest.mark.requirement("H-F2")
@pytest.mark.parametrize(
    ("default", "saved", "merged"),
    [
        ({"*": "ask"}, {"bash": "deny"}, [("*", "ask"), ("bash", "deny")]),
        ({"*": "ask"}, {"bash": "allow", "*": "deny"}, [("bash", "allow"), ("*", "deny")]),
        ({"bash": "ask"}, {"bash": {"ls *": "allow"}}, [("bash", {"*": "ask", "ls *": "allow"})]),
        ({"*": "ask"}, {}, [("*", "ask")]),
    ],
)
def test_rules_are_merged_in_an_order_in_which_no_default_overrules_them(
    default: RuleTable, saved: RuleTable, merged: list[tuple[str, Any]]
) -> None:
    assert list(merge_rules(default, saved).items()) == merged


def test_an_order_that_no_table_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\*"):
        merge_rules({"*": "ask"}, {"edit": "allow", "*": {"ls *": "ask"}})


def test_settings_are_merged_at_every_depth_and_what_was_saved_wins() -> None:
    default = {"tools": {"*": True, "todo": True}, "a": 1}
    saved = {"model": "m", "tools": {"bash": False, "todo": False}, "a": [2]}
    merged = merge_settings(default, saved)
    assert merged == {"model": "m", "tools": {"*": True, "bash": False, "todo": False}, "a": [2]}
    assert list(merged["tools"]) == ["*", "bash", "todo"]


def plan_of(home: Path, given_to_seat: dict[str, str], **environ: str) -> dict[str, str]:
    add_harness(home / "harnesses", "acme", manifest_text(more=POSTURES))
    add_program(home / "bin", "acme-agent", "")
    request = LaunchRequest(
        seat="worker",
        harness="acme",
        mode="acp",
        attempt="fresh",
        workspace=str(home),
        posture=Posture(approvals=Approvals.BYPASS),
        environment=given_to_seat,
    )

    async def plan() -> dict[str, str]:
        around = {"PATH": str(home / "bin"), "HOME": str(home), **environ}
        async with HarnessHost(home, environ=around) as host:
            return (await host.plan(request)).environment

    return asyncio.run(plan())


@pytest.mark.requirement("H-N30")
def test_rules_saved_in_a_variable_stay_in_force_when_a_posture_is_applied(tmp_path: Path) -> None:
    saved = json.dumps({"bash": {"rm *": "deny"}})
    for found in (plan_of(tmp_path, {"ACME_RULES": saved}), plan_of(tmp_path, {}, ACME_RULES=saved)):
        rules = json.loads(found["ACME_RULES"])
        assert list(rules) == ["*", "bash"]
        assert decide(rules, "bash", "rm -r x") == "deny"
        assert decide(rules, "bash", "ls") == "allow"
        assert found["ACME_MODE"] == "all"
    seat = plan_of(tmp_path, {"ACME_RULES": '{"edit":"deny"}'}, ACME_RULES=saved)
    assert json.loads(seat["ACME_RULES"]) == {"*": "allow", "bash": "allow", "edit": "deny"}


@pytest.mark.requirement("H-F2")
def test_saved_rules_that_cannot_be_read_are_never_overwritten(tmp_path: Path) -> None:
    for saved in ("not json", "[1]", '{"bash": 1}', '{"edit": "deny", "*": {"rm *": "deny"}}'):
        with pytest.raises(UsageError) as refused:
            plan_of(tmp_path, {}, ACME_RULES=saved)
        assert refused.value.code == "saved_rules_invalid"
    with pytest.raises(UsageError):
        plan_of(
            tmp_path, {"ACME_MODE": "other"}
        )  # a variable that is no table of rules still cannot be taken


def test_only_a_table_of_rules_can_be_merged(tmp_path: Path) -> None:
    for name in ("ACME_MODE", "ACME_OTHER"):
        text = POSTURES.replace('merges = { ACME_RULES = "rules" }', f'merges = {{ {name} = "rules" }}')
        add_harness(tmp_path / "harnesses", "acme", manifest_text(more=text))
        with pytest.raises(ManifestError) as refused:
            HarnessHost(tmp_path, environ={}).registry.manifest("acme")
        assert refused.value.detail["key_path"] == f"modes.acp.postures[1].merges.{name}"
