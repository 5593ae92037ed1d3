"""Lint proves itself on harnesses each wrong in one way, and finds nothing in one that is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspan.conformance.expect import main as expect
from inspan.conformance.lint import RULES, Finding, lint_folder
from inspan.plugin.manifest_file import load_manifest

GOOD = """\
schema = 1
id = "acme"
name = "Acme"
default_mode = "acp"

[maintainer]
name = "Somebody"

[program]
names = ["acme-agent"]
tested = ">=1, <2"
install = "npm install -g acme-agent"
source = "recordings/acp.jsonl"
verified = "2026-11-30 1.0"

[session]
resume_type = "acme.session.v1"
id_pattern = 'acme-\\d+'

[modes.acp]
transport = "acp"

[modes.acp.launch]
args = ["acp"]

[modes.acp.capabilities.launch]
support = "supported"
evidence = "proved"
source = "recordings/acp.jsonl"
verified = "2026-11-30 1.0"

[[modes.acp.postures]]
approvals = "ask"
session_mode = "careful"

[[modes.acp.diagnoses]]
raw_code = 429
message_pattern = 'too (?:many|much)'
code = "limited"
title = "The limit was reached"
remedy = "Wait."
source = "recordings/acp.jsonl"
verified = "2026-11-30 1.0"
"""
LINES: list[dict[str, Any]] = [
    {"dir": ">", "msg": {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}},
    {"dir": "<", "msg": {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}},
    {"dir": ">", "msg": {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {}}},
    {"dir": "<", "msg": {"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "acme-1"}}},
    {
        "dir": ">",
        "phase": "plain",
        "msg": {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "session/prompt",
            "params": {"sessionId": "acme-1", "prompt": []},
        },
    },
    {"dir": "<", "msg": {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}},
]
STRANGE_UPDATE: dict[str, Any] = {
    "dir": "<",
    "msg": {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": "acme-1", "update": {"sessionUpdate": "no_such_update"}},
    },
}
STRANGE_ANSWER: dict[str, Any] = {"dir": "<", "msg": {"jsonrpc": "2.0", "id": 99, "result": {}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A harness that is right."""
    folder = tmp_path / "acme"
    (folder / "recordings").mkdir(parents=True)
    (folder / "manifest.toml").write_text(GOOD, encoding="utf-8")
    (folder / "README.md").write_text("# Acme\n", encoding="utf-8")
    record(folder)
    assert expect([str(folder)]) == 0
    return folder


def record(folder: Path, *more: dict[str, Any], name: str = "acp.jsonl") -> None:
    text = "".join(json.dumps(line) + "\n" for line in (*LINES, *more))
    (folder / "recordings" / name).write_text(text, encoding="utf-8")


def change(folder: Path, old: str, new: str) -> None:
    file = folder / "manifest.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def told(folder: Path) -> list[tuple[str, str, str]]:
    return [(one.severity, one.rule, one.at) for one in lint_folder(folder)]


def test_a_harness_that_is_right_has_no_finding(folder: Path) -> None:
    assert lint_folder(folder) == ()


WRONG = [
    ('name = "Acme"\n', 'name = "Acme"\ncolour = "red"\n', "fault", "manifest", "colour"),
    ('id = "acme"', 'id = "other"', "fault", "manifest", "id"),
    ('args = ["acp"]', 'args = ["{model}"]', "fault", "manifest", "modes.acp.launch.args[0]"),
    (
        "raw_code = 429\nmessage_pattern = 'too (?:many|much)'\n",
        "",
        "fault",
        "manifest",
        "modes.acp.diagnoses[0]",
    ),
    (
        'evidence = "proved"\nsource = "recordings/acp.jsonl"\n',
        "",
        "fault",
        "source",
        "modes.acp.capabilities.launch",
    ),
    (
        'evidence = "proved"\nsource = "recordings/acp.jsonl"',
        'evidence = "proved"\nsource = "somebody said so"',
        "fault",
        "proof",
        "modes.acp.capabilities.launch",
    ),
    (
        'evidence = "proved"\nsource = "recordings/acp.jsonl"',
        'evidence = "proved"\nsource = "recordings/lost.jsonl, phase plain"',
        "fault",
        "proof",
        "modes.acp.capabilities.launch",
    ),
    (
        'evidence = "proved"\nsource = "recordings/acp.jsonl"',
        'evidence = "proved"\nsource = "tests/test_far_away.py"',
        "advice",
        "proof",
        "modes.acp.capabilities.launch",
    ),
    (
        '[[modes.acp.postures]]\napprovals = "ask"\nsession_mode = "careful"\n',
        "",
        "fault",
        "posture",
        "modes.acp.postures",
    ),
    ('approvals = "ask"', 'approvals = "bypass"', "advice", "posture", "modes.acp.postures"),
    ('session_mode = "careful"\n', "", "advice", "posture-set", "modes.acp.postures"),
    (
        "'too (?:many|much)'",
        "'(?:[a-z]+ ?)+limit'",
        "fault",
        "pattern",
        "modes.acp.diagnoses[0].message_pattern",
    ),
    ("'acme-\\d+'", "'emca-\\d+'", "fault", "session-id", "session.id_pattern"),
    ('default_mode = "acp"\n', 'default_mode = "acp"\nplugin = "plugin.py"\n', "fault", "plugin", "plugin"),
    ('install = "npm install -g acme-agent"\n', "", "advice", "install", "program.install"),
    ('tested = ">=1, <2"\n', "", "advice", "install", "program.tested"),
    (
        'remedy = "Wait."\nsource = "recordings/acp.jsonl"\n',
        'remedy = "Wait."\n',
        "advice",
        "diagnosis",
        "modes.acp.diagnoses[0]",
    ),
]


