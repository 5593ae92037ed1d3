"""An ACP agent driven over pipes by plain lines, with a deadline on every wait and every line kept."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["AgentPipes", "open_agent"]

_DEADLINE_S = 30.0


class AgentPipes:
    """One agent process. `noise` holds lines that were no JSON."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.messages: list[dict[str, Any]] = []
        self.noise: list[bytes] = []
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._next = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, **message: Any) -> None:
        """Sends one message."""
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def send_raw(self, data: bytes) -> None:
        """Sends bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def request(self, method: str, **params: Any) -> int:
        """Sends a request and gives its id."""
        self._next += 1
        self.send(id=self._next, method=method, params=params)
        return self._next

    def receive(self) -> dict[str, Any] | None:
        """The next message, `None` at the end of the output."""
        while True:
            line = self._lines.get(timeout=_DEADLINE_S)
            if line is None:
                return None
            try:
                message = json.loads(line)
            except ValueError:
                self.noise.append(line)
                continue
            self.messages.append(message)
            return message

    def until(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that is wanted; those before it are kept in `messages`."""
        while (message := self.receive()) is not None:
            if is_wanted(message):
                return message
        raise AssertionError(f"the agent ended; it said {self.messages[-3:]}")

    def answer_to(self, key: int) -> dict[str, Any]:
        """The answer to a request, whole."""
        return self.until(lambda message: "method" not in message and message.get("id") == key)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a new request, whole."""
        return self.answer_to(self.request(method, **params))

    def prompt(self, session: str, text: str) -> int:
        """Sends a prompt and gives its id."""
        return self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def updates(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The updates that were told so far."""
        told = [one["params"]["update"] for one in self.messages if one.get("method") == "session/update"]
        return [update for update in told if kind in (None, update["sessionUpdate"])]

    def said(self) -> str:
        """The agent's words so far."""
        return "".join(update["content"]["text"] for update in self.updates("agent_message_chunk"))

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def close(self) -> None:
        """Kills the process and closes the pipes."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


@contextmanager
def open_agent(
    argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str] | None = None
) -> Generator[AgentPipes]:
    """Starts an agent in `cwd` with our environment and `environ` over it; it is gone after the block."""
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    agent = AgentPipes(process)
    try:
        yield agent
    finally:
        agent.close()
