"""Lint of consoles: each fault that screen rules and their recorded screens can have is found, by the rule's name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import inspan.harnesses
from inspan.cli.main import main
from inspan.conformance.console_checks import count_features
from inspan.conformance.lint import RULES, lint_folder
from inspan.host import HarnessHost
from inspan.plugin.manifest_file import load_manifest
from inspan.plugin.signals import Signals, read_signals
from support.terminal_recordings import read_rules

ROOT = Path(inspan.harnesses.__path__[0])
WITH_CONSOLE = sorted(
    file.parent.name for file in ROOT.glob("*/manifest.toml") if "[modes.terminal]" in file.read_text()
)
WITH_RULES = sorted(file.parent.name for file in ROOT.glob("*/terminal-rules.toml"))
RULES_FILE = "terminal-rules.toml"


def copy_of(tmp_path: Path, harness: str = "kimi") -> Path:
    folder = tmp_path / harness
    shutil.copytree(ROOT / harness, folder)
    return folder


def swap(folder: Path, old: str, new: str, *, file: str = RULES_FILE) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def told(folder: Path, *, about: str = "screen") -> list[tuple[str, str, str]]:
    found = lint_folder(folder)
    assert all(one.rule in RULES for one in found)
    return [(one.severity, one.rule, one.at) for one in found if one.rule.startswith(about)]


@pytest.mark.requirement("H-A53")
@pytest.mark.parametrize("harness", WITH_RULES)
def test_the_consoles_of_built_in_harnesses_have_no_finding_about_their_rules(harness: str) -> None:
    found = [one for one in lint_folder(ROOT / harness) if one.rule.startswith("screen-")]
    assert found == []


CASES: list[tuple[str, Callable[[Path], None], str, str]] = [
    (
        "a rule without a screen that it must match",
        lambda folder: swap(folder, 'matches = ["tmux-80x24/approval"]\n', ""),
        "screen-rule",
        "dialog.permission",
    ),
    (
        "a rule without a screen that it must not match",
        lambda folder: swap(
            folder, 'spares = ["tmux-80x24/approved", "tmux-80x24/busy", "tmux-80x24/idle"]\n', ""
        ),
        "screen-rule",
        "dialog.permission",
    ),
    (
        "a screen that is not there",
        lambda folder: swap(folder, '"tmux-80x24/approval"', '"tmux-80x24/aproval"'),
        "screen-rule",
        "dialog.permission",
    ),
    (
        "a line that no longer matches",
        lambda folder: swap(folder, "'↵ confirm'", "'↵ konfirm'"),
        "screen-rule",
        "dialog.permission",
    ),
    (
        "a line that matches what it must spare",
        lambda folder: swap(
            folder,
            "all = ['^╭─ approval ─', '^│ . \\[1\\] Approve once', '↵ confirm']",
            "all = ['(?m)^.']",
        ),
        "screen-rule",
        "dialog.permission",
    ),
    (
        "ready by one feature",
        lambda folder: swap(
            folder,
            'report = "ready"\npriority = 400\nregion = { of = "last_rows", rows = 14 }\nall = [\'^ +context: \\d\']\n',
            'report = "ready"\npriority = 400\nregion = { of = "last_rows", rows = 14 }\n',
        ),
        "screen-ready",
        "composer.ready",
    ),
    (
        "a rule that takes too long",
        lambda folder: swap(folder, "'^╭─ approval ─'", "'^╭─ approval ─|x.*x.*x.*y'"),
        "screen-slow",
        "dialog.permission",
    ),
]


@pytest.mark.parametrize(("name", "damage", "rule", "about"), CASES, ids=[case[0] for case in CASES])
def test_a_fault_is_found_by_the_name_of_its_rule(
    tmp_path: Path, name: str, damage: Callable[[Path], None], rule: str, about: str
) -> None:
    folder = copy_of(tmp_path)
    damage(folder)
    assert ("fault", rule, f"{RULES_FILE}: {about}") in told(folder), name


@pytest.mark.requirement("L5")
def test_a_pattern_that_could_run_away_is_refused_by_the_name_of_its_rule(tmp_path: Path) -> None:
    folder = copy_of(tmp_path)
    swap(folder, "'↵ confirm'", "'(↵+ *)+confirm$'")
    (found,) = lint_folder(folder)
    assert (found.severity, found.rule, found.at) == ("fault", "manifest", "rules[0].all[2]")
    assert "dialog.permission" in found.message


def test_a_line_that_nothing_needs_is_an_advice(tmp_path: Path) -> None:
    folder = copy_of(tmp_path)
    swap(folder, "'↵ confirm']", "'↵ confirm']\nnone = ['never seen']")
    assert told(folder) == [("advice", "screen-line", f"{RULES_FILE}: dialog.permission.none[0]")]


@pytest.mark.requirement("H-A53")
def test_a_rule_that_was_seen_live_needs_a_live_screen_and_any_other_says_where_it_comes_from(
    tmp_path: Path,
) -> None:
    folder = copy_of(tmp_path, "droid")
    assert told(folder) == []
    swap(folder, 'provenance = "unverified"', 'provenance = "live"')
    swap(folder, 'note = "From the rules of one peer project; nobody saw it here."\n', "")
    assert told(folder) == [("fault", "screen-rule", f"{RULES_FILE}: dialog.permission")]


@pytest.mark.requirement("H-A53")
def test_a_rule_about_an_activity_is_held_to_the_smallest_screen(tmp_path: Path) -> None:
    folder = copy_of(tmp_path, "pi")
    swap(folder, ', "tmux-80x24/busy-hang"]', "]")
    assert ("advice", "screen-size", f"{RULES_FILE}: work.border") in told(folder)


@pytest.mark.requirement("H-A53")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"provenance": "live",', ""),
        ('"provenance": "live",', '"provenance": "imagined",'),
        ('"columns": 80', '"columns": 8000'),
        ('"state": "idle"', '"state": "resting"'),
    ],
)
def test_a_set_of_screens_says_where_it_comes_from_and_how_large_it_is(
    tmp_path: Path, old: str, new: str
) -> None:
    folder = copy_of(tmp_path)
    swap(folder, old, new, file="recordings/terminal/tmux-80x24.json")
    assert [one.rule for one in lint_folder(folder) if one.severity == "fault"] == ["recording"]


def test_a_screen_that_is_not_what_its_label_says_is_a_fault(tmp_path: Path) -> None:
    folder = copy_of(tmp_path)
    file = folder / "recordings/terminal/tmux-80x24.json"
    known = json.loads(file.read_text())
    known["states"]["busy"]["state"] = "idle"
    known["states"]["limit"]["error"] = "auth_required"
    file.write_text(json.dumps(known))
    assert told(folder) == [("fault", "screen-label", RULES_FILE)] * 2


@pytest.mark.parametrize("damage", ["missing", "cut", "short"])
def test_a_recording_that_cannot_be_used_is_named(tmp_path: Path, damage: str) -> None:
    folder = copy_of(tmp_path)
    file = folder / "recordings/terminal/tmux-80x24.0.raw.xz"
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:200])
    else:
        file.unlink()
        (file.parent / "tmux-80x24.0.raw").write_bytes(b"short")
    faults = [one for one in lint_folder(folder) if one.severity == "fault"]
    assert [one.rule for one in faults] == ["recording"]


def test_a_state_may_have_a_recording_of_its_own_or_be_written_down(tmp_path: Path) -> None:
    folder = copy_of(tmp_path)
    own = folder / "recordings/terminal"
    (own / "own").mkdir()
    (own / "own" / "busy.raw").write_bytes(b"\x1b[20;1H\xe2\xa0\x8b Composing...\r\n" + b"")
    states = {"busy": {}, "written": {"text": "nothing\nknown", "state": "unknown"}}
    (own / "own.json").write_text(
        json.dumps({"provenance": "derived", "columns": 80, "rows": 24, "states": states})
    )
    assert told(folder) == []


def test_an_overlay_brings_its_own_rules_and_screens(tmp_path: Path) -> None:
    user = tmp_path / "harnesses" / "kimi"
    own = user / "recordings" / "terminal"
    own.mkdir(parents=True)
    (user / "manifest.toml").write_text('[modes.terminal.terminal]\nrules_file = "own.toml"\n')
    rules = (ROOT / "kimi" / RULES_FILE).read_text(encoding="utf-8")
    (user / "own.toml").write_text(rules.replace("tmux-80x24/approval", "mine/approval", 1))
    assert main(["--home", str(tmp_path), "harness", "lint", "kimi"]) == 22
    for file in (ROOT / "kimi" / "recordings" / "terminal").iterdir():
        shutil.copy(file, own / file.name.replace("tmux-80x24", "mine"))
    assert main(["--home", str(tmp_path), "harness", "lint", "kimi"]) == 0


@pytest.mark.requirement("H-A25")
@pytest.mark.parametrize("harness", WITH_RULES)
def test_every_ready_rule_asks_for_two_features(harness: str) -> None:
    assert all(count_features(rule) > 1 for rule in read_rules(harness).rules if rule.report == "ready")


@pytest.mark.requirement("H-A28", "H-C6")
def test_activity_and_needs_input_are_told_by_signals_of_their_own() -> None:
    def signals(harness: str, mode: str = "terminal") -> Signals:
        return read_signals(load_manifest(ROOT / harness).modes[mode])

    assert signals("pi") == Signals(activity=("screen",), needs_input=())
    assert signals("gemini") == Signals(activity=("title", "screen"), needs_input=("title", "screen"))
    assert signals("codex", "acp") == Signals(activity=("protocol",), needs_input=("protocol",))
    assert signals("goose") == Signals()
    # A one-shot run owes nobody an answer; by its output it is known that something was denied, where it says so.
    assert signals("opencode", "headless") == Signals(activity=("output",), needs_input=("output",))
    assert signals("codex", "headless") == Signals(activity=("output",), needs_input=())
    manifest = load_manifest(ROOT / "pi").modes["terminal"].capabilities
    assert manifest.activity.is_supported
    assert not manifest.permission_report.is_supported


@pytest.mark.requirement("H-A29")
def test_a_console_without_a_signal_for_approvals_is_one_whose_screen_has_to_be_looked_at() -> None:
    looked_at = {
        harness
        for harness in WITH_CONSOLE
        if read_signals(load_manifest(ROOT / harness).modes["terminal"]).must_look_at_screen
    }
    assert {"aider", "cline", "copilot", "gemini", "kimi", "opencode", "qwen"} <= looked_at
    assert not looked_at & {"pi", "crush", "goose", "letta"}
    assert not read_signals(load_manifest(ROOT / "gemini").modes["acp"]).must_look_at_screen


@pytest.mark.requirement("H-C17")
@pytest.mark.parametrize("harness", ["auggie", "goose", "letta", "openclaw"])
def test_where_nothing_is_known_of_a_console_its_process_is_told_to_prove_no_more_than_itself(
    harness: str,
) -> None:
    mode = load_manifest(ROOT / harness).modes["terminal"]
    assert mode.terminal.rules is None
    assert not mode.capabilities.activity.is_supported
    assert "says only that something runs" in mode.capabilities.activity.note


@pytest.mark.requirement("H-C15")
@pytest.mark.parametrize("harness", WITH_CONSOLE)
def test_a_real_console_is_a_mode_of_its_own_beside_the_structured_ones(tmp_path: Path, harness: str) -> None:
    manifest = load_manifest(ROOT / harness)
    assert manifest.modes["terminal"].transport == "terminal"
    structured = [name for name, mode in manifest.modes.items() if mode.transport != "terminal"]
    assert manifest.default_mode in (structured or ["terminal"])
    # Without a word the seat gets a structured one: the console is a choice that is made and seen.
    (console,) = [
        mode for mode in HarnessHost(tmp_path, environ={}).view(harness).modes if mode.id == "terminal"
    ]
    assert console.transport == "terminal"


@pytest.mark.requirement("H-A48")
def test_no_harness_could_be_told_by_the_name_of_its_process() -> None:
    names: dict[str, set[str]] = {}
    for harness in WITH_CONSOLE:
        for name in load_manifest(ROOT / harness).program.process_names:
            names.setdefault(name, set()).add(harness)
    # A wrapper that hands over to node leaves `node` in the foreground, whatever it was called.
    assert len(names["node"]) > 5
    assert len(names["python3"]) > 1
    wrapped = {"claude-code", "codex", "gemini", "qwen", "copilot", "opencode", "pi"}
    assert wrapped <= names["node"]
    # So nothing decides by it: what the manifest says of names is shown to people, and read nowhere else.
    source = ROOT.parent
    readers = {
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        if "process_names" in file.read_text(encoding="utf-8")
    }
    assert readers == {"model/installation.py"}


def test_every_rule_of_lint_about_consoles_is_broken_by_a_sample(tmp_path: Path) -> None:
    broken = {rule for _, _, rule, _ in CASES} | {"screen-line", "screen-size", "screen-label"}
    broken |= {one.rule for one in lint_folder(ROOT / "crush") if one.rule == "screen-signal"}
    assert broken == {rule for rule in RULES if rule.startswith("screen-")}
