"""Recorded conversations of real harnesses give the reports that a person reads in them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspan.conformance.recording import read_recording
from inspan.conformance.replay import Replay, replay_lines, replay_recording
from inspan.model.content import MessageChunk, Noise, ToolCallUpdated
from inspan.model.errors import ManifestError
from inspan.model.manifest import AcpSettings
from inspan.model.plan import TransportSettings
from inspan.model.reports import Connected, SessionFailed, SessionReady

HARNESSES = Path(__file__).parents[2] / "src/inspan/harnesses"
ALLOW_FIRST = ("allow_once", "allow_always", "reject_once")
ALWAYS_FIRST = ("allow_always", "allow_once", "reject_once")


def replayed(harness: str, **acp: Any) -> Replay:
    """The recording of a built-in harness."""
    settings = TransportSettings(workspace="/w", acp=AcpSettings(**acp))
    return replay_recording(HARNESSES / harness / "recordings/acp.jsonl", settings)


@pytest.fixture(scope="module")
def answers_first() -> Replay:
    """A harness that answers a load first and tells the conversation again afterwards."""
    return replayed("gemini", replay_after_answer=True, usage_kind="turn")


@pytest.fixture(scope="module")
def tells_first() -> Replay:
    """A harness that tells the conversation again before it answers a load."""
    return replayed("opencode", usage_kind="step")


def turns(replay: Replay) -> list[tuple[object, ...]]:
    """Phase, outcome, the harness's word, and whether it was seen to begin."""
    return [(turn.phase, turn.outcome.value, turn.raw_reason, turn.started) for turn in replay.turns]


def permissions(replay: Replay) -> list[tuple[object, ...]]:
    """Phase, request id, title, kinds of options, and what was answered."""
    return [
        (
            one.phase,
            one.wire_id,
            one.tool_call.title,
            one.tool_call.kind,
            tuple(option.kind.value for option in one.options),
            one.answer,
        )
        for one in replay.permissions
    ]


def bodies(replay: Replay, kind: type[Any]) -> list[Any]:
    """All reports of a kind."""
    return [one.report.body for one in replay.reports if isinstance(one.report.body, kind)]


@pytest.mark.requirement("H-B17", "H-B19")
def test_turns_of_the_first_recording_end_as_they_did(answers_first: Replay) -> None:
    assert turns(answers_first) == [
        ("plain", "completed", "end_turn", True),
        ("tool-allow", "completed", "end_turn", True),
        ("tool-reject", "completed", "end_turn", True),
        ("cancel", "cancelled", "cancelled", True),
        ("cancel-perm", "cancelled", "cancelled", True),
        ("quota", "limited", "error 429", False),
        ("authfail", "failed", "error 401", False),
        ("after-err", "completed", "end_turn", True),
        ("badsession", "failed", "error -32602", False),
        ("session/load-prompt", "completed", "end_turn", True),
    ]
    assert [(turn.error.code, turn.declined) for turn in answers_first.turns if turn.error] == [
        ("limited", False),
        ("auth_required", False),
        ("call_failed", True),
    ]
    assert [turn.usage.input_tokens for turn in answers_first.turns if turn.usage] == [
        1200,
        2400,
        2400,
        1200,
        1200,
    ]


@pytest.mark.requirement("H-B17", "H-B19")
def test_turns_of_the_second_recording_end_as_they_did(tells_first: Replay) -> None:
    assert turns(tells_first) == [
        ("plain", "completed", "end_turn", True),
        ("tool-allow", "completed", "end_turn", True),
        ("tool-reject", "completed", "end_turn", True),
        ("cancel", "cancelled", "cancelled", True),
        ("cancel-perm", "cancelled", "cancelled", True),
        ("quota", "failed", "error -32603", False),
        ("authfail", "failed", "error -32603", False),
        ("after-err", "completed", "end_turn", True),
        ("badsession", "failed", "error -32602", False),
        ("session/load-prompt", "completed", "end_turn", True),
        ("session/resume-prompt", "completed", "end_turn", True),
    ]
    quota = tells_first.turns[5]
    assert quota.error is not None
    assert quota.error.raw == {"service": "session", "errorName": "APIError"}
    assert [turn.declined for turn in tells_first.turns].count(True) == 1
    plain = tells_first.turns[0].usage
    assert plain is not None
    assert (plain.kind.value, plain.input_tokens, plain.cached_read_tokens) == ("step", 200, 1000)


