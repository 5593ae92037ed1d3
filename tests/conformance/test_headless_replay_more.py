"""Four harnesses whose one-shot runs tell less: what they say is read, and what they leave out is not made up."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import inspan.harnesses
from inspan.conformance.headless_replay import replay_headless
from inspan.conformance.replay import Replay
from inspan.model.content import MessageChunk, PermissionDenied, ToolCallUpdated
from inspan.model.manifest import ModeManifest
from inspan.model.turn import TurnOutcome
from inspan.plugin.diagnosing import diagnose
from inspan.plugin.manifest_file import load_manifest

ROOT = Path(inspan.harnesses.__file__).parent
FOUR = ("cline", "hermes", "kimi", "vibe")
PLAIN = "The scripted model answers plainly. PLAIN-ANSWER"


def mode_of(harness: str) -> ModeManifest:
    return load_manifest(ROOT / harness).modes["headless"]


def played(harness: str, case: str) -> Replay:
    return replay_headless(ROOT / harness / "recordings" / "headless" / f"{case}.out", mode_of(harness))


def words(replay: Replay, role: str = "agent") -> str:
    bodies = (one.report.body for one in replay.reports)
    return "".join(one.text for one in bodies if isinstance(one, MessageChunk) and one.role == role)


def code_of(harness: str, case: str) -> str:
    (turn,) = played(harness, case).turns
    assert turn.outcome is TurnOutcome.FAILED
    assert turn.error is not None
    found = diagnose(turn.error, mode_of(harness).diagnoses)
    assert found.hint or found.code == "call_failed"
    return found.code


@pytest.mark.requirement("H-A26")
@pytest.mark.parametrize("harness", FOUR)
def test_a_plain_run_answers_with_the_words_of_the_model_alone(harness: str) -> None:
    replay = played(harness, "plain")
    (turn,) = replay.turns
    assert (turn.outcome, turn.started, turn.error) == (TurnOutcome.COMPLETED, True, None)
    assert words(replay).strip() == PLAIN


@pytest.mark.requirement("H-D14")
@pytest.mark.parametrize("harness", ["hermes", "kimi", "vibe"])
def test_the_next_run_goes_on_in_the_session_and_knows_what_was_said(harness: str) -> None:
    first, second = played(harness, "plain"), played(harness, "resume")
    assert len(first.sessions) == 1
    assert second.sessions == first.sessions
    assert words(second).strip() == "I was told: PLAIN please"


def test_a_harness_that_names_no_session_is_not_believed_to_have_one() -> None:
    assert played("cline", "plain").sessions == ()
    assert mode_of("cline").capabilities.resume.is_supported is False
    assert code_of("cline", "resume-id") == "harness_exited"


@pytest.mark.requirement("H-B18", "H-N55")
@pytest.mark.parametrize(
    ("harness", "case", "code"),
    [
        *((harness, "quota", "limited") for harness in ("cline", "hermes", "kimi")),
        *((harness, "authfail", "auth_required") for harness in FOUR),
        *((harness, "noauth", "auth_required") for harness in ("hermes", "kimi", "vibe")),
        ("cline", "noauth", "call_failed"),  # without a network it only says that there is none
        ("hermes", "resume-missing", "session_missing"),
        ("vibe", "resume-missing", "session_missing"),
    ],
)
def test_failures_are_typed_wherever_the_harness_says_them(harness: str, case: str, code: str) -> None:
    assert code_of(harness, case) == code


@pytest.mark.parametrize("harness", ["hermes", "vibe"])
def test_an_unknown_session_declines_the_prompt(harness: str) -> None:
    replay = played(harness, "resume-missing")
    assert (replay.turns[0].declined, replay.turns[0].started, replay.sessions) == (True, False, ())


def test_an_exit_status_alone_says_that_it_is_a_limit() -> None:
    mode = mode_of("kimi")
    without_lines = msgspec.structs.replace(mode.headless, lines=())
    run = ROOT / "kimi" / "recordings" / "headless" / "quota.out"
    (turn,) = replay_headless(run, msgspec.structs.replace(mode, headless=without_lines)).turns
    assert turn.error is not None
    assert turn.error.code == "limited"


@pytest.mark.requirement("H-F3")
@pytest.mark.parametrize(
    ("harness", "tool", "rule"),
    [
        ("vibe", "file_system.bash", '[tools.bash] allowlist with "echo asked > asked.txt"'),
        ("cline", "run_commands", "--approvals bypass"),
    ],
)
def test_a_denial_names_what_would_allow_it(harness: str, tool: str, rule: str) -> None:
    denied = [one.report.body for one in played(harness, "tool").reports]
    (found,) = [one for one in denied if isinstance(one, PermissionDenied)]
    assert (found.tool, found.rule) == (tool, rule)
    assert found.is_shared is (harness == "vibe")


@pytest.mark.parametrize(
    ("harness", "case", "kind", "status"),
    [
        ("vibe", "tool", "execute", "failed"),
        ("vibe", "tool-edits", "edit", "completed"),
        ("vibe", "tool-bypass", "execute", "completed"),
        ("kimi", "tool-bypass", "execute", "completed"),
        ("kimi", "write-bypass", "edit", "completed"),
        ("cline", "tool", "execute", "failed"),
        ("cline", "tool-bypass", "execute", "completed"),
    ],
)
def test_a_tool_call_has_its_kind_and_its_end(harness: str, case: str, kind: str, status: str) -> None:
    bodies = [one.report.body for one in played(harness, case).reports]
    calls = [one for one in bodies if isinstance(one, ToolCallUpdated)]
    assert len({one.id for one in calls}) == 1
    assert (calls[0].kind, calls[-1].status) == (kind, status)


@pytest.mark.parametrize("harness", ["cline", "kimi", "vibe"])
def test_thoughts_are_kept_apart_from_the_answer(harness: str) -> None:
    replay = played(harness, "think")
    assert words(replay, "thought") == "A scripted thought."
    assert words(replay) == "The scripted model has thought. THINK-ANSWER"


def test_tokens_are_told_by_the_one_that_counts_them() -> None:
    usage = played("cline", "tool").turns[0].usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (2400, 68)
    assert all(played(harness, "plain").turns[0].usage is None for harness in ("hermes", "kimi", "vibe"))
