"""Manifests of terminal modes: rules that are read with them, from the right folder, and refused by name."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspan.host import HarnessHost, HarnessRegistry, Placement
from inspan.host.trust import hash_folder
from inspan.model.errors import ManifestError
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Posture
from inspan.model.session import Provenance, SessionReference
from inspan.plugin.manifest_file import load_manifest
from support.harness_folders import add_harness, add_plugin, add_program, manifest_text

RULES = """\
schema = 1
source = "a test"
verified = "2026-11-30"

[[rules]]
name = "work.line"
report = "running"
priority = 600
all = ['^working']

[[rules]]
name = "composer.free"
report = "idle"
priority = 400
all = ['^> ']
"""
IDLE = 'report = "idle"\n'
ASKS = (
    'report = "needs_input"\nkind = "permission"\n'
    "answers = {{ choices = [{{ kind = 'allow_once', row = '{row}' }}], marked = '^> ', subject = '{subject}' }}\n"
)
TERMINAL = """
[modes.console]
transport = "terminal"
launch.args = [{launch}]
resume.args = [{resume}]
capabilities.resume = {{ support = "supported", source = "a run" }}

[[modes.console.postures]]
approvals = "ask"

[modes.console.terminal]
{settings}
"""


def written(
    root: Path,
    rules: str | None = RULES,
    *,
    settings: str = 'rules_file = "terminal-rules.toml"',
    launch: str = "",
    resume: str = '"--resume", "{session}"',
    top: str = "",
) -> Path:
    more = TERMINAL.format(settings=settings, launch=launch, resume=resume)
    folder = add_harness(root, "acme", manifest_text(top=top, more=more))
    if rules is not None:
        (folder / "terminal-rules.toml").write_text(rules, encoding="utf-8")
    return folder


def rule_names(home: Path, harness: str = "acme") -> list[str]:
    rules = HarnessRegistry(home).manifest(harness).modes["console"].terminal.rules
    return [rule.name for rule in rules.rules] if rules else []


def refusal(root: Path, rules: str | None = RULES, **changes: str) -> ManifestError:
    with pytest.raises(ManifestError) as caught:
        load_manifest(written(root, rules, **changes))
    return caught.value


@pytest.mark.requirement("L5", "H-A8")
def test_the_rules_of_a_console_are_read_with_its_manifest(tmp_path: Path) -> None:
    mode = load_manifest(written(tmp_path)).modes["console"]
    assert mode.terminal.rules is not None
    assert [rule.name for rule in mode.terminal.rules.rules] == ["work.line", "composer.free"]


@pytest.mark.requirement("L5")
@pytest.mark.parametrize(
    ("swap", "key_path", "rule"),
    [
        (("priority = 600", "priorty = 600"), "rules[0].priorty", "work.line"),
        (("priority = 600", "priority = 'high'"), "rules[0].priority", "work.line"),
        (("all = ['^> ']", "all = ['(a+)+$']"), "rules[1].all[0]", "composer.free"),
        (("all = ['^> ']", "all = ['(']"), "rules[1].all[0]", "composer.free"),
        (("all = ['^> ']", "all = ['^> ']\ncapture = '^> .'"), "rules[1].capture", "composer.free"),
        (("all = ['^> ']", "none = ['^> ']"), "rules[1]", "composer.free"),
        (('report = "idle"', 'report = "needs_input"'), "rules[1]", "composer.free"),
        (('name = "composer.free"', 'name = "work.line"'), "rules", ""),
        ((IDLE, ASKS.format(row="(a+)+", subject="x")), "rules[1].answers.choices[0].row", "composer.free"),
        ((IDLE, ASKS.format(row="Yes", subject="(")), "rules[1].answers.subject", "composer.free"),
        (
            ("all = ['^> ']", "all = ['^> ']\nregion = { of = 'below', anchor = 'a*' }"),
            "rules[1].region.anchor",
            "composer.free",
        ),
    ],
)
def test_rules_that_cannot_be_used_are_refused_by_file_rule_and_key(
    tmp_path: Path, swap: tuple[str, str], key_path: str, rule: str
) -> None:
    assert swap[0] in RULES
    error = refusal(tmp_path, RULES.replace(*swap))
    assert error.code == "screen_rules_invalid"
    assert error.detail["file"] == str(tmp_path / "acme" / "terminal-rules.toml")
    assert (error.detail["key_path"], error.detail["rule"]) == (key_path, rule)
    assert rule in error.message


def test_a_file_of_rules_that_is_missing_or_no_toml_is_named(tmp_path: Path) -> None:
    for rules in (None, "schema = ", "\x00"):
        error = refusal(tmp_path / str(rules is None), rules)
        assert error.code == "manifest_unreadable"
        assert error.detail["file"].endswith("terminal-rules.toml")


@pytest.mark.parametrize("name", ["../rules.toml", "/etc/rules.toml", "a/b.toml", "rules.json"])
def test_rules_lie_in_the_folder_of_the_manifest_and_nowhere_else(tmp_path: Path, name: str) -> None:
    error = refusal(tmp_path, settings=f'rules_file = "{name}"')
    assert error.detail["key_path"] == "modes.console.terminal.rules_file"


@pytest.mark.parametrize(
    ("changes", "key_path"),
    [
        ({"launch": '"--session", "{session}"'}, "modes.console.launch.args[1]"),
        ({"settings": "chooses_session = true"}, "modes.console.terminal.chooses_session"),
        ({"resume": '"--continue"'}, "modes.console.resume.args"),
        ({"settings": "columns = 0"}, "modes.console.terminal.columns"),
        (
            {"settings": "typing.composer = { home = '(a+)+' }"},
            "modes.console.terminal.typing.composer.home",
        ),
    ],
)
def test_a_terminal_mode_that_is_wrong_in_one_way_is_refused_where_it_is_wrong(
    tmp_path: Path, changes: dict[str, str], key_path: str
) -> None:
    assert refusal(tmp_path, **changes).detail["key_path"] == key_path


def test_a_mode_over_a_protocol_has_no_terminal_to_describe(tmp_path: Path) -> None:
    folder = add_harness(tmp_path, "acme", manifest_text(more="[modes.acp.terminal]\ncolumns = 100\n"))
    with pytest.raises(ManifestError) as caught:
        load_manifest(folder)
    assert caught.value.detail["key_path"] == "modes.acp.terminal"


INLINE = """
[modes.console.terminal.rules]
schema = 1
source = "a test"
verified = "2026-11-30"
rules = [{ name = "own", report = "idle", priority = 1, all = ["PATTERN"] }]
"""


def test_rules_may_stand_in_the_manifest_itself_but_not_beside_a_file(tmp_path: Path) -> None:
    inline = INLINE.replace("PATTERN", "free")
    rules = load_manifest(written(tmp_path / "one", None, settings=inline)).modes["console"].terminal.rules
    assert rules is not None
    assert rules.rules[0].name == "own"
    both = refusal(tmp_path / "two", settings=f'rules_file = "terminal-rules.toml"\n{inline}')
    assert both.detail["key_path"] == "modes.console.terminal.rules"
    bad = refusal(tmp_path / "three", None, settings=INLINE.replace("PATTERN", "(a+)+"))
    assert bad.detail["key_path"] == "modes.console.terminal.rules.rules[0].all[0]"


@pytest.mark.requirement("L5", "H-A9")
def test_an_overlay_keeps_the_rules_below_it_or_brings_its_own_from_its_own_folder(tmp_path: Path) -> None:
    user = tmp_path / "harnesses"
    overlay = add_harness(user, "codex", "[modes.terminal]\nhandshake_timeout_s = 100\n")
    terminal = HarnessRegistry(tmp_path).manifest("codex").modes["terminal"]
    assert terminal.handshake_timeout_s == 100
    assert terminal.terminal.rules is not None
    assert len(terminal.terminal.rules.rules) > 5

    add_harness(user, "codex", '[modes.terminal.terminal]\nrules_file = "own.toml"\n')
    (overlay / "own.toml").write_text(RULES, encoding="utf-8")
    rules = HarnessRegistry(tmp_path).manifest("codex").modes["terminal"].terminal.rules
    assert rules is not None
    assert [rule.name for rule in rules.rules] == ["work.line", "composer.free"]


@pytest.mark.requirement("L5")
def test_a_harness_that_extends_another_reads_the_rules_where_they_lie(tmp_path: Path) -> None:
    user = tmp_path / "harnesses"
    written(user)
    add_harness(
        user,
        "branch",
        'id = "branch"\nextends = "acme"\nname = "Branch"\nsession.resume_type = "branch.session.v1"\n',
    )
    assert rule_names(tmp_path, "branch") == rule_names(tmp_path) == ["work.line", "composer.free"]


def test_a_registry_sees_that_rules_changed(tmp_path: Path) -> None:
    folder = written(tmp_path / "harnesses")
    registry = HarnessRegistry(tmp_path)
    assert registry.manifest("acme")
    (folder / "terminal-rules.toml").write_text(RULES.replace("composer.free", "composer.open"))
    rules = registry.manifest("acme").modes["console"].terminal.rules
    assert rules is not None
    assert rules.rules[1].name == "composer.open"
    (folder / "terminal-rules.toml").write_text("schema = 2")
    assert registry.get("acme").problem is not None
    assert registry.manifest("codex")


def test_trust_pins_the_rules_as_every_file_of_the_folder(tmp_path: Path) -> None:
    folder = written(tmp_path)
    before = hash_folder(folder)
    (folder / "terminal-rules.toml").write_text(RULES.replace("'^> '", "'^>> '"))
    after = hash_folder(folder)
    assert {name for name in after if after[name] != before[name]} == {"terminal-rules.toml"}


def plan_of(root: Path, attempt: str, placement: Placement) -> LaunchPlan:
    add_program(root / "bin", "acme-agent", "")
    environ = {"PATH": str(root / "bin"), "HOME": str(root)}
    reference = SessionReference(
        harness="acme",
        resume_type="acme.session.v1",
        id="s-1",
        workspace=str(root),
        posture=Posture(),
        provenance=Provenance.REPORTED,
    )
    request = LaunchRequest(
        seat="one",
        harness="acme",
        mode="console",
        attempt="resume" if attempt == "resume" else "fresh",
        workspace=str(root),
        posture=Posture(),
        reference=reference if attempt == "resume" else None,
    )

    async def ask() -> LaunchPlan:
        async with HarnessHost(root, environ=environ, placement=placement) as host:
            plan = await host.plan(request)
            assert (host.plugin_pid("acme") is not None) is (placement == "own_process")
            return plan

    return asyncio.run(ask())


@pytest.mark.requirement("H-B8", "H-B9")
@pytest.mark.parametrize("attempt", ["fresh", "resume"])
def test_the_plan_carries_the_rules_from_this_process_and_from_one_of_its_own(
    tmp_path: Path, attempt: str
) -> None:
    written(tmp_path / "harnesses")
    here = plan_of(tmp_path, attempt, "in_process")
    there = plan_of(tmp_path, attempt, "own_process")
    assert here == there
    assert here.transport == "terminal"
    assert here.settings.terminal.rules is not None
    assert [rule.name for rule in here.settings.terminal.rules.rules] == ["work.line", "composer.free"]
    assert here.arguments == (("--resume", "s-1") if attempt == "resume" else ())


@pytest.mark.requirement("H-A26")
def test_a_session_id_that_core_chooses_stands_in_the_arguments_and_in_the_plan(tmp_path: Path) -> None:
    written(
        tmp_path / "harnesses",
        launch='"--session-id", "{session}"',
        settings='rules_file = "terminal-rules.toml"\nchooses_session = true',
    )
    plan = plan_of(tmp_path, "fresh", "in_process")
    assert plan.settings.session_id
    assert plan.arguments == ("--session-id", plan.settings.session_id)


def test_help_reads_no_rules_and_no_manifest(tmp_path: Path) -> None:
    code = (
        "import sys; from inspan.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "loaded = {name for name in sys.modules if name.startswith('inspan.') or name == 'tomllib'}\n"
        "assert not loaded & {'inspan.plugin.screen_rules_file', 'inspan.model.screen_rules', 'tomllib'}, loaded"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "INSPAN_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr


def test_a_plugin_of_a_terminal_mode_sees_the_rules_too(tmp_path: Path) -> None:
    folder = written(tmp_path, top='plugin = "plugin.py"')
    add_plugin(folder, "from inspan.plugin import ManifestPlugin as Plugin\n")
    assert load_manifest(folder).modes["console"].terminal.rules is not None