@pytest.mark.requirement("H-C13")
def test_permission_requests_keep_their_options_by_kind(answers_first: Replay, tells_first: Replay) -> None:
    assert permissions(answers_first) == [
        ("tool-allow", "0", "echo scripted > scripted-shell.txt", "execute", ALWAYS_FIRST, "proceed_once"),
        ("tool-reject", "1", "Writing to rejected.txt", "edit", ALWAYS_FIRST, "cancel"),
        ("cancel-perm", "2", "echo two > two.txt", "execute", ALWAYS_FIRST, None),
    ]
    assert permissions(tells_first) == [
        ("tool-allow", "0", "echo scripted > scripted-shell.txt", "execute", ALLOW_FIRST, "once"),
        ("tool-reject", "1", "/demo/ws/opencode/rejected.txt", "edit", ALLOW_FIRST, "reject"),
        ("cancel-perm", "2", "echo two > two.txt", "execute", ALLOW_FIRST, None),
    ]
    assert all(one.is_answered for one in answers_first.permissions + tells_first.permissions)


@pytest.mark.requirement("H-D14")
def test_sessions_are_those_that_the_harness_named(answers_first: Replay, tells_first: Replay) -> None:
    assert answers_first.sessions == ("159c09bc-9786-4bf0-8f5d-f79cf101523f",)
    assert tells_first.sessions == ("ses_dd281d5b1ffeGei4FH3dQ7eK0j",)
    assert [one.how.value for one in bodies(answers_first, SessionReady)] == ["new", "loaded"]
    assert [one.how.value for one in bodies(tells_first, SessionReady)] == ["new", "loaded", "resumed"]
    assert [(one.outcome.value, one.error.raw_code) for one in bodies(answers_first, SessionFailed)] == [
        ("refused", -32601),
        ("failed", -32603),
    ]
    assert [one.error.raw_code for one in bodies(tells_first, SessionFailed)] == [-32603]


def test_what_the_processes_offer_is_read(answers_first: Replay, tells_first: Replay) -> None:
    first, second = bodies(answers_first, Connected)[0], bodies(tells_first, Connected)[0]

    assert (first.harness_version, second.harness_version) == ("0.61.0", "1.18.33")
    assert [one for one in first.offers if "_" not in one] == ["load"]
    assert [one for one in second.offers if "_" not in one] == ["load", "close", "fork", "list", "resume"]


@pytest.mark.requirement("L14")
def test_a_conversation_told_again_after_the_answer_is_marked_even_under_a_prompt(
    answers_first: Replay,
) -> None:
    marks = Counter(
        (one.phase, one.report.body.role, one.report.body.replay)
        for one in answers_first.reports
        if isinstance(one.report.body, MessageChunk) and one.launch == 2
    )

    assert marks == {
        ("session/load", "user", True): 1,
        ("session/load-prompt", "user", True): 7,
        ("session/load-prompt", "agent", True): 7,
        ("session/load-prompt", "agent", False): 6,
    }


@pytest.mark.requirement("L14")
def test_a_conversation_told_again_before_the_answer_is_marked(tells_first: Replay) -> None:
    told = [one for one in tells_first.reports if getattr(one.report.body, "replay", False)]

    assert {one.phase for one in told} == {"session/load"}
    assert Counter(type(one.report.body) for one in told) == {MessageChunk: 15, ToolCallUpdated: 6}


def test_nothing_in_the_recordings_is_unknown_or_broken(answers_first: Replay, tells_first: Replay) -> None:
    for replay in (answers_first, tells_first):
        summary = replay.summary()
        assert summary["launches"] == 2
        for what in ("unknown_updates", "unknown_messages", "noise_lines", "faults"):
            assert summary[what] == 0


@pytest.mark.parametrize(
    "path",
    sorted(HARNESSES.glob("*/recordings/acp*.jsonl")),
    ids=lambda path: f"{path.parts[-3]}-{path.stem}",
)
def test_every_built_in_recording_is_understood(path: Path) -> None:
    replay = replay_recording(path, TransportSettings(workspace="/w"))

    # Where nobody was signed in, the recording ends before any prompt.
    assert replay.turns or any(isinstance(one.report.body, SessionFailed) for one in replay.reports)
    assert not [turn for turn in replay.turns if turn.outcome == "lost" and not turn.raw_reason]
    assert replay.summary()["unknown_updates"] == replay.summary()["faults"] == 0


