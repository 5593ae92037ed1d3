"""A scripted agent that speaks the Agent Client Protocol on its standard input and output.

There is no model behind it. It needs the standard library alone, keeps its conversations, so that they can be
resumed after a kill, and counts every prompt that reaches it. `INSPAN_DEMO_FAULT` makes it misbehave at its
start: `exit`, `mute` (answers nothing), `protocol_2`, `signed_out` or `nameless`.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from inspan.harnesses.demo.scripts import LABEL, ScriptError, choose_script
from inspan.harnesses.demo.sessions import Session, SessionStore, Turn, state_folder

__all__ = ["VERSION", "Agent", "main"]

VERSION = "1.0"
NAME = "inspan-demo"
_CONTEXT_SIZE = 100_000
_MODES = [
    {"id": "default", "name": "Default", "description": "Asks before it writes."},
    {"id": "yolo", "name": "Yolo", "description": "Asks nothing."},
]
_OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Yes, and do not ask again", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Cancelled(Exception):
    """The turn was cancelled."""


class Agent:
    """The agent: reads messages in one thread, and runs each turn in another."""

    def __init__(self, store: SessionStore, output: BinaryIO, *, fault: str = "") -> None:
        self._store = store
        self._output = output
        self._fault = fault
        self._write_lock = threading.Lock()
        self._ids = itertools.count(1)
        self._answers: dict[Any, dict[str, Any]] = {}
        self._answered = threading.Condition()

    def run(self, source: BinaryIO) -> None:
        """Serves until the input ends."""
        for line in source:
            if line.strip():
                self._receive(line)

    def send(self, message: dict[str, Any]) -> None:
        """Writes one message."""
        self.write_line(json.dumps({"jsonrpc": "2.0", **message}))

    def write_line(self, line: str) -> None:
        """Writes one line, whole."""
        with self._write_lock:
            try:
                self._output.write(line.encode() + b"\n")
                self._output.flush()
            except BrokenPipeError:
                os._exit(0)

    def call(self, method: str, params: dict[str, Any], turn: Turn) -> dict[str, Any]:
        """Asks the client, and waits for its answer. Raises `Cancelled` where the turn is cancelled first."""
        key = next(self._ids)
        self.send({"id": key, "method": method, "params": params})
        with self._answered:
            self._answered.wait_for(lambda: key in self._answers or turn.cancelled.is_set())
            if turn.cancelled.is_set():
                raise Cancelled
            return self._answers.pop(key)

    def _receive(self, line: bytes) -> None:
        try:
            decoded: object = json.loads(line)
        except ValueError:
            self.send({"id": None, "error": {"code": -32700, "message": "Parse error"}})
            return
        if not isinstance(decoded, dict):
            self.send({"id": None, "error": {"code": -32600, "message": "Invalid request"}})
            return
        message = cast("dict[str, Any]", decoded)
        if "method" not in message:
            with self._answered:
                self._answers[message.get("id")] = message.get("result") or {}
                self._answered.notify_all()
        elif "id" not in message:
            if message["method"] == "session/cancel":
                self._cancel(message.get("params") or {})
        elif self._fault != "mute":
            self._answer(message["id"], message["method"], message.get("params") or {})

    def _answer(self, key: Any, method: str, params: dict[str, Any]) -> None:
        handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "authenticate": lambda params: {},
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._close,
            "session/set_mode": self._set_mode,
        }
        try:
            if method == "session/prompt":
                self._prompt(key, params)
            elif method in handlers:
                self.send({"id": key, "result": handlers[method](params)})
            else:
                self._send_error(key, ScriptError(-32601, f"Method not found: {method}", {"method": method}))
        except ScriptError as error:
            self._send_error(key, error)
        except (KeyError, TypeError, AttributeError) as error:
            self._send_error(key, ScriptError(-32602, f"Invalid params: {error!r}"))

    def _send_error(self, key: Any, error: ScriptError) -> None:
        told: dict[str, Any] = {"code": error.code, "message": str(error)}
        if error.data is not None:
            told["data"] = error.data
        self.send({"id": key, "error": told})

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        del params
        result: dict[str, Any] = {
            "protocolVersion": 2 if self._fault == "protocol_2" else 1,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": False, "audio": False, "embeddedContext": False},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
            },
            "authMethods": [],
        }
        if self._fault != "nameless":
            result["agentInfo"] = {"name": NAME, "title": "Demo agent (scripted)", "version": VERSION}
        return result

    def _new(self, params: dict[str, Any]) -> dict[str, Any]:
        if self._fault == "signed_out":
            raise ScriptError(-32000, "Authentication required", {"authMethods": []})
        cwd = params["cwd"]
        if not os.path.isabs(cwd):
            raise ScriptError(-32602, "Invalid params: cwd is no absolute path")
        session = self._store.new(cwd)
        return {"sessionId": session.id, "modes": self._modes(session)}

    def _load(self, params: dict[str, Any]) -> dict[str, Any]:
        session = self._reopen(params)
        for update in session.history:
            self.notify(session, update)
        return {"modes": self._modes(session)}

    def _resume(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"modes": self._modes(self._reopen(params))}

    def _reopen(self, params: dict[str, Any]) -> Session:
        session = self._store.reopen(params["sessionId"])
        if session is None:
            raise ScriptError(-32002, "Session not found", {"sessionId": params["sessionId"]})
        return session

    def _list(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "sessions": [
                {
                    "sessionId": session.id,
                    "cwd": session.cwd,
                    "title": session.title or None,
                    "updatedAt": session.updated_at,
                }
                for session in self._store.list(params.get("cwd"))
            ]
        }

    def _close(self, params: dict[str, Any]) -> dict[str, Any]:
        self._cancel(params)
        self._store.close(params["sessionId"])
        return {}

    def _set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        session = self._find(params)
        if params["modeId"] not in {mode["id"] for mode in _MODES}:
            raise ScriptError(-32602, f"Invalid params: no mode {params['modeId']!r}")
        session.mode = params["modeId"]
        self.notify(session, {"sessionUpdate": "current_mode_update", "currentModeId": session.mode})
        return {}

    def _find(self, params: dict[str, Any]) -> Session:
        session = self._store.find(params["sessionId"])
        if session is None:
            raise ScriptError(-32602, f"Session not found: {params['sessionId']}")
        return session

    def _modes(self, session: Session) -> dict[str, Any]:
        return {"currentModeId": session.mode, "availableModes": _MODES}

    def _cancel(self, params: dict[str, Any]) -> None:
        session = self._store.find(str(params.get("sessionId")))
        if session is not None and session.turn is not None:
            session.turn.cancelled.set()
            with self._answered:
                self._answered.notify_all()

    def notify(self, session: Session, update: dict[str, Any]) -> None:
        """Tells one update."""
        self.send({"method": "session/update", "params": {"sessionId": session.id, "update": update}})

    def _prompt(self, key: Any, params: dict[str, Any]) -> None:
        session = self._find(params)
        text = "".join(block.get("text", "") for block in params["prompt"])
        self._store.count(session.id, text)
        if session.turn is not None:
            raise ScriptError(-32603, "A turn is already running")
        session.turn = Turn()
        threading.Thread(target=self._run_turn, args=(key, session, session.turn, text), daemon=True).start()

    def _run_turn(self, key: Any, session: Session, turn: Turn, text: str) -> None:
        stage = _TurnStage(self, session, turn)
        answer: dict[str, Any] | ScriptError
        try:
            session.add({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}})
            script, _ = choose_script(text)
            reason = script(stage, text)
            stage.tell_usage()
            answer = {"stopReason": reason, "usage": stage.usage()}
        except Cancelled:
            answer = {"stopReason": "cancelled", "usage": stage.usage()}
        except ScriptError as error:
            answer = error
        except Exception as error:  # noqa: BLE001 - a turn without an answer would never end
            answer = ScriptError(-32603, f"The script failed: {error!r}")
        session.turn = None
        if isinstance(answer, ScriptError):
            self._send_error(key, answer)
        else:
            self.send({"id": key, "result": answer})


class _TurnStage:
    """What a script acts on: one turn of one session."""

    def __init__(self, agent: Agent, session: Session, turn: Turn) -> None:
        self.cwd = session.cwd
        self._agent = agent
        self._session = session
        self._turn = turn
        self._has_spoken = False
        self._said_characters = 0

    def say(self, text: str) -> None:
        if not self._has_spoken:
            self._has_spoken = True
            self._tell("agent_message_chunk", LABEL)
        self._tell("agent_message_chunk", text)
        self._said_characters += len(text)

    def think(self, text: str) -> None:
        self._tell("agent_thought_chunk", text)

    def update(self, update: dict[str, Any]) -> None:
        self._check()
        self._session.add(update)
        self._agent.notify(self._session, update)

    def wait(self, seconds: float | None) -> None:
        self._turn.cancelled.wait(seconds)
        self._check()

    def print_raw(self, line: str) -> None:
        self._agent.write_line(line)

    def ask(self, title: str, file: str, text: str) -> bool:
        call_id = f"call-{time.time_ns()}"
        call: dict[str, Any] = {
            "toolCallId": call_id,
            "title": title,
            "kind": "edit",
            "status": "pending",
            "rawInput": {"path": file, "text": text},
            "locations": [{"path": os.path.join(self.cwd, file)}],
        }
        self.update({"sessionUpdate": "tool_call", **call})
        is_allowed = self._session.mode == "yolo" or self._session.always_allowed
        if not is_allowed:
            params = {"sessionId": self._session.id, "toolCall": call, "options": _OPTIONS}
            outcome = self._agent.call("session/request_permission", params, self._turn).get("outcome", {})
            if outcome.get("outcome") == "cancelled":
                raise Cancelled
            is_allowed = outcome.get("optionId") in ("yes", "always")
            self._session.always_allowed = outcome.get("optionId") == "always"
        status = "completed" if is_allowed else "failed"
        self.update({"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status})
        return is_allowed

    def usage(self) -> dict[str, int]:
        read = sum(len(str(update.get("content", ""))) for update in self._session.history) // 4
        wrote = self._said_characters // 4
        return {"inputTokens": read, "outputTokens": wrote, "totalTokens": read + wrote}

    def tell_usage(self) -> None:
        used = min(self.usage()["totalTokens"], _CONTEXT_SIZE)
        self._agent.notify(
            self._session, {"sessionUpdate": "usage_update", "used": used, "size": _CONTEXT_SIZE}
        )

    def _tell(self, kind: str, text: str) -> None:
        self.update({"sessionUpdate": kind, "content": {"type": "text", "text": text}})

    def _check(self) -> None:
        if self._turn.cancelled.is_set():
            raise Cancelled


def main(arguments: list[str]) -> int:
    """Runs the agent, or says its version."""
    if arguments == ["--version"]:
        print(f"{NAME} {VERSION} (scripted)")
        return 0
    if arguments:
        print("usage: python -m inspan.harnesses.demo.agent [--version]", file=sys.stderr)
        return 2
    fault = os.environ.get("INSPAN_DEMO_FAULT", "")
    if fault == "exit":
        print("inspan-demo: ending at once, as INSPAN_DEMO_FAULT asked", file=sys.stderr)
        return 4
    Agent(SessionStore(state_folder()), sys.stdout.buffer, fault=fault).run(sys.stdin.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
