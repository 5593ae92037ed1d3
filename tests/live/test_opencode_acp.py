"""OpenCode by itself in the namespace: the ground that the end-to-end tests stand on."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.live.acp_lines import Json, open_acp_lines, permission_answer
from support.live.target import ReadyTarget

# What they say of the harness alone, the others say of it with Inspan: to be run where those fail.
pytestmark = [pytest.mark.live, pytest.mark.timeout(600), pytest.mark.opt_in("INSPAN_LIVE_ALL")]

_INITIALIZE: Json = {"protocolVersion": 1, "clientCapabilities": {"terminal": False}}


def _new_session(workspace: Path) -> Json:
    return {"cwd": str(workspace), "mcpServers": []}


def _prompt(session_id: str, text: str) -> Json:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}


def test_opencode_speaks_acp_in_the_namespace(opencode: ReadyTarget) -> None:
    arena = opencode.arena
    with open_acp_lines(opencode.start_acp) as lines:
        initialized = lines.call("initialize", _INITIALIZE)["result"]
        assert initialized["agentInfo"]["version"] == opencode.installed.version
        session_id = lines.call("session/new", _new_session(arena.workspace))["result"]["sessionId"]
        lines.phase = "plain"
        ended = lines.call("session/prompt", _prompt(session_id, "good morning"))["result"]
        assert ended["stopReason"] == "end_turn"
        assert "PLAIN-ANSWER" in lines.spoken_text("plain")
    assert arena.model.times_prompted("good morning") == 1
    assert arena.model.unscripted() == []


def test_opencode_asks_before_it_runs_a_command_and_obeys_the_answer(opencode: ReadyTarget) -> None:
    arena = opencode.arena
    with open_acp_lines(opencode.start_acp) as lines:
        lines.call("initialize", _INITIALIZE)
        session_id = lines.call("session/new", _new_session(arena.workspace))["result"]["sessionId"]
        lines.answer = permission_answer("allow_once")
        lines.call("session/prompt", _prompt(session_id, "TOOLSHELL [cmd=echo yes > allowed.txt]"))
        lines.answer = permission_answer("reject_once")
        lines.call("session/prompt", _prompt(session_id, "TOOLSHELL [cmd=echo no > refused.txt]"))
    assert (arena.workspace / "allowed.txt").read_text() == "yes\n"
    assert not (arena.workspace / "refused.txt").exists()


def test_opencode_remembers_the_conversation_after_kill_9(opencode: ReadyTarget) -> None:
    arena = opencode.arena
    with open_acp_lines(opencode.start_acp) as lines:
        lines.call("initialize", _INITIALIZE)
        session_id = lines.call("session/new", _new_session(arena.workspace))["result"]["sessionId"]
        lines.call("session/prompt", _prompt(session_id, "the word is heron"))
        request_id = lines.request("session/prompt", _prompt(session_id, "HANG please"))
        lines.wait_for(lambda message: message.get("method") == "session/update")
        assert request_id > 0
        assert lines.kill() == -9
    with open_acp_lines(opencode.start_acp) as lines:
        lines.call("initialize", _INITIALIZE)
        known = {"sessionId": session_id} | _new_session(arena.workspace)
        assert "result" in lines.call("session/resume", known)
        lines.phase = "recall"
        lines.call("session/prompt", _prompt(session_id, "RECALL please"))
        assert "the word is heron" in lines.spoken_text("recall")
