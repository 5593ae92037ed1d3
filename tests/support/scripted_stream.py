"""A scripted harness that speaks records of its own, in one of three dialects; it counts every prompt.

Run as a program: `scripted_stream.py DIALECT STATE_FOLDER [--resume SESSION | --fork SESSION | --named SESSION]`, where
the dialect is `rpc` (calls with `method`), `command` (calls with `type` and `id`) or `control` (control requests). It
appends each prompt to `prompts.jsonl` before it does anything about it. Words in the prompt choose what happens:

- `say N`: N numbered words; `every S` puts S seconds between them.
- `ask`: asks before a command, which it then runs or not: what it ran stands in `ran.jsonl`.
- `withdraw`: asks, and wants no answer any more. `quota`: a usage limit. `decline`: refuses the prompt itself.
- `hang`: never ends by itself. `die`: is killed. `leave`: exits with status 0.
- `banner`: lines that are no records. `huge`: a line of two megabytes. `strange`: a request that nobody knows, and
  waits for its answer. `double`: answers its prompt twice, and an answer to nothing. `wild`: ids and records that fit
  nowhere. `torn`: ends in the middle of a record.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

__all__ = ["main"]

Json = dict[str, Any]

_USAGE = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}


def write(message: Json) -> None:
    write_raw(json.dumps(message).encode() + b"\n")


def write_raw(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


class Input:
    """Lines of standard input, waited for as long as one likes."""

    def __init__(self) -> None:
        self._held = b""
        self._lines: list[bytes] = []
        self.is_over = False

    def line(self, timeout_s: float | None = None) -> Json | None:
        """The next message; `None` where none came in time, or where no more will come."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._lines and not self.is_over:
            left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            if not select.select([0], [], [], left_s)[0]:
                return None
            data = os.read(0, 65536)
            self.is_over = not data
            *whole, self._held = (self._held + data).split(b"\n")
            self._lines += [one for one in whole if one.strip()]
        return json.loads(self._lines.pop(0)) if self._lines else None


