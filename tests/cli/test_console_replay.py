"""`inspan harness replay ID FILE.raw`: the bytes of a console as changes of its state, one JSON line each."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inspan.harnesses
from inspan.cli.main import main
from inspan.conformance.console_fixtures import bytes_of
from support.terminal_recordings import recorded_sets

ROOT = Path(inspan.harnesses.__path__[0])
STATES = {"running", "idle", "needs_input", "unknown"}


def recording(tmp_path: Path, harness: str, name: str, set_name: str = "120x40") -> Path:
    (recorded,) = [one for one in recorded_sets(harness) if one.name == set_name]
    file = tmp_path / f"{name}.raw"
    file.write_bytes(bytes_of(recorded, name))
    return file


def lines_of(capsys: pytest.CaptureFixture[str], home: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["--home", str(home), "harness", "replay", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_console_is_replayed_to_one_line_a_change_with_the_final_state_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
) -> None:
    file = recording(tmp_path, "codex", "approval")
    lines = lines_of(capsys, tmp_path, "codex", str(file), *flags)
    assert all({"state", "kind", "rule", "evidence"} <= line.keys() for line in lines)
    assert {line["state"] for line in lines} <= STATES
    assert [line.get("final", False) for line in lines] == [False] * (len(lines) - 1) + [True]
    assert (lines[-1]["state"], lines[-1]["kind"]) == ("needs_input", "permission")
    assert lines[-1]["offset"] == file.stat().st_size
    assert lines[-1]["evidence"]
    gates = [line.get("gate") for line in lines]
    assert "hooks_review" in gates


@pytest.mark.requirement("H-N54")
@pytest.mark.parametrize(
    ("harness", "name", "state", "kind", "error"),
    [
        ("codex", "limit", "idle", "limited", "limited"),
        ("claude-code", "autherror", "idle", "auth_required", "auth_required"),
        ("gemini", "limit", "needs_input", "limit", "limited"),
        ("vibe", "limit", "running", "retrying", None),
        ("opencode", "idle-after-error", "idle", None, None),
    ],
)
def test_limits_errors_and_retries_are_named_in_the_last_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    harness: str,
    name: str,
    state: str,
    kind: str | None,
    error: str | None,
) -> None:
    file = recording(tmp_path, harness, name)
    last = lines_of(capsys, tmp_path, harness, str(file))[-1]
    assert (last["state"], last["kind"], last.get("error")) == (state, kind, error)


def test_a_console_of_another_size_is_replayed_at_that_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recording(tmp_path, "kimi", "approval", "tmux-80x24")
    last = lines_of(capsys, tmp_path, "kimi", str(file), "--size", "80x24")[-1]
    assert (last["state"], last["kind"], last["rule"]) == ("needs_input", "permission", "dialog.permission")


def test_a_packed_recording_and_one_of_another_name_are_read_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recording(tmp_path, "pi", "busy")
    packed, other = tmp_path / "packed.raw.xz", tmp_path / "console.bin"
    packed.write_bytes(lzma.compress(file.read_bytes()))
    other.write_bytes(file.read_bytes())
    for words in ((str(packed),), (str(other), "--mode", "terminal"), (str(other), "--size", "120x40")):
        assert lines_of(capsys, tmp_path, "pi", *words)[-1]["state"] == "running"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("codex", "FILE", "--size", "80"), "COLSxROWS"),
        (("codex", "FILE", "--size", "0x24"), "0 columns"),
        (("codex", "FILE", "--size", "80x24", "--mode", "acp"), "terminal"),
        (("demo", "FILE"), "no mode over the transport"),
        (("codex", "/nowhere.raw"), "/nowhere.raw"),
        (("nonsense", "FILE"), "nonsense"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    file = recording(tmp_path, "codex", "ready")
    named = [str(file) if word == "FILE" else word for word in words]
    assert main(["--home", str(tmp_path), "harness", "replay", *named]) != 0
    assert said in capsys.readouterr().err


def test_no_daemon_is_started_and_the_home_stays_empty(tmp_path: Path) -> None:
    home, file = tmp_path / "home", recording(tmp_path, "pi", "idle")
    done = subprocess.run(
        [sys.executable, "-m", "inspan", "--home", str(home), "harness", "replay", "pi", str(file), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1])["state"] == "idle"
    assert not home.exists() or list(home.iterdir()) == []


def test_bytes_that_are_no_console_leave_the_state_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "noise.raw"
    file.write_bytes(bytes(range(256)) * 40 + b"\x1b]7501;state=nonsense\x07\x1b[999;999Hx")
    last = lines_of(capsys, tmp_path, "codex", str(file))[-1]
    assert (last["state"], last["kind"], last["rule"]) == ("unknown", None, "default")