@pytest.mark.parametrize(("old", "new", "severity", "rule", "at"), WRONG)
def test_a_manifest_that_is_wrong_in_one_way_has_one_finding(
    folder: Path, old: str, new: str, severity: str, rule: str, at: str
) -> None:
    change(folder, old, new)

    assert told(folder) == [(severity, rule, at)]


@pytest.mark.parametrize("line", [STRANGE_UPDATE, STRANGE_ANSWER])
def test_a_recording_that_the_transport_does_not_understand_is_a_fault(
    folder: Path, line: dict[str, Any]
) -> None:
    record(folder, line)
    assert expect([str(folder)]) == 0

    assert told(folder) == [("fault", "recording", "recordings/acp.jsonl")]


def test_a_recording_that_comes_to_something_else_is_a_fault(folder: Path) -> None:
    record(folder, {"dir": "<", "msg": "a banner"})

    assert told(folder) == [("fault", "recording", "recordings/acp.jsonl")]


def test_a_recording_that_cannot_be_read_is_a_fault(folder: Path) -> None:
    (folder / "recordings" / "acp.jsonl").write_text("no JSON\n", encoding="utf-8")

    assert told(folder) == [("fault", "recording", "recordings/acp.jsonl")]


def test_a_recording_of_which_nothing_is_expected_is_an_advice(folder: Path) -> None:
    record(folder, name="acp-more.jsonl")

    assert told(folder) == [("advice", "recording", "recordings/acp-more.jsonl")]


@pytest.mark.parametrize("content", ['{"acp-lost.jsonl": {"launches": 1, "sessions": 1}}', "no JSON"])
def test_expectations_that_lead_nowhere_or_cannot_be_read_are_a_fault(folder: Path, content: str) -> None:
    (folder / "recordings" / "acp.jsonl").unlink()
    change(folder, 'evidence = "proved"', 'evidence = "probed"')
    (folder / "recordings" / "expected.json").write_text(content, encoding="utf-8")

    assert told(folder) == [("fault", "recording", "recordings/expected.json")]


def test_a_folder_without_a_page_is_an_advice(folder: Path) -> None:
    (folder / "README.md").unlink()

    assert told(folder) == [("advice", "readme", "README.md")]


def test_faults_come_before_advice_and_every_one_of_several_is_told(folder: Path) -> None:
    (folder / "README.md").unlink()
    change(folder, 'session_mode = "careful"\n', "")
    change(folder, "'acme-\\d+'", "'emca-\\d+'")

    assert [rule for _, rule, _ in told(folder)] == ["session-id", "posture-set", "readme"]


def test_every_fault_of_a_manifest_that_cannot_be_read_is_told(folder: Path) -> None:
    change(folder, 'name = "Acme"\n', 'name = 7\ncolour = "red"\n')

    assert {at for _, _, at in told(folder)} == {"name", "colour"}


def test_the_merged_manifest_stands_for_a_folder_that_is_one_layer_of_several(folder: Path) -> None:
    manifest = load_manifest(folder)
    (folder / "manifest.toml").write_text('id = "acme"\n', encoding="utf-8")

    assert [one.rule for one in lint_folder(folder)][:1] == ["manifest"]
    assert lint_folder(folder, manifest=manifest) == ()


def test_every_rule_is_broken_by_a_sample() -> None:
    samples = {rule for *_, rule, _ in WRONG} | {"recording", "readme"}
    # Nothing was renamed yet: tests/plugin/test_renamed_keys.py shows what lint says once something is.
    samples.add("renamed")

    # Those about consoles have their own samples, in test_console_lint.
    assert samples == {rule for rule in RULES if not rule.startswith("screen-")}


def test_a_finding_says_what_is_and_what_to_do(folder: Path) -> None:
    change(folder, 'approvals = "ask"', 'approvals = "bypass"')

    [found] = lint_folder(folder)

    assert found.message
    assert found.hint
    assert msgspec.json.decode(msgspec.json.encode(found), type=Finding) == found


def test_what_is_expected_is_written_checked_and_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = (folder / "recordings" / "expected.json").read_text(encoding="utf-8")
    assert expect([str(folder), "--check"]) == 0

    record(folder, {"dir": "<", "msg": "a banner"})
    assert expect([str(folder), "--check"]) == 1
    assert (folder / "recordings" / "expected.json").read_text(encoding="utf-8") == kept
    assert "acp.jsonl comes to something else" in capsys.readouterr().err

    assert expect([str(folder)]) == 0
    assert (folder / "recordings" / "expected.json").read_text(encoding="utf-8") != kept
    assert expect([]) == 2
    assert expect([str(folder / "nowhere")]) == 1
