"""Record a real harness over ACP: `python -m support.live.record_acp TARGET FILE`, as root, `tests/` on the path.

Walks one harness through a turn of each kind, or with `--fork` through a fork, against the scripted model and writes every line both ways as
`{"t": seconds, "dir": ">" | "<" | "!", "phase": ..., "msg": ...}`. Throwaway paths are written as `/demo`.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from support.live import claude, hermes, kimi, opencode, vibe
from support.live.acp_lines import AcpLines, Json, open_acp_lines, permission_answer
from support.live.netns import open_namespace
from support.live.target import ReadyTarget, Target, open_target

__all__ = ["TARGETS", "record", "record_fork"]

TARGETS: dict[str, Target] = {
    target.pin: target
    for target in (opencode.TARGET, claude.ADAPTER, hermes.TARGET, kimi.TARGET, vibe.TARGET)
}

_MISSING_SESSION = "00000000-0000-4000-8000-000000000000"
_INITIALIZE: Json = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
    "clientInfo": {"name": "recorder", "title": "Recorder", "version": "1"},
}


def record(ready: ReadyTarget) -> list[Json]:
    """Walk a harness through all phases, in three processes, and return the lines."""
    kept: list[Json] = []
    started_s = time.monotonic()
    with open_acp_lines(ready.start_acp, kept=kept, started_s=started_s) as lines:
        _begin(lines, ready, phase="init")
        lines.phase = "new"
        created = lines.call("session/new", _place(ready))
        session_id = str(created["result"]["sessionId"])
        _record_turns(lines, session_id)
        _prompt(lines, session_id, "kill", "HANG please", waits=False)
        _wait_for_word(lines)
        lines.kill()
    with open_acp_lines(ready.start_acp, kept=kept, started_s=started_s) as lines:
        offers = _begin(lines, ready, phase="reload")
        known = {"sessionId": session_id} | _place(ready)
        if offers.get("loadSession"):
            lines.phase = "load"
            lines.call("session/load", known)
            _prompt(lines, session_id, "load-prompt", "RECALL after load")
            lines.phase = "load-missing"
            lines.call("session/load", known | {"sessionId": _MISSING_SESSION})
        lines.phase = "stdin-close"
        lines.close_input()
    if "resume" in offers.get("sessionCapabilities", {}):
        with open_acp_lines(ready.start_acp, kept=kept, started_s=started_s) as lines:
            _begin(lines, ready, phase="restart")
            lines.phase = "resume"
            lines.call("session/resume", known)
            _prompt(lines, session_id, "resume-prompt", "RECALL after resume")
            lines.phase = "stdin-close"
            lines.close_input()
    return kept


def record_fork(ready: ReadyTarget) -> list[Json]:
    """Fork a conversation from a second process, as Inspan does, and ask both sides what they know."""
    kept: list[Json] = []
    started_s = time.monotonic()
    with open_acp_lines(ready.start_acp, kept=kept, started_s=started_s) as lines:
        _begin(lines, ready, phase="init")
        lines.phase = "new"
        parent = str(lines.call("session/new", _place(ready))["result"]["sessionId"])
        _prompt(lines, parent, "plain", "the word is heron")
        lines.close_input()
    with open_acp_lines(ready.start_acp, kept=kept, started_s=started_s) as lines:
        _begin(lines, ready, phase="reload")
        lines.phase = "fork"
        forked = lines.call("session/fork", {"sessionId": parent} | _place(ready))
        if "result" not in forked:
            lines.phase = "fork-load"
            lines.call("session/load", {"sessionId": parent} | _place(ready))
            lines.phase = "fork-loaded"
            forked = lines.call("session/fork", {"sessionId": parent} | _place(ready))
        if "result" in forked:
            _prompt(lines, str(forked["result"]["sessionId"]), "fork-prompt", "RECALL in the fork")
        lines.kill()
    with open_acp_lines(ready.start_acp, kept=kept, started_s=started_s) as lines:
        offers = _begin(lines, ready, phase="restart")
        lines.phase = how = "load" if offers.get("loadSession") else "resume"
        lines.call(f"session/{how}", {"sessionId": parent} | _place(ready))
        _prompt(lines, parent, f"{how}-prompt", "RECALL in the parent")
        lines.phase = "fork-missing"
        lines.call("session/fork", {"sessionId": _MISSING_SESSION} | _place(ready))
        lines.kill()
    return kept


def main() -> None:
    """Parse the arguments, record and write the file."""
    parser = argparse.ArgumentParser(prog="record-acp")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("file", type=Path)
    parser.add_argument("--fork", action="store_true", help="record a fork, and nothing else")
    arguments = parser.parse_args()
    walk = record_fork if arguments.fork else record
    with open_namespace() as namespace, open_target(TARGETS[arguments.target], namespace) as ready:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in walk(ready))
        text = text.replace(str(ready.arena.root), "/demo")
        text = text.replace(str(ready.installed.program.resolve().parent), "/opt/bin")
        arguments.file.write_text(text.replace(str(ready.installed.folder), "/opt/bin"), encoding="utf-8")


def _begin(lines: AcpLines, ready: ReadyTarget, *, phase: str) -> Json:
    lines.phase = phase
    initialized: Json = lines.call("initialize", _INITIALIZE)["result"]
    if ready.target.auth_method:
        lines.call("authenticate", {"methodId": ready.target.auth_method})
    return initialized["agentCapabilities"]


def _record_turns(lines: AcpLines, session_id: str) -> None:
    _prompt(lines, session_id, "plain", "PLAIN please")
    _prompt(lines, session_id, "think", "THINK please")
    lines.answer = permission_answer("allow_once")
    _prompt(lines, session_id, "tool-allow", "TOOLSHELL [cmd=echo one > one.txt]")
    lines.answer = permission_answer("reject_once")
    _prompt(lines, session_id, "tool-reject", "TOOLWRITE [path=rejected.txt]")

    request_id = _prompt(lines, session_id, "cancel", "SLOW [words=50] [interval=0.2]", waits=False)
    _wait_for_word(lines)
    lines.notify("session/cancel", {"sessionId": session_id})
    lines.response_to(request_id)

    request_id = _prompt(lines, session_id, "cancel-perm", "TOOLSHELL [cmd=echo two > two.txt]", waits=False)
    asked = lines.wait_for(lambda message: message.get("method") == "session/request_permission")
    lines.notify("session/cancel", {"sessionId": session_id})
    lines.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
    lines.response_to(request_id)

    _prompt(lines, session_id, "quota", "QUOTA please")
    _prompt(lines, session_id, "authfail", "AUTHFAIL please")
    _prompt(lines, session_id, "after-error", "PLAIN again")
    _prompt(lines, "nope", "bad-session", "PLAIN please")


def _prompt(lines: AcpLines, session_id: str, phase: str, text: str, *, waits: bool = True) -> int:
    lines.phase = phase
    params: Json = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
    request_id = lines.request("session/prompt", params)
    if waits:
        lines.response_to(request_id)
    return request_id


def _wait_for_word(lines: AcpLines) -> None:
    lines.wait_for(
        lambda message: (
            message.get("method") == "session/update"
            and message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
        )
    )


def _place(ready: ReadyTarget) -> Json:
    return {"cwd": str(ready.arena.workspace), "mcpServers": []}


if __name__ == "__main__":
    main()
