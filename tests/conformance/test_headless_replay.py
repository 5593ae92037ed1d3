"""Every recorded one-shot run of every harness comes to what really happened in it."""

from __future__ import annotations

from pathlib import Path

import pytest

import inspan.harnesses
from inspan.conformance.headless_replay import replay_headless
from inspan.conformance.replay import Replay
from inspan.model.content import (
    ConfigUpdated,
    MessageChunk,
    Noise,
    PermissionDenied,
    ProtocolFault,
    ToolCallUpdated,
    UnknownUpdate,
)
from inspan.model.errors import ManifestError
from inspan.model.manifest import ModeManifest
from inspan.model.reports import SessionFailed, WillRetry
from inspan.model.turn import CallError, TurnOutcome, UsageKind
from inspan.plugin.diagnosing import diagnose
from inspan.plugin.manifest_file import load_manifest

ROOT = Path(inspan.harnesses.__file__).parent
RUNS = sorted(ROOT.glob("*/recordings/headless/*.out"))
RESUMED = {
    "claude-code": "2032a2d3-47df-414c-b8b9-c6fe88d98f5a",
    "codex": "01a22d91-f4d8-7291-b931-ab813327a4a9",
    "copilot": "fa447744-7f35-42ac-8fe7-fe641eb43680",
    "gemini": "440f260b-5b76-430a-a86a-dd91cc91c7b2",
    "opencode": "ses_dd26e0322ffe8Z6bGbCPXWG9TG",
    "pi": "01a22d92-25f6-7135-95c2-e7a27dfa9ee3",
    "qwen": "6603e324-9abf-4a26-a16c-3d88f2a7d272",
}
"""The session of the first run, which the second one resumed under the same id."""

HARNESSES = sorted(RESUMED)
"""Those that were recorded alike; what is different with the others stands in their own tests."""


def mode_of(harness: str) -> ModeManifest:
    return load_manifest(ROOT / harness).modes["headless"]


def played(harness: str, case: str) -> Replay:
    return replay_headless(ROOT / harness / "recordings" / "headless" / f"{case}.out", mode_of(harness))


def error_of(harness: str, case: str) -> CallError:
    """The error of the run's turn, as the manifest reads it."""
    error = played(harness, case).turns[0].error
    assert error is not None
    return diagnose(error, mode_of(harness).diagnoses)


def bodies(replay: Replay, kind: type[object]) -> list[object]:
    return [one.report.body for one in replay.reports if isinstance(one.report.body, kind)]


def words(replay: Replay) -> str:
    return "".join(one.text for one in bodies(replay, MessageChunk) if isinstance(one, MessageChunk))


def test_there_are_runs_of_these_harnesses() -> None:
    assert {run.parents[2].name for run in RUNS} >= set(HARNESSES)
    assert len(RUNS) >= 90


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parents[2].name}-{run.stem}")
def test_no_record_is_unknown_or_a_fault_and_no_line_is_noise(run: Path) -> None:
    harness = run.parents[2].name
    replay = played(harness, run.stem)
    for kind in (UnknownUpdate, ProtocolFault):
        assert bodies(replay, kind) == []
    # A harness may have lines of plain text, if its manifest knows them.
    assert bodies(replay, Noise) == [] or mode_of(harness).headless.lines


@pytest.mark.requirement("H-A26", "H-D14")
@pytest.mark.parametrize("harness", HARNESSES)
def test_a_plain_run_answers_and_the_next_one_goes_on_in_its_session(harness: str) -> None:
    for case in ("plain", "resume"):
        replay = played(harness, case)
        (turn,) = replay.turns
        assert (turn.outcome, turn.started, turn.error) == (TurnOutcome.COMPLETED, True, None)
        assert words(replay) == "Hello from the scripted model. PLAIN-ANSWER"
        assert replay.sessions == (RESUMED[harness],)


@pytest.mark.requirement("H-B18")
@pytest.mark.parametrize("harness", sorted(set(HARNESSES) - {"qwen"}))
def test_a_usage_limit_is_told_as_one_whatever_the_exit_status(harness: str) -> None:
    (turn,) = played(harness, "quota").turns
    assert turn.outcome is TurnOutcome.FAILED
    assert error_of(harness, "quota").code == "limited"


def test_a_harness_that_waits_out_a_usage_limit_says_so_and_ends_nothing() -> None:
    replay = played("qwen", "quota")
    assert replay.turns[0].outcome is TurnOutcome.LOST
    assert bodies(replay, WillRetry) == [WillRetry(delay_s=60.0, reason="retry", attempt=1, limit=10)]


@pytest.mark.requirement("H-N55")
@pytest.mark.parametrize(
    ("harness", "case"),
    [(harness, "authfail") for harness in HARNESSES]
    + [(harness, "noauth") for harness in ("claude-code", "codex", "copilot", "gemini")],
)
def test_a_refused_key_and_a_missing_sign_in_are_typed_errors(harness: str, case: str) -> None:
    error = error_of(harness, case)
    assert error.code == "auth_required"
    assert error.hint


