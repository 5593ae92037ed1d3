"""One-shot modes that nobody ran here: what their rules make of records as other projects' sources describe them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import inspan.harnesses
from inspan.model.content import MessageChunk, ToolCallUpdated, UnknownUpdate
from inspan.model.manifest import ModeManifest
from inspan.model.plan import TransportSettings
from inspan.model.reports import PromptAnswered, Reported, SessionReady, WillRetry
from inspan.plugin.diagnosing import diagnose
from inspan.plugin.manifest_file import load_manifest
from inspan.transports.headless import HeadlessMachine
from inspan.transports.machine import HarnessEnd

ROOT = Path(inspan.harnesses.__file__).parent
Records = list[dict[str, Any]]

CLAUDE_LIKE: Records = [
    {"type": "system", "subtype": "init", "session_id": "T-1"},
    {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "Hello."}]}},
    {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"cmd": "ls"}}]},
    },
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}},
]
GOOSE_MESSAGE: dict[str, Any] = {
    "id": "m1",
    "role": "assistant",
    "content": [{"type": "text", "text": "Hello."}],
}
GOOSE_CALL: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "toolRequest", "id": "c1", "toolCall": {"value": {"name": "shell", "arguments": {}}}}
    ],
}
GOOSE_RESULT: dict[str, Any] = {
    "role": "user",
    "content": [{"type": "toolResponse", "id": "c1", "toolResult": {"status": "success", "value": []}}],
}

WHOLE: dict[str, Records] = {
    "amp": [*CLAUDE_LIKE, {"type": "result", "subtype": "success", "is_error": False, "result": "Hello."}],
    "cursor": [
        {"type": "system", "subtype": "init", "session_id": "T-1", "model": "m", "permissionMode": "default"},
        {"type": "user", "message": {"role": "user", "content": []}, "session_id": "T-1"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello."}]}},
        {
            "type": "tool_call",
            "subtype": "started",
            "call_id": "c1",
            "tool_call": {"shellToolCall": {"args": {"command": "ls"}}},
        },
        {"type": "tool_call", "subtype": "completed", "call_id": "c1", "tool_call": {"shellToolCall": {}}},
        {"type": "result", "subtype": "success", "is_error": False, "result": "Hello."},
    ],
    "droid": [
        {"type": "system", "subtype": "init", "session_id": "T-1", "model": "m"},
        {"type": "message", "role": "user", "id": "u1", "text": "hi", "session_id": "T-1"},
        {"type": "tool_call", "id": "c1", "toolName": "Execute", "parameters": {"command": "ls"}},
        {"type": "tool_result", "id": "c1", "toolId": "Execute", "isError": False, "value": "x"},
        {"type": "completion", "finalText": "Hello.", "session_id": "T-1"},
    ],
    "goose": [
        {"type": "message", "message": GOOSE_MESSAGE},
        {"type": "message", "message": GOOSE_CALL},
        {"type": "message", "message": GOOSE_RESULT},
        {"type": "notification", "extension_id": "x"},
        {"type": "complete", "total_tokens": 7},
    ],
    "kilo": [
        {"type": "step_start", "sessionID": "T-1"},
        {"type": "text", "sessionID": "T-1", "part": {"id": "p1", "text": "Hello."}},
        {
            "type": "tool_use",
            "sessionID": "T-1",
            "part": {
                "callID": "c1",
                "tool": "bash",
                "state": {"status": "completed", "input": {"command": "ls"}},
            },
        },
        {"type": "step_finish", "sessionID": "T-1", "part": {"tokens": {"input": 3, "output": 4}}},
    ],
    "letta": [
        {"type": "system", "subtype": "init", "conversation_id": "T-1", "session_id": "a", "model": "m"},
        {"type": "message", "message_type": "assistant_message", "id": "m1", "content": "Hello."},
        {
            "type": "message",
            "message_type": "tool_call_message",
            "id": "m2",
            "tool_call": {"tool_call_id": "c1", "name": "Bash", "arguments": "{}"},
        },
        {"type": "message", "message_type": "tool_return_message", "tool_call_id": "c1", "status": "success"},
        {"type": "message", "message_type": "usage_statistics"},
        {"type": "result", "subtype": "success", "result": "Hello.", "usage": {"total_tokens": 7}},
    ],
}
REFUSED: dict[str, tuple[Records, int]] = {
    "amp": (
        [{"type": "result", "subtype": "error_during_execution", "is_error": True, "error": "Unauthorized"}],
        1,
    ),
    "droid": ([{"type": "error", "source": "cli", "message": "Invalid API key"}], 1),
    "goose": ([{"type": "error", "error": "Request failed: 401 Unauthorized"}], 0),
    "kilo": (
        [{"type": "error", "error": {"name": "APIError", "data": {"message": "No.", "statusCode": 401}}}],
        1,
    ),
    "letta": (
        [
            {"type": "error", "message": "Not logged in", "stop_reason": "error"},
            {"type": "result", "subtype": "error", "result": None, "stop_reason": "error"},
        ],
        1,
    ),
}


def mode_of(harness: str) -> ModeManifest:
    return load_manifest(ROOT / harness).modes["headless"]


def run(harness: str, output: bytes, exit_code: int = 0) -> list[Reported]:
    mode = mode_of(harness)
    session = "T-1" if mode.headless.chooses_session else None
    machine = HeadlessMachine(TransportSettings(workspace="/", session_id=session, headless=mode.headless))
    steps = [machine.start(), machine.prompt("d1", "hi"), machine.feed(output), machine.finish()]
    steps.append(machine.end(HarnessEnd(exit_code=exit_code)))
    return [one for step in steps for one in step.reports]


def lines(records: Records) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def of(kind: type[Any], reports: list[Reported]) -> list[Any]:
    return [one.body for one in reports if isinstance(one.body, kind)]


@pytest.mark.parametrize("harness", sorted(WHOLE))
def test_words_tools_session_and_end_are_read_from_records_as_they_are_described(harness: str) -> None:
    reports = run(harness, lines(WHOLE[harness]))

    (answer,) = of(PromptAnswered, reports)
    assert (answer.outcome, answer.error) == ("completed", None)
    assert "".join(one.text for one in of(MessageChunk, reports)) == "Hello."
    assert [one.session_id for one in of(SessionReady, reports)] == ["T-1"]
    calls = [one for one in of(ToolCallUpdated, reports) if one.id == "c1"]
    assert calls[-1].status == "completed"
    assert calls[0].title
    assert of(UnknownUpdate, reports) == []


@pytest.mark.parametrize("harness", sorted(REFUSED))
def test_a_refused_key_ends_the_turn_with_a_typed_error_and_what_to_do(harness: str) -> None:
    records, exit_code = REFUSED[harness]

    (answer,) = of(PromptAnswered, run(harness, lines(records), exit_code))

    assert answer.outcome == "failed"
    error = diagnose(answer.error, mode_of(harness).diagnoses)
    assert error.code == "auth_required"
    assert error.hint


def test_a_sign_in_that_is_asked_for_in_plain_words_is_one() -> None:
    (answer,) = of(PromptAnswered, run("cursor", b"Press any key to sign in...\n", exit_code=1))

    error = diagnose(answer.error, mode_of("cursor").diagnoses)
    assert (error.code, "cursor-agent login" in error.hint) == ("auth_required", True)


def test_another_attempt_is_said_with_its_wait() -> None:
    retry = {"type": "retry", "reason": "llm_api_error", "attempt": 1, "max_attempts": 3, "delay_ms": 2000}

    (said,) = of(WillRetry, run("letta", lines([retry])))

    assert (said.delay_s, said.attempt, said.limit) == (2.0, 1, 3)