class Harness:
    """What every dialect does; how it is said is the dialect's own."""

    ready: ClassVar[str] = ""

    def __init__(self, folder: Path, session: str) -> None:
        self.folder = folder
        self.session = session
        self.input = Input()
        self.turn = ""
        self.cancel: Json | None = None
        self.answers: dict[str, bool] = {}
        self.asked = 0

    # What the dialect says.

    def take(self, message: Json) -> Json | None:
        """Serves a message; a prompt is returned as `id`, `text` and `delivery`."""
        raise NotImplementedError

    def begin(self, prompt: Json) -> None:
        raise NotImplementedError

    def decline(self, prompt: Json) -> None:
        raise NotImplementedError

    def say(self, words: str) -> None:
        raise NotImplementedError

    def ask(self, key: str, command: str) -> None:
        raise NotImplementedError

    def withdraw(self, key: str) -> None:
        raise NotImplementedError

    def ask_strangely(self, key: str) -> None:
        raise NotImplementedError

    def finish(self, how: str) -> None:
        raise NotImplementedError

    def answer_again(self, prompt: Json) -> None:
        raise NotImplementedError

    # What it does.

    def serve(self) -> None:
        while True:
            message = self.input.line()
            if message is None:
                return
            prompt = self.take(message)
            if prompt is not None:
                self.work(prompt)

    def work(self, prompt: Json) -> None:
        text = prompt["text"]
        self.note("prompts.jsonl", text=text, session=self.session, pid=os.getpid())
        self.cancel = None
        if "decline" in text:
            self.decline(prompt)
            return
        self.begin(prompt)
        how = self.play(prompt, text)
        if how is not None:
            self.finish("cancelled" if self.cancel is not None else how)

    def play(self, prompt: Json, text: str) -> str | None:
        if "banner" in text:
            write_raw(b"Welcome to the harness!\n\n  [warn] {not json}\n\xff\xfe broken\n")
        if "huge" in text:
            write_raw(b'{"type": "huge", "method": "huge", "x": "' + b"x" * 2_000_000 + b'"}\n')
        if "wild" in text:
            write_raw(
                b'{"id": 999, "result": {}}\n{"type": "response", "id": "999", "success": true}\n[1, 2]\n"x"\n'
            )
            write({"method": "never/heard", "params": {"threadId": "another"}, "type": "never_heard"})
        if "double" in text:
            self.answer_again(prompt)
        if "strange" in text:
            key = self.new_key()
            self.ask_strangely(key)
            self.wait_for(lambda: key in self.answers)
        for number in self.numbers(text):
            self.say(f"n{number} ")
        if "withdraw" in text:
            key = self.new_key()
            self.ask(key, "withdrawn")
            self.withdraw(key)
        if "ask" in text:
            key = self.new_key()
            self.ask(key, "echo asked")
            self.wait_for(lambda: key in self.answers)
            if self.answers.get(key):
                self.note("ran.jsonl", command="echo asked")
        if "die" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "torn" in text:
            write_raw(b'{"type": "torn", "met')
            sys.exit(0)
        if "leave" in text:
            sys.exit(0)
        if "hang" in text:
            self.wait_for(lambda: False)
        return "limited" if "quota" in text else "completed"

    def numbers(self, text: str) -> Iterator[int]:
        wanted = re.search(r"say (\d+)", text)
        pause = re.search(r"every ([\d.]+)", text)
        for number in range(1, (int(wanted[1]) if wanted else 1) + 1):
            if self.cancel is not None:
                return
            yield number
            if pause:
                self.look(float(pause[1]))

    def wait_for(self, is_there: Any) -> None:
        while self.cancel is None and not is_there():
            if self.input.is_over:
                sys.exit(0)
            self.look(None)

    def look(self, timeout_s: float | None) -> None:
        message = self.input.line(timeout_s)
        if message is not None:
            self.take(message)

    def new_key(self) -> str:
        self.asked += 1
        return f"{os.getpid()}-{self.asked}"

    def note(self, name: str, **values: Any) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(values) + "\n")
            file.flush()
            os.fsync(file.fileno())


