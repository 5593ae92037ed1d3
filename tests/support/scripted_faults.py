"""A scripted harness that speaks ACP and breaks it in exactly one way.

Run as a program: `scripted_faults.py STATE_FOLDER`; the file `fault` in the folder names the way:

- `banner`: prints a banner and log lines before anything else.
- `mute`, `stranger`: never answers `initialize`, or only under another id.
- `exit`: exits with status 0 as soon as it is asked for anything.
- `twice`: answers everything twice. `other_id`: answers a prompt under another id first.
- `foreign_permission`: asks for permission in a session that is not there.
- `early_permission`: asks before it tells the tool call. `bare_permission`: asks with nothing but the id.
- `late`: goes on with its updates after the prompt's answer.
- `reject_ends`, `reject_goes_on`: what it does about a rejected permission.
- `line N`: says a message of N MiB in one line; with `silent` behind it, it never answers the prompt.

Every prompt is appended to `prompts.jsonl`, and every answer to a call of its own to `answers.jsonl`.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import Any

__all__ = ["main"]

SESSION = "s-1"
_OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
_CALL = {"toolCallId": "c-1", "title": "Remove the file", "kind": "execute", "rawInput": {"command": "rm"}}


class Agent:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fault = (folder / "fault").read_text()
        self.answers: Queue[dict[str, Any]] = Queue()
        self.lock = threading.Lock()

    def write(self, message: dict[str, Any]) -> None:
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def answer(self, key: object, result: dict[str, Any]) -> None:
        self.write({"id": key, "result": result})
        if self.fault == "twice":
            self.write({"id": key, "result": result})

    def update(self, update: dict[str, Any]) -> None:
        self.write({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})

    def say(self, text: str) -> None:
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.update(chunk)

    def ask(self, session: str, call: dict[str, Any]) -> dict[str, Any]:
        params = {"sessionId": session, "toolCall": call, "options": _OPTIONS}
        self.write({"id": "ask", "method": "session/request_permission", "params": params})
        answer = self.answers.get()
        self.note("answers.jsonl", answer)
        return answer["result"]["outcome"]

    def note(self, name: str, value: dict[str, Any]) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(value) + "\n")

    def serve(self) -> None:
        if self.fault == "banner":
            sys.stdout.write('\x1b[1mWelcome!\x1b[0m\n\n{"level": "info", "msg": "starting"}\nReady.\n')
            sys.stdout.flush()
        for line in sys.stdin:
            message = json.loads(line)
            method = message.get("method")
            if self.fault == "exit":
                sys.exit(0)
            if method is None:
                self.answers.put(message)
            elif method == "initialize":
                if self.fault == "stranger":
                    self.write({"id": 4711, "result": {"protocolVersion": 1}})
                elif self.fault != "mute":
                    offers: dict[str, Any] = {
                        "protocolVersion": 1,
                        "agentCapabilities": {"sessionCapabilities": {"resume": {}}},
                    }
                    self.answer(message["id"], offers)
            elif method == "session/prompt":
                self.note("prompts.jsonl", message["params"])
                threading.Thread(target=self.prompt, args=(message["id"],), daemon=True).start()
            elif "id" in message:
                self.answer(message["id"], {"sessionId": SESSION})

    def prompt(self, key: object) -> None:
        match self.fault.split():
            case ["other_id"]:
                self.write({"id": 4711, "result": {"stopReason": "refusal"}})
            case ["foreign_permission"]:
                self.ask("nobody", _CALL)
            case ["early_permission"]:
                self.ask(SESSION, {"toolCallId": "c-1", "title": "Remove the file", "kind": "execute"})
                self.update({"sessionUpdate": "tool_call", **_CALL, "status": "in_progress"})
            case ["bare_permission"]:
                self.update({"sessionUpdate": "tool_call", **_CALL, "status": "pending"})
                self.ask(SESSION, {"toolCallId": "c-1"})
            case ["reject_ends" | "reject_goes_on"]:
                self.update({"sessionUpdate": "tool_call", **_CALL, "status": "pending"})
                is_rejected = self.ask(SESSION, _CALL).get("optionId") == "no"
                if not is_rejected or self.fault == "reject_goes_on":
                    self.say("goes on")
            case ["line", size, *rest]:
                self.say("x" * (int(size) * 1024 * 1024))
                if rest:
                    return
            case _:
                self.say("said")
        self.answer(key, {"stopReason": "end_turn"})
        if self.fault == "late":
            self.say("late ")
            self.update({"sessionUpdate": "tool_call", **_CALL, "status": "completed"})


def main() -> None:
    Agent(Path(sys.argv[1])).serve()


if __name__ == "__main__":
    main()