def test_reports_keep_the_line_and_time_that_they_come_from(tells_first: Replay) -> None:
    lines = [one.line for one in tells_first.reports]
    times = [one.at_s for one in tells_first.reports]

    assert lines == sorted(lines)
    assert times == sorted(times)
    first = tells_first.turns[0]
    assert (first.line, first.answered_line) == (6, 14)


def test_a_replay_is_written_as_one_json_line_a_report_and_a_last_one(tells_first: Replay) -> None:
    *reports, last = [json.loads(line) for line in replay_lines(tells_first)]

    assert len(reports) == len(tells_first.reports) == last["summary"]["reports"]
    assert reports[0]["report"]["body"]["type"] == "connected"
    assert last["summary"]["turns"] == {"completed": 6, "cancelled": 2, "failed": 3}
    assert len(last["turns"]) == 11


def recording(folder: Path, *rows: dict[str, Any] | str) -> Path:
    """A recording of these rows."""
    path = folder / "rows.jsonl"
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def opening(session: str = "s") -> list[dict[str, Any]]:
    """The rows of a handshake."""
    return [
        {"dir": ">", "msg": {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}},
        {"dir": "<", "msg": {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}},
        {"dir": ">", "msg": {"jsonrpc": "2.0", "id": "n", "method": "session/new", "params": {}}},
        {"dir": "<", "msg": {"jsonrpc": "2.0", "id": "n", "result": {"sessionId": session}}},
    ]


def prompt_row(number: int, session: str = "s") -> dict[str, Any]:
    """The row of a prompt."""
    params: dict[str, Any] = {"sessionId": session, "prompt": []}
    return {"dir": ">", "msg": {"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": params}}


def test_a_turn_whose_process_ended_is_lost(tmp_path: Path) -> None:
    path = recording(
        tmp_path, *opening(), prompt_row(7), {"dir": "!", "msg": "closed kill rc=-9"}, *opening("t")
    )

    replay = replay_recording(path, TransportSettings(workspace="/w"))

    assert turns(replay) == [("", "lost", "closed kill rc=-9", False)]
    assert (replay.launches, replay.sessions) == (2, ("s", "t"))


def test_a_remark_about_the_process_ends_nothing_by_itself(tmp_path: Path) -> None:
    answer = {"dir": "<", "msg": {"jsonrpc": "2.0", "id": 7, "result": {"stopReason": "end_turn"}}}
    path = recording(tmp_path, *opening(), prompt_row(7), {"dir": "!", "msg": "still there"}, answer)

    replay = replay_recording(path, TransportSettings(workspace="/w"))

    assert (replay.launches, turns(replay)) == (1, [("", "completed", "end_turn", True)])


def test_lines_that_were_no_messages_are_noise(tmp_path: Path) -> None:
    path = recording(tmp_path, {"dir": "<", "msg": "Loading"}, "", *opening(), {"dir": "<", "msg": 5})

    replay = replay_recording(path, TransportSettings(workspace="/w"))

    assert bodies(replay, Noise) == [Noise(lines=1, sample="Loading"), Noise(lines=1, sample="5")]
    assert replay.sessions == ("s",)


def test_an_empty_recording_holds_nothing(tmp_path: Path) -> None:
    replay = replay_recording(recording(tmp_path), TransportSettings(workspace="/w"))

    assert (replay.launches, replay.reports, replay.turns) == (0, (), ())


@pytest.mark.parametrize("row", ["no json", "[]", '{"dir": "?", "msg": 1}', '{"dir": "<"}', "\x00"])
def test_a_recording_with_another_line_is_refused_with_the_line(tmp_path: Path, row: str) -> None:
    path = recording(tmp_path, *opening(), row)

    with pytest.raises(ManifestError) as error:
        replay_recording(path, TransportSettings(workspace="/w"))

    assert (error.value.code, error.value.detail["line"]) == ("recording_invalid", 5)


def test_a_recording_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as error:
        list(read_recording(tmp_path / "nothing.jsonl"))

    assert error.value.code == "recording_invalid"
