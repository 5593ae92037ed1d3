"""A scripted harness that speaks ACP over its pipes: counts every prompt, numbers everything that it says.

Run as a program: `scripted_acp.py STATE_FOLDER`. It appends every prompt to `prompts.jsonl` before it does
anything about it. Words in the prompt choose what happens:

- `say N`: N numbered chunks; `every S` puts S seconds between them.
- `ask`: asks for permission first, and says `allowed` or `refused`. `bare`: without an answer to choose from.
- `crash`: exits with status 3 after what it says. `hang`: never answers. `quota`: answers with error 429.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from queue import Queue
from typing import Any

__all__ = ["main"]

_OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Agent:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = 0
        self.asked = 100
        self.cancelled = threading.Event()
        self.answers: Queue[dict[str, Any]] = Queue()
        self.lock = threading.Lock()

    def write(self, message: dict[str, Any]) -> None:
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def update(self, session: str, update: dict[str, Any]) -> None:
        self.write({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def say(self, session: str, text: str) -> None:
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.update(session, chunk)

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            method = message.get("method")
            if method is None:
                self.answers.put(message)
            elif method == "session/cancel":
                self.cancelled.set()
            elif method == "session/prompt":
                self.note(message["params"])
                threading.Thread(target=self.prompt, args=(message,), daemon=True).start()
            else:
                self.answer(message)

    def note(self, params: dict[str, Any]) -> None:
        text = params["prompt"][0]["text"]
        with (self.folder / "prompts.jsonl").open("a") as file:
            file.write(json.dumps({"text": text, "session": params["sessionId"], "pid": os.getpid()}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def answer(self, message: dict[str, Any]) -> None:
        method: str = message["method"]
        params: dict[str, Any] = message.get("params", {})
        result: dict[str, Any] = {}
        if method == "initialize":
            result = {
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}},
                "agentInfo": {"name": "scripted", "version": "1"},
            }
        elif method == "session/new":
            session = f"s-{os.getpid()}"
            (self.folder / session).touch()
            result = {"sessionId": session}
        elif method in ("session/resume", "session/load"):
            if not (self.folder / params["sessionId"]).exists():
                self.write({"id": message["id"], "error": {"code": -32002, "message": "no such session"}})
                return
        else:
            self.write({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})
            return
        self.write({"id": message["id"], "result": result})

    def prompt(self, message: dict[str, Any]) -> None:
        params = message["params"]
        session, text = params["sessionId"], params["prompt"][0]["text"]
        self.cancelled.clear()
        if "quota" in text:
            self.write({"id": message["id"], "error": {"code": 429, "message": "no more today"}})
            return
        if "ask" in text:
            self.asked += 1
            call = {"toolCallId": "c1", "title": "touch it", "kind": "execute"}
            options = [] if "bare" in text else _OPTIONS
            request = {"sessionId": session, "toolCall": call, "options": options}
            self.write({"id": self.asked, "method": "session/request_permission", "params": request})
            outcome = self.answers.get()["result"]["outcome"]
            if outcome["outcome"] == "cancelled":
                self.write({"id": message["id"], "result": {"stopReason": "cancelled"}})
                return
            self.say(session, "refused" if outcome["optionId"] == "no" else "allowed")
        wanted = re.search(r"say (\d+)", text)
        pause = re.search(r"every ([\d.]+)", text)
        for _ in range(int(wanted[1]) if wanted else 1):
            if self.cancelled.is_set():
                self.write({"id": message["id"], "result": {"stopReason": "cancelled"}})
                return
            self.said += 1
            self.say(session, f"n{self.said}")
            if pause:
                time.sleep(float(pause[1]))
        if "hang" in text:
            self.cancelled.wait()
            self.write({"id": message["id"], "result": {"stopReason": "cancelled"}})
            return
        if "crash" in text:
            sys.stderr.write("the scripted crash\n")
            sys.stderr.flush()
            os._exit(3)
        self.write({"id": message["id"], "result": {"stopReason": "end_turn"}})


def main() -> None:
    folder = Path(sys.argv[1])
    Agent(folder).serve()


if __name__ == "__main__":
    main()