class Rpc(Harness):
    """Calls with `method`, as JSON-RPC without the member `jsonrpc`."""

    def take(self, message: Json) -> Json | None:
        params: Json = message.get("params") or {}
        key = message.get("id")
        match message.get("method"):
            case "initialize":
                write({"id": key, "result": {"userAgent": "scripted"}})
            case "thread/start":
                self.open(key, params, new_session(self.folder))
            case "thread/resume" | "thread/fork" as method:
                wanted = params["threadId"]
                if not (self.folder / wanted).exists():
                    text = f"no rollout found for thread id {wanted}"
                    write({"error": {"code": -32600, "message": text}, "id": key})
                else:
                    self.open(key, params, wanted if method == "thread/resume" else new_session(self.folder))
            case "turn/start":
                text = params["input"][0]["text"]
                return {"id": key, "text": text, "delivery": params.get("clientUserMessageId")}
            case "turn/interrupt":
                self.cancel = message
                write({"id": key, "result": {}})
            case None if key is not None:
                result: Json = message.get("result") or {}
                self.answers[str(key)] = result.get("decision") == "accept"
                self.cancel = message if result.get("decision") == "cancel" else self.cancel
            case _:
                pass
        return None

    def open(self, key: Any, params: Json, session: str) -> None:
        self.session = session
        sandbox = {
            "type": re.sub(r"-(.)", lambda found: found[1].upper(), params.get("sandbox") or "readOnly")
        }
        policy = params.get("approvalPolicy") or "on-request"
        result = {"thread": {"id": session}, "approvalPolicy": policy, "sandbox": sandbox, "model": "m"}
        write({"id": key, "result": result})

    def begin(self, prompt: Json) -> None:
        self.turn = new_session(None)
        write({"id": prompt["id"], "result": {"turn": {"id": self.turn, "status": "inProgress"}}})
        self.tell("turn/started", turn={"id": self.turn})
        self.tell(
            "item/started", turnId=self.turn, item={"type": "userMessage", "clientId": prompt["delivery"]}
        )

    def decline(self, prompt: Json) -> None:
        write({"id": prompt["id"], "error": {"code": -32602, "message": "I do not take this."}})

    def say(self, words: str) -> None:
        self.tell("item/agentMessage/delta", turnId=self.turn, itemId="i1", delta=words)

    def ask(self, key: str, command: str) -> None:
        params: Json = {
            "threadId": self.session,
            "turnId": self.turn,
            "itemId": f"call-{key}",
            "command": command,
        }
        params["availableDecisions"] = [
            "accept",
            {"acceptWithExecpolicyAmendment": {"x": [command]}},
            "cancel",
        ]
        write({"method": "item/commandExecution/requestApproval", "id": key, "params": params})

    def withdraw(self, key: str) -> None:
        self.tell("serverRequest/resolved", requestId=key)

    def ask_strangely(self, key: str) -> None:
        write({"method": "item/tool/requestUserInput", "id": key, "params": {"threadId": self.session}})

    def finish(self, how: str) -> None:
        error = (
            {"message": "Quota exceeded.", "codexErrorInfo": "usageLimitExceeded"}
            if how == "limited"
            else None
        )
        self.tell(
            "thread/tokenUsage/updated",
            turnId=self.turn,
            tokenUsage={"last": _USAGE, "modelContextWindow": 99},
        )
        status = {"completed": "completed", "cancelled": "interrupted", "limited": "failed"}[how]
        self.tell("turn/completed", turn={"id": self.turn, "status": status, "error": error})

    def answer_again(self, prompt: Json) -> None:
        write({"id": prompt["id"], "result": {"turn": {"id": "another"}}})

    def tell(self, method: str, **params: Any) -> None:
        write({"method": method, "params": {"threadId": self.session, **params}})