@pytest.mark.requirement("H-N25")
@pytest.mark.parametrize("harness", HARNESSES)
def test_an_unknown_session_declines_the_prompt_and_opens_nothing(harness: str) -> None:
    replay = played(harness, "resume-missing")
    (turn,) = replay.turns
    assert (turn.declined, turn.started, replay.sessions) == (True, False, ())
    assert error_of(harness, "resume-missing").code == "session_missing"
    assert len(bodies(replay, SessionFailed)) == 1


@pytest.mark.parametrize("harness", sorted(set(HARNESSES) - {"copilot", "qwen"}))
def test_a_run_that_was_killed_in_mid_turn_has_lost_it(harness: str) -> None:
    (turn,) = played(harness, "hang").turns
    assert (turn.outcome, turn.started) == (TurnOutcome.LOST, True)


def test_a_run_that_says_that_it_was_stopped_is_cancelled_though_its_result_is_a_success() -> None:
    replay = played("copilot", "stopped")
    (turn,) = replay.turns
    assert (turn.outcome, turn.raw_reason, turn.error) == (TurnOutcome.CANCELLED, "user_abort", None)
    assert replay.sessions == ("ebefb325-e225-41ed-9380-47757a1021e4",)


@pytest.mark.requirement("H-F3")
@pytest.mark.parametrize(
    ("harness", "case", "tool", "rule", "settings"),
    [
        (
            "claude-code",
            "tool-denied",
            "Bash",
            "Bash(echo scripted > scripted-shell.txt)",
            "~/.claude/settings.json (permissions.allow)",
        ),
        (
            "claude-code",
            "tool-auto",
            "Write",
            "Edit(//demo/ws/claude/hl.txt)",
            "~/.claude/settings.json (permissions.allow)",
        ),
        (
            "opencode",
            "tool",
            "bash",
            '"permission": {"bash": {"echo scripted > scripted-shell.txt": "allow"}}',
            "~/.config/opencode/opencode.json",
        ),
        ("copilot", "tool", "bash", "--allow-tool 'shell(echo scripted > scripted-shell.txt)'", ""),
    ],
)
def test_a_denial_names_the_exact_rule_once(
    harness: str, case: str, tool: str, rule: str, settings: str
) -> None:
    (denied,) = bodies(played(harness, case), PermissionDenied)
    assert isinstance(denied, PermissionDenied)
    assert (denied.tool, denied.rule, denied.settings) == (tool, rule, settings)
    assert denied.is_shared is bool(settings)
    assert denied.reason


@pytest.mark.parametrize(
    ("harness", "case", "title", "status"),
    [
        ("codex", "tool-sandbox", "/bin/bash -lc 'echo scripted > scripted-shell.txt'", "completed"),
        ("gemini", "tool-yolo", "run_shell_command", "completed"),
        ("pi", "tool", "bash", "completed"),
        ("copilot", "tool-allow", "echo scripted > scripted-shell.txt", "completed"),
        ("copilot", "tool", "echo scripted > scripted-shell.txt", "failed"),
        ("claude-code", "tool-denied", "Bash", "failed"),
        ("opencode", "tool", "bash", "failed"),
    ],
)
def test_a_tool_call_begins_with_its_title_and_ends_under_its_id(
    harness: str, case: str, title: str, status: str
) -> None:
    calls = [
        one for one in bodies(played(harness, case), ToolCallUpdated) if isinstance(one, ToolCallUpdated)
    ]
    assert len({one.id for one in calls}) == 1
    assert (calls[0].title, calls[-1].status) == (title, status)


@pytest.mark.parametrize(
    ("harness", "kind", "tokens"),
    [
        ("claude-code", UsageKind.TURN, 400),
        ("codex", UsageKind.CUMULATIVE, 2400),
        ("gemini", UsageKind.TURN, 2400),
        ("pi", UsageKind.TURN, 400),
    ],
)
def test_tokens_have_the_kind_that_they_are_of(harness: str, kind: UsageKind, tokens: int) -> None:
    case = {"claude-code": "tool-denied", "gemini": "tool-yolo"}.get(harness, "tool")
    usage = played(harness, case).turns[0].usage
    assert usage is not None
    assert (usage.kind, usage.input_tokens) == (kind, tokens)


@pytest.mark.requirement("H-A45")
def test_the_model_in_force_is_the_one_that_the_harness_names() -> None:
    named = {
        "claude-code": "claude-opus-5-5",
        "gemini": "gemini-2.5-flash",
        "pi": "scripted-1",
        "qwen": "scripted-1",
        "copilot": "scripted-1",
    }
    for harness, model in named.items():
        (said, *_) = bodies(played(harness, "plain"), ConfigUpdated)
        assert isinstance(said, ConfigUpdated)
        assert said.values["model"] == model


def test_a_run_that_is_not_there_is_refused_with_the_way_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        replay_headless(tmp_path / "none.out", mode_of("codex"))
    assert caught.value.code == "recording_invalid"


def test_a_run_without_its_exit_status_ends_as_one_that_was_stopped(tmp_path: Path) -> None:
    run = tmp_path / "cut.out"
    run.write_bytes(b'{"type":"thread.started","thread_id":"x"}\n{"type":"turn.started"}\n')
    (turn,) = replay_headless(run, mode_of("codex")).turns
    assert turn.outcome is TurnOutcome.LOST
