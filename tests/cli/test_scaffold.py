"""`inspan harness new`: a folder that claims nothing, passes lint, and is a harness at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspan.cli.main import main
from inspan.conformance.lint import lint_folder
from inspan.host.registry import HarnessRegistry
from support.harness_folders import add_harness


def made(home: Path, *words: str) -> Path:
    assert main(["--home", str(home), "harness", "new", "acme", *words]) == 0
    return home / "harnesses" / "acme"


@pytest.mark.parametrize(("words", "modes"), [((), ["acp", "terminal"]), (("--from-console",), ["terminal"])])
def test_a_new_harness_is_registered_and_without_a_fault(
    tmp_path: Path, words: tuple[str, ...], modes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made(tmp_path, *words)
    said = capsys.readouterr()
    assert said.err.count("next: ") == 4
    assert "manifest.toml" in said.out
    manifest = HarnessRegistry(tmp_path).manifest("acme")
    assert list(manifest.modes) == modes
    assert manifest.default_mode == modes[0]
    assert {one.severity for one in lint_folder(folder)} <= {"advice"}
    assert main(["--home", str(tmp_path), "harness", "lint", "acme"]) == 0


def test_the_next_steps_of_the_readme_lead_to_a_console_that_is_read(tmp_path: Path) -> None:
    folder = made(tmp_path, "--from-console", "--program", "acme-agent")
    assert HarnessRegistry(tmp_path).manifest("acme").program.names == ("acme-agent",)
    recordings = folder / "recordings" / "terminal"
    (recordings / "80x24").mkdir()
    screens = {"busy": "> hello\r\n\r\n* thinking (esc to interrupt)\r\n", "idle": "> \r\n\r\n"}
    for name, text in screens.items():
        (recordings / "80x24" / f"{name}.raw").write_bytes(text.encode())
    labels = json.loads((recordings / "80x24.json").read_text())
    labels["states"] = {"busy": {"state": "running"}, "idle": {"state": "unknown"}}
    (recordings / "80x24.json").write_text(json.dumps(labels))
    rules = folder / "terminal-rules.toml"
    lines = rules.read_text(encoding="utf-8").replace("\nrules = []\n", "\n").splitlines()
    begin = lines.index("# [[rules]]")
    end = next(at for at, line in enumerate(lines) if line.startswith("# spares"))
    example = [line.removeprefix("# ") for line in lines[begin : end + 1]]
    rules.write_text("\n".join((*lines[:begin], *example)), encoding="utf-8")
    assert main(["--home", str(tmp_path), "harness", "lint", "acme"]) == 0
    labels["states"]["busy"]["state"] = "idle"
    (recordings / "80x24.json").write_text(json.dumps(labels))
    assert main(["--home", str(tmp_path), "harness", "lint", "acme"]) == 22


@pytest.mark.parametrize("harness", ["codex", "Acme", "../acme", "", "mine"])
def test_an_id_that_is_taken_or_none_is_refused_and_nothing_is_written(
    tmp_path: Path, harness: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add_harness(tmp_path / "harnesses", "mine", "broken")
    assert main(["--home", str(tmp_path), "harness", "new", harness]) == 2
    assert "next:" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "harnesses").iterdir()] == ["mine"]
    assert (tmp_path / "harnesses" / "mine" / "manifest.toml").read_text() == "broken"


def test_what_was_made_is_told_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path, "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["harness"], told["folder"]) == ("acme", str(folder))
    assert all((folder / path).is_file() for path in told["files"])


def test_a_name_that_could_break_the_file_is_quoted(tmp_path: Path) -> None:
    made(tmp_path, "--program", 'ac"me\\')
    assert HarnessRegistry(tmp_path).manifest("acme").program.names == ('ac"me\\',)