class Command(Harness):
    """Calls with `type` and `id`; its arguments say which session it goes on with."""

    def take(self, message: Json) -> Json | None:
        key = message.get("id")
        match message["type"]:
            case "get_state":
                self.answer(key, "get_state", sessionId=self.session, model={"id": "m"}, thinkingLevel="off")
            case "prompt":
                return {"id": key, "text": message["message"], "delivery": None}
            case "abort":
                self.cancel = message
                self.answer(key, "abort")
            case "extension_ui_response":
                self.answers[str(key)] = message.get("confirmed") is True
            case _:
                pass
        return None

    def begin(self, prompt: Json) -> None:
        self.answer(prompt["id"], "prompt", disposition="started")
        write({"type": "agent_start"})
        write({"type": "message_start", "message": {"role": "user"}})

    def decline(self, prompt: Json) -> None:
        failed = {"type": "response", "command": "prompt", "success": False, "error": "I do not take this."}
        write({"id": prompt["id"], **failed})

    def say(self, words: str) -> None:
        write({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": words}})

    def ask(self, key: str, command: str) -> None:
        title = {"title": "Run it?", "message": command}
        write({"type": "extension_ui_request", "id": key, "method": "confirm", **title})

    def withdraw(self, key: str) -> None:
        """It has no way to say so."""
        self.wait_for(lambda: key in self.answers)

    def ask_strangely(self, key: str) -> None:
        write({"type": "extension_ui_request", "id": key, "method": "input", "title": "Why?"})

    def finish(self, how: str) -> None:
        stop = {"completed": "stop", "cancelled": "aborted", "limited": "error"}[how]
        message: Json = {"role": "assistant", "stopReason": stop, "usage": {"input": 10, "output": 5}}
        if how == "limited":
            message["errorMessage"] = "429: used up"
        write({"type": "message_end", "message": message})
        write({"type": "agent_end", "willRetry": False})
        write({"type": "agent_settled", "aborted": how == "cancelled"})

    def answer_again(self, prompt: Json) -> None:
        self.answer(prompt["id"], "prompt", disposition="started")

    def answer(self, key: Any, command: str, **data: Any) -> None:
        write({"id": key, "type": "response", "command": command, "success": True, "data": data})


class Control(Harness):
    """Messages of a person, and control requests both ways; its arguments say which session it goes on with."""

    def take(self, message: Json) -> Json | None:
        match message["type"]:
            case "control_request":
                if message["request"]["subtype"] == "interrupt":
                    self.cancel = message
                done: Json = {"subtype": "success", "request_id": message["request_id"], "response": {}}
                write({"type": "control_response", "response": done})
            case "user":
                return {"id": "", "text": message["message"]["content"], "delivery": message["uuid"]}
            case "control_response":
                response: Json = message["response"]
                answer: Json = response.get("response") or {}
                self.answers[response["request_id"]] = answer.get("behavior") == "allow"
                self.cancel = message if answer.get("interrupt") else self.cancel
            case _:
                pass
        return None

    def begin(self, prompt: Json) -> None:
        for state in ("queued", "started"):
            write({"type": "command_lifecycle", "command_uuid": prompt["delivery"], "state": state})
        write({"type": "system", "subtype": "init", "session_id": self.session, "model": "m"})

    def decline(self, prompt: Json) -> None:
        """It takes every message; the result says that it came to nothing."""
        self.begin(prompt)
        self.result("error_during_execution", is_error=True, errors=["I do not take this."])

    def say(self, words: str) -> None:
        delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": words}}
        write({"type": "stream_event", "event": delta, "api_message_id": "m1"})

    def ask(self, key: str, command: str) -> None:
        rule = {
            "type": "addRules",
            "behavior": "allow",
            "destination": "session",
            "rules": [{"toolName": "Bash"}],
        }
        request: Json = {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": f"call-{key}"}
        request |= {"input": {"command": command, "note": None}, "permission_suggestions": [rule]}
        write({"type": "control_request", "request_id": key, "request": request})

    def withdraw(self, key: str) -> None:
        write({"type": "control_cancel_request", "request_id": key})

    def ask_strangely(self, key: str) -> None:
        write({"type": "control_request", "request_id": key, "request": {"subtype": "mcp_message"}})

    def finish(self, how: str) -> None:
        match how:
            case "completed":
                self.result("completed")
            case "cancelled":
                self.result("aborted_streaming", is_error=True)
            case _:
                self.result("api_error", is_error=True, result="Used up.", api_error_status=429)

    def answer_again(self, prompt: Json) -> None:
        for _ in range(2):
            response: Json = {"subtype": "success", "request_id": "77", "response": {}}
            write({"type": "control_response", "response": response})

    def result(self, reason: str, *, is_error: bool = False, **more: Any) -> None:
        usage = {"input_tokens": 10, "output_tokens": 5}
        record = {"type": "result", "subtype": "success", "terminal_reason": reason, "is_error": is_error}
        write({**record, "session_id": self.session, "usage": usage, **more})


def new_session(folder: Path | None) -> str:
    made = str(uuid.uuid4())
    if folder is not None:
        (folder / made).touch()
    return made


def main() -> None:
    dialect, folder = sys.argv[1], Path(sys.argv[2])
    how, wanted = (sys.argv[3], sys.argv[4]) if len(sys.argv) > 4 else ("", "")
    if how in ("--resume", "--fork") and dialect != "rpc" and not (folder / wanted).exists():
        if dialect == "control":
            ended = {"type": "result", "subtype": "error_during_execution", "is_error": True}
            write({**ended, "errors": [f"No conversation found with session ID: {wanted}"]})
        else:
            sys.stderr.write(f"No session found matching '{wanted}'\n")
        sys.exit(1)
    if how == "--named":
        (folder / wanted).touch()
    session = wanted if how in ("--resume", "--named") else new_session(folder)
    {"rpc": Rpc, "command": Command, "control": Control}[dialect](folder, session).serve()


if __name__ == "__main__":
    main()
