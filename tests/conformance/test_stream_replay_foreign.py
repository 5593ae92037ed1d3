"""A conversation that another client had is replayed like one of ours: its ids are its own, and nobody marked its beginnings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inspan.harnesses
from inspan.conformance.outcomes import Outcomes, find_outcomes, replay_in_mode
from inspan.model.errors import ManifestError
from inspan.plugin.manifest_file import load_manifest

ROOT = Path(inspan.harnesses.__file__).parent


def with_ids_of_its_own(harness: str, direction: str, message: dict[str, Any]) -> dict[str, Any]:
    """The message, had another client made it: our calls and the answers to them have other ids."""
    if harness == "codex":
        is_call = direction == ">" and "method" in message
        is_answer = direction == "<" and "method" not in message
    else:
        is_call = direction == ">" and message["type"] != "extension_ui_response"
        is_answer = direction == "<" and message["type"] == "response"
    if "id" not in message or not (is_call or is_answer):
        return message
    ident = message["id"]
    return {**message, "id": ident + 100 if isinstance(ident, int) else f"theirs-{ident}"}


def as_another_client(harness: str, name: str, folder: Path) -> Path:
    """The recording without its marks, and with other ids."""
    lines: list[str] = []
    for line in (ROOT / harness / "recordings" / "stream" / name).read_text().splitlines():
        found = json.loads(line)
        if found["dir"] == "!":
            continue
        found["msg"] = with_ids_of_its_own(harness, found["dir"], found["msg"])
        lines.append(json.dumps(found))
    file = folder / name
    file.write_text("\n".join(lines) + "\n")
    return file


def outcomes(harness: str, file: Path) -> Outcomes:
    mode = load_manifest(ROOT / harness).modes["stream"]
    return find_outcomes(replay_in_mode(file, mode), mode)


@pytest.mark.parametrize(
    ("harness", "name"),
    [
        ("codex", "tools.jsonl"),
        ("codex", "cancel.jsonl"),
        ("codex", "failures.jsonl"),
        ("codex", "resume.jsonl"),
        ("pi", "tools.jsonl"),
        ("pi", "cancel.jsonl"),
        ("pi", "failures.jsonl"),
    ],
)
def test_a_conversation_of_another_client_comes_to_what_ours_came_to(
    harness: str, name: str, tmp_path: Path
) -> None:
    ours = outcomes(harness, ROOT / harness / "recordings" / "stream" / name)

    theirs = outcomes(harness, as_another_client(harness, name, tmp_path))

    assert ours.turns
    assert msgspec.structs.replace(theirs, launches=0) == msgspec.structs.replace(ours, launches=0)


def test_a_prompt_that_was_said_before_the_last_turn_was_over_is_a_turn_of_its_own(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"dir": ">", "msg": {"id": "1", "type": "get_state"}},
        {"dir": "<", "msg": {"id": "1", "type": "response", "success": True, "data": {"sessionId": "s-1"}}},
        {"dir": ">", "msg": {"id": "2", "type": "prompt", "message": "one"}},
        {"dir": "<", "msg": {"id": "2", "type": "response", "command": "prompt", "success": True}},
        {"dir": "<", "msg": {"type": "agent_start"}},
        {"dir": ">", "msg": {"id": "2", "type": "prompt", "message": "two"}},
        {"dir": "<", "msg": {"type": "agent_settled", "aborted": False}},
        {"dir": ">", "msg": {"id": "9", "type": "get_session_stats"}},
        {"dir": "<", "msg": {"id": "9", "type": "response", "success": True}},
        {"dir": "<", "msg": {"id": "2", "type": "response", "command": "prompt", "success": True}},
        {"dir": "<", "msg": {"type": "agent_start"}},
        {"dir": "<", "msg": {"type": "agent_settled", "aborted": True}},
    ]
    file = tmp_path / "rpc.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))

    found = outcomes("pi", file)

    assert [turn.outcome for turn in found.turns] == ["completed", "cancelled"]
    assert (found.opened, found.faults) == (("new",), 0)


def test_where_the_client_chooses_the_session_the_beginning_must_be_marked(tmp_path: Path) -> None:
    file = tmp_path / "control.jsonl"
    file.write_text(json.dumps({"dir": ">", "msg": {"type": "user", "message": {"content": "hi"}}}) + "\n")

    with pytest.raises(ManifestError) as refusal:
        outcomes("claude-code", file)

    assert (refusal.value.code, "`!`" in refusal.value.hint) == ("recording_invalid", True)
