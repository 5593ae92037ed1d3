"""A scripted harness that speaks all of ACP version 1: sessions, settings, forks and forms.

Run as a program: `scripted_sessions.py STATE_FOLDER`. Sessions are files there, and `calls.jsonl` keeps each
call with its parameters. `script.json` in the folder may hold:

- `offers`: the session capabilities (all by default).
- `mute`: methods that are never answered.
- `hide`: values of options that are set without being shown.
- `fork_same`: the fork is answered with the conversation that was to be forked.
- `plain`: the session has no options at all.
- `page`: how many sessions a page has.

Words in a prompt: `form` asks for a form and says what came back; `retry` announces a retry and waits for a
cancel; `mode M` changes the mode by itself; anything else is said back.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import Any

__all__ = ["main"]

_OFFERS = ("list", "resume", "fork", "close", "delete")
_FORM = {
    "type": "object",
    "properties": {
        "branch": {"type": "string", "enum": ["main", "next"]},
        "count": {"type": "integer", "default": 1},
    },
    "required": ["branch"],
}


class Agent:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / "script.json"
        self.script: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.mode = "ask"
        self.options: dict[str, Any] = {"model": "small", "fast": False}
        self.asked = 100
        self.made = 0
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
                continue
            self.note({"method": method, "params": message.get("params"), "pid": os.getpid()})
            if method == "session/cancel":
                self.cancelled.set()
            elif method == "session/prompt":
                threading.Thread(target=self.prompt, args=(message,), daemon=True).start()
            elif "id" in message and method not in self.script.get("mute", ()):
                self.answer(message)

    def note(self, call: dict[str, Any]) -> None:
        with (self.folder / "calls.jsonl").open("a") as file:
            file.write(json.dumps(call) + "\n")

    def answer(self, message: dict[str, Any]) -> None:
        params: dict[str, Any] = message.get("params") or {}
        try:
            handler = getattr(self, "on_" + message["method"].replace("/", "_"))
            self.write({"id": message["id"], "result": handler(params)})
        except AttributeError:
            self.write({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})
        except LookupError as error:
            self.write({"id": message["id"], "error": {"code": -32002, "message": str(error)}})

    def on_initialize(self, _: dict[str, Any]) -> dict[str, Any]:
        offers: dict[str, Any] = {name: {} for name in self.script.get("offers", _OFFERS)}
        return {
            "protocolVersion": 1,
            "agentCapabilities": {"sessionCapabilities": offers},
            "agentInfo": {"name": "scripted-sessions", "version": "1"},
        }

    def on_session_new(self, params: dict[str, Any]) -> dict[str, Any]:
        self.made += 1
        session = f"s-{os.getpid()}-{self.made}"
        self.path(session).write_text(params["cwd"])
        return {"sessionId": session, **self.settings()}

    def on_session_resume(self, params: dict[str, Any]) -> dict[str, Any]:
        self.find(params["sessionId"])
        return self.settings()

    def on_session_fork(self, params: dict[str, Any]) -> dict[str, Any]:
        self.find(params["sessionId"])
        if self.script.get("fork_same"):
            return {"sessionId": params["sessionId"]}
        return self.on_session_new(params)

    def on_session_list(self, params: dict[str, Any]) -> dict[str, Any]:
        names = sorted(path.name for path in self.folder.glob("s-*"))
        wanted = params.get("cwd")
        names = [name for name in names if wanted in (None, self.path(name).read_text())]
        start, size = int(params.get("cursor") or 0), int(self.script.get("page", 100))
        page = [{"sessionId": one, "cwd": self.path(one).read_text()} for one in names[start : start + size]]
        following = {"nextCursor": str(start + size)} if start + size < len(names) else {}
        return {"sessions": page, **following}

    def on_session_delete(self, params: dict[str, Any]) -> dict[str, Any]:
        self.find(params["sessionId"]).unlink()
        return {}

    def on_session_close(self, params: dict[str, Any]) -> dict[str, Any]:
        self.find(params["sessionId"])
        return {}

    def on_session_set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        self.mode = params["modeId"]
        if self.mode not in self.script.get("hide", ()):
            self.update(
                params["sessionId"], {"sessionUpdate": "current_mode_update", "currentModeId": self.mode}
            )
        return {}

    def on_session_set_config_option(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["value"] == "broken":
            raise LookupError("that model is broken")
        if params["value"] in self.script.get("hide", ()):
            return {"configOptions": []}
        self.options[params["configId"]] = params["value"]
        return {"configOptions": self.settings()["configOptions"]}

    def settings(self) -> dict[str, Any]:
        if self.script.get("plain"):
            return {}
        models = [{"value": name, "name": name} for name in ("small", "large", "broken", "hidden")]
        return {
            "modes": {
                "currentModeId": self.mode,
                "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}],
            },
            "configOptions": [
                {
                    "id": "model", "name": "Model", "category": "model", "type": "select",
                    "currentValue": self.options["model"], "options": models,
                },
                {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": self.options["fast"]},
            ],
        }  # fmt: skip

    def path(self, session: str) -> Path:
        return self.folder / session

    def find(self, session: str) -> Path:
        if not self.path(session).exists():
            raise LookupError(f"no session {session}")
        return self.path(session)

    def prompt(self, message: dict[str, Any]) -> None:
        session, text = message["params"]["sessionId"], message["params"]["prompt"][0]["text"]
        self.cancelled.clear()
        reason = "end_turn"
        if "form" in text:
            self.asked += 1
            form = {
                "sessionId": session,
                "mode": "form",
                "message": "Which branch?",
                "requestedSchema": _FORM,
            }
            self.write({"id": self.asked, "method": "elicitation/create", "params": form})
            result = self.answers.get()["result"]
            self.say(session, json.dumps(result, sort_keys=True))
            reason = "cancelled" if result["action"] == "cancel" else "end_turn"
        elif "retry" in text:
            params = {"sessionId": session, "category": "rate_limited", "detail": "HTTP 429", "ms": 60_000}
            self.write({"method": "_x/retrying", "params": params})
            self.cancelled.wait()
            reason = "cancelled"
        elif text.startswith("mode "):
            self.mode = text.removeprefix("mode ")
            self.update(session, {"sessionUpdate": "current_mode_update", "currentModeId": self.mode})
        else:
            self.say(session, text)
        self.write({"id": message["id"], "result": {"stopReason": reason}})


def main() -> None:
    Agent(Path(sys.argv[1])).serve()


if __name__ == "__main__":
    main()
