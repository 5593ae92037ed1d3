"""`harness lint` and `harness probe` as people and programs read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspan.cli.exits import Exit
from inspan.cli.main import main
from support.harness_folders import add_harness, manifest_text
from support.scripted_http import ScriptedHttp

PROBE = {
    "harness": "acme",
    "installed": "yes",
    "program": "/bin/acme-adapter",
    "version": "2.1.0",
    "tested": "no",
    "problems": [
        {
            "code": "runtime_unfit",
            "message": "Acme needs node >=22.",
            "hint": "Install it.",
            "is_fatal": False,
        },
        {
            "code": "version_untested",
            "message": "2.1.0 was not tried.",
            "hint": "Report it.",
            "is_fatal": False,
        },
    ],
    "sign_in_hint": "Run `acme login`.",
    "runtime": [
        {"name": "node", "wanted": ">=22", "program": "/bin/node", "version": "20.1", "is_met": "no"}
    ],
    "programs": [
        {"modes": ["acp"], "installed": "yes", "program": "/bin/acme-adapter", "version": "2.1.0"},
        {"modes": ["terminal"], "installed": "no"},
    ],
}


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(list(words))
    return status, capsys.readouterr().out


def test_lint_of_a_folder_says_each_finding_with_the_next_step_and_ends_with_22_for_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], throwaway_home: Path
) -> None:
    folder = add_harness(
        tmp_path, "acme", manifest_text(more='[modes.acp.capabilities.cancel]\nsupport = "supported"')
    )

    status, said = told(capsys, "harness", "lint", str(folder))

    assert status == Exit.PLUGIN
    first, *rest = said.splitlines()
    assert first.startswith("fault   acme  modes.acp.capabilities.")
    assert "[source]" in first
    assert any(line.startswith("advice") and "README.md" in line for line in rest)
    assert sum("next:" in line for line in rest) == sum("next:" not in line for line in (first, *rest))


def test_lint_without_faults_ends_with_0_and_takes_an_id_too(
    capsys: pytest.CaptureFixture[str], throwaway_home: Path
) -> None:
    status, said = told(capsys, "harness", "lint", "qwen")

    assert (status, said.split()) == (0, ["ok", "qwen"])


def test_lint_of_all_is_json_by_id(capsys: pytest.CaptureFixture[str], throwaway_home: Path) -> None:
    status, said = told(capsys, "--json", "harness", "lint")

    found = json.loads(said)
    assert status == 0
    assert {"demo", "codex", "hermes"} <= set(found)
    assert found["codex"] == []
    assert {one["rule"] for one in found["hermes"]} == {"posture"}
    assert {one["severity"] for findings in found.values() for one in findings} == {"advice"}


@pytest.mark.parametrize(
    ("target", "status"),
    [("no-such-harness", Exit.UNKNOWN_NAME), ("./nowhere", Exit.USAGE), ("..bad", Exit.USAGE)],
)
def test_lint_of_nothing_says_so(
    capsys: pytest.CaptureFixture[str], throwaway_home: Path, target: str, status: int
) -> None:
    assert main(["harness", "lint", target]) == status


def test_a_faulty_harness_of_the_home_is_told_by_its_id(
    capsys: pytest.CaptureFixture[str], throwaway_home: Path
) -> None:
    folder = add_harness(throwaway_home / "inspan" / "harnesses", "acme", "id = 7\n")

    status, said = told(capsys, "harness", "lint", "acme")

    assert status == Exit.PLUGIN
    assert str(folder) in said


def test_a_probe_says_what_to_do_first_and_how_to_sign_in(
    capsys: pytest.CaptureFixture[str], daemon: ScriptedHttp
) -> None:
    daemon.answers["POST", "/v1/harnesses/acme/probe"] = PROBE

    status, said = told(capsys, "harness", "probe", "acme")

    assert status == 0
    lines = said.splitlines()
    assert lines[0].split() == ["HARNESS", "INSTALLED", "VERSION", "TESTED", "SIGNED", "IN", "PROGRAM"]
    assert lines[1].split() == ["acme", "yes", "2.1.0", "no", "unknown", "/bin/acme-adapter"]
    nexts = [line.strip() for line in lines if "next:" in line]
    assert nexts == ["next: Install it.", "next: Report it."]
    assert any("mode terminal" in line and "not found" in line for line in lines)
    assert any("needs node >=22" in line and "20.1" in line for line in lines)
    assert lines[-1].strip() == "to sign in: Run `acme login`."
