"""Every recording in every harness's folder is replayed, and comes to what is written down beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inspan.harnesses
from inspan.conformance.expect import expect
from inspan.conformance.lint import lint_folder
from inspan.conformance.outcomes import ExpectedTurn, Outcomes, find_recordings, read_expected
from inspan.conformance.recording import read_recording
from inspan.model.manifest import Diagnosis, ModeManifest
from inspan.model.turn import CallError
from inspan.plugin.diagnosing import diagnose_text, find_diagnosis
from inspan.plugin.manifest_file import load_manifest
from inspan.transports.acp.loose import mapping, mapping_in

ROOT = Path(inspan.harnesses.__file__).parent
IDS = sorted(file.parent.name for file in ROOT.glob("*/manifest.toml"))
REAL = [harness for harness in IDS if not load_manifest(ROOT / harness).scripted]
RECORDED = sorted({file.parents[1].name for file in ROOT.glob("*/recordings/acp*.jsonl")})
REPLAYED = sorted({file.parents[1].name for file in ROOT.glob("*/recordings/expected.json")})
"""Those whose recordings, of whatever mode, come to something that is written down."""
CASES = msgspec.json.decode((Path(__file__).parent / "errors.json").read_bytes(), type=list[dict[str, Any]])
"""Errors by harness: `error` or `text` as the harness wrote it, `from` a recording's phase or the reason why it is
believed, and the code that it must get."""

FAILING_PHASES = {
    "quota": {"limited"},
    "authfail": {"auth_required"},
    "badsession": {"session_missing"},
    "load-missing": {"session_missing"},
    "new": {"auth_required"},
}
"""What a phase of a recording must come to wherever the harness answers it with an error."""

HIDES_ITS_REASON = {"kimi", "pi"}
"""Their turns end without a word where the model could not be asked: that they failed is all that can be known."""


def outcomes() -> Iterator[tuple[str, str, Outcomes]]:
    for harness in RECORDED:
        for name, one in read_expected(ROOT / harness / "recordings").items():
            yield harness, name, one


def turns(outcomes: Outcomes, phase: str) -> list[ExpectedTurn]:
    return [turn for turn in outcomes.turns if turn.phase == phase]


def mode_of(harness: str) -> ModeManifest:
    return load_manifest(ROOT / harness).modes["acp"]


def spoken(harness: str, phase: str) -> str:
    """What the agent said in a phase of the recorded fork."""
    lines = read_recording(ROOT / harness / "recordings" / "acp-fork.jsonl")
    params = (mapping_in(mapping(one.message) or {}, "params") for one in lines if one.phase == phase)
    updates = (mapping_in(one, "update") for one in params)
    return "".join(
        mapping_in(one, "content").get("text", "")
        for one in updates
        if one.get("sessionUpdate") == "agent_message_chunk"
    )


def raised(error: dict[str, Any]) -> CallError:
    data: Any = error.get("data")
    raw = {"value": data} if isinstance(data, str) else data
    return CallError(code="call_failed", message=error["message"], raw_code=error["code"], raw=raw)


def test_the_harnesses_that_ran_have_recordings() -> None:
    assert len(RECORDED) >= 12
    assert len(IDS) >= 23


@pytest.mark.parametrize("harness", IDS)
def test_lint_finds_no_fault_in_a_built_in_harness(harness: str) -> None:
    assert [one for one in lint_folder(ROOT / harness) if one.severity == "fault"] == []


def test_every_recorded_conversation_and_run_has_something_that_is_expected_of_it() -> None:
    for harness in IDS:
        folder, manifest = ROOT / harness / "recordings", load_manifest(ROOT / harness)
        recorded = {
            one for name, mode in manifest.modes.items() for one in find_recordings(folder, name, mode)
        }
        assert recorded == set(read_expected(folder)), harness


@pytest.mark.parametrize("harness", REPLAYED)
def test_a_recording_comes_to_what_is_expected_of_it(harness: str) -> None:
    expected = read_expected(ROOT / harness / "recordings")

    assert expected
    assert expect(ROOT / harness) == expected


@pytest.mark.requirement("H-N55")
@pytest.mark.parametrize(("harness", "name", "found"), list(outcomes()))
def test_limits_refused_keys_and_unknown_sessions_are_told_apart(
    harness: str, name: str, found: Outcomes
) -> None:
    told = [(turn.phase, turn.code) for turn in found.turns if turn.outcome in ("failed", "limited")]
    told += [(failure.phase, failure.code) for failure in found.failures]
    hidden = {"call_failed"} if harness in HIDES_ITS_REASON else set[str]()
    for phase, code in told:
        assert code in FAILING_PHASES.get(phase, {code}) | hidden, f"{harness}/{name}: {phase} is {code}"
    for turn in (*turns(found, "quota"), *turns(found, "authfail")):
        assert turn.outcome != "completed"
        assert (turn.outcome == "limited") is (turn.code == "limited")


@pytest.mark.requirement("H-N55")
@pytest.mark.parametrize("harness", ["auggie", "cline", "kimi"])
def test_a_harness_to_which_nobody_is_signed_in_gives_a_typed_error_and_says_how_to(harness: str) -> None:
    [failure] = read_expected(ROOT / harness / "recordings")["acp.jsonl"].failures
    [diagnosis] = [one for one in mode_of(harness).diagnoses if one.code == "auth_required"]

    assert (failure.phase, failure.code) == ("new", "auth_required")
    assert diagnosis.cause
    assert "`" in diagnosis.remedy


@pytest.mark.parametrize("harness", ["claude-code", "hermes", "vibe"])
def test_a_recorded_fork_is_a_session_of_its_own_and_its_parent_knows_nothing_of_it(harness: str) -> None:
    found = read_expected(ROOT / harness / "recordings")["acp-fork.jsonl"]
    assert (found.sessions, "forked" in found.opened) == (2, True)
    for phase in ("fork-prompt", "load-prompt"):
        assert turns(found, phase)[0].outcome == "completed"
        assert spoken(harness, phase) == "I was told: the word is heron"


@pytest.mark.parametrize(
    ("harness", "name", "found"),
    [
        one
        for one in outcomes()
        if one[2].sessions and one[1].startswith("acp") and one[1] != "acp-fork.jsonl"
    ],
)
def test_a_recorded_session_was_opened_asked_cancelled_and_taken_up_again(
    harness: str, name: str, found: Outcomes
) -> None:
    assert found.opened[0] == "new"
    assert turns(found, "plain")[0].outcome == "completed"
    assert turns(found, "cancel")[0].outcome == "cancelled"
    assert {"loaded", "resumed"} & set(found.opened) or name == "acp-hooks.jsonl"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['harness']}-{case['code']}-{case['from']}")
def test_an_error_as_a_harness_wrote_it_is_understood(case: dict[str, Any]) -> None:
    mode = mode_of(case["harness"])

    if "text" in case:
        read = diagnose_text(case["text"], mode.turn_text_failures)
        assert read is not None
        assert read[0].code == case["code"]
    else:
        index = find_diagnosis(raised(case["error"]), mode.diagnoses)
        assert index is not None
        assert mode.diagnoses[index].code == case["code"]


@pytest.mark.parametrize("harness", [one for one in REAL if "acp" in load_manifest(ROOT / one).modes])
def test_every_diagnosis_is_reached_by_an_error(harness: str) -> None:
    mode = mode_of(harness)
    cases = [case for case in CASES if case["harness"] == harness]
    reached: set[Any] = {
        find_diagnosis(raised(case["error"]), mode.diagnoses) for case in cases if "error" in case
    }
    told = {
        read[1]
        for case in cases
        if "text" in case
        if (read := diagnose_text(case["text"], mode.turn_text_failures))
    }

    missing = [
        one.title for index, one in enumerate(mode.diagnoses) if index not in reached and not _is_plain(one)
    ]
    assert missing == []
    assert told == set(range(len(mode.turn_text_failures)))


def _is_plain(diagnosis: Diagnosis) -> bool:
    """Whether it reads the protocol's own code alone, so that there is nothing in it to go wrong."""
    return diagnosis.raw_code == -32000 and not (diagnosis.message_pattern or diagnosis.data_pattern)


@pytest.mark.parametrize("harness", RECORDED)
def test_every_error_of_a_recording_stands_among_the_cases(harness: str) -> None:
    known = [raised(case["error"]) for case in CASES if case["harness"] == harness and "error" in case]
    for error in errors_in(harness):
        said = raised(error)
        assert find_diagnosis(said, mode_of(harness).diagnoses) is not None, error
        assert any(said.raw_code == one.raw_code for one in known), error


def errors_in(harness: str) -> Iterator[dict[str, Any]]:
    """The errors that a harness answered with, but for those to methods that it does not have."""
    for file in sorted((ROOT / harness / "recordings").glob("acp*.jsonl")):
        for line in read_recording(file):
            error = mapping_in(mapping(line.message) or {}, "error")
            if line.direction == "<" and error and error["code"] != -32601:
                yield error


@pytest.mark.requirement("H-N56")
@pytest.mark.parametrize("harness", ["goose", "qwen", "vibe"])
def test_a_harness_that_begins_by_approving_is_told_its_mode_for_every_posture(harness: str) -> None:
    assert all(rule.session_mode for rule in mode_of(harness).postures)
    assert "ask" in {rule.approvals.value for rule in mode_of(harness).postures}
