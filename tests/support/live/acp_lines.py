"""Talk ACP to a program by plain lines, and keep every line: no client of ours in between.

For the live checks that come before Inspan itself, and for recordings. The kept lines have the form
`{"t": seconds, "dir": ">" to the program | "<" from it | "!" a remark, "phase": ..., "msg": ...}`.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["AcpLines", "Json", "open_acp_lines", "permission_answer"]

Json = dict[str, Any]

_DEADLINE_S = 60.0
_CHUNK_BYTES = 65536


class AcpLines:
    """One conversation with one process. Not for use from several threads.

    `phase` is written on every kept line from then on. Requests that the program makes are handed to
    `answer`, whose result is sent back; `None` leaves them open for the caller.
    """

    def __init__(self, process: subprocess.Popen[bytes], kept: list[Json], started_s: float) -> None:
        self.process = process
        self.kept = kept
        self.phase = "start"
        self.answer: Callable[[Json], Json | None] = _refuse
        self._started_s = started_s
        self._next_id = 0
        self._unread = b""
        assert process.stdout is not None
        self._stdout_fd = process.stdout.fileno()
        os.set_blocking(self._stdout_fd, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout_fd, selectors.EVENT_READ)

    def request(self, method: str, params: Json) -> int:
        """Send a request and return its id without waiting."""
        self._next_id += 1
        self.send({"id": self._next_id, "method": method, "params": params})
        return self._next_id

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        self.send({"method": method, "params": params})

    def send(self, message: Json) -> None:
        """Send one message; the `jsonrpc` member is added."""
        message = {"jsonrpc": "2.0"} | message
        assert self.process.stdin is not None
        self._keep(">", message)
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, method: str, params: Json) -> Json:
        """Send a request and return the whole response message, `result` or `error`."""
        return self.response_to(self.request(method, params))

    def response_to(self, request_id: int) -> Json:
        """Wait for the response to a request that was sent before."""
        return self.wait_for(lambda message: "method" not in message and message.get("id") == request_id)

    def wait_for(self, is_wanted: Callable[[Json], bool]) -> Json:
        """Read until a message that `is_wanted`, answering the program's requests on the way.

        Raises:
            TimeoutError: it did not come within a minute.
            EOFError: the program ended its output first.
        """
        deadline = time.monotonic() + _DEADLINE_S
        while True:
            message = self._next_message(deadline)
            if is_wanted(message):
                return message
            if "method" in message and "id" in message:
                answer = self.answer(message)
                if answer is not None:
                    self.send({"id": message["id"]} | answer)

    def updates(self, phase: str) -> list[Json]:
        """Return the `session/update` payloads kept so far in `phase`."""
        return [
            line["msg"]["params"]["update"]
            for line in self.kept
            if line["phase"] == phase and line["dir"] == "<" and line["msg"].get("method") == "session/update"
        ]

    def spoken_text(self, phase: str) -> str:
        """Join the agent's words of `phase`."""
        chunks = [up for up in self.updates(phase) if up["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)

    def remark(self, text: str) -> None:
        """Keep a remark between the lines."""
        self._keep("!", text)

    def kill(self) -> int:
        """Kill the process group with SIGKILL and return the exit status."""
        os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        self.remark(f"killed, exit status {status}")
        return status

    def close_input(self, *, timeout_s: float = 10.0) -> int:
        """End the program's input, wait for it to leave and return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(timeout=timeout_s)
        self.remark(f"input closed, exit status {status}")
        return status

    def close(self) -> None:
        """Stop the process group, whatever state it is in."""
        self._selector.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _next_message(self, deadline: float) -> Json:
        while b"\n" not in self._unread:
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError(f"no answer in phase {self.phase!r}; last line: {self.kept[-1:]}")
            chunk = os.read(self._stdout_fd, _CHUNK_BYTES)
            if not chunk:
                raise EOFError(f"the program ended its output in phase {self.phase!r}")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        message: Json = json.loads(line)
        self._keep("<", message)
        return message

    def _keep(self, direction: str, message: Json | str) -> None:
        at_s = round(time.monotonic() - self._started_s, 3)
        self.kept.append({"t": at_s, "dir": direction, "phase": self.phase, "msg": message})


@contextmanager
def open_acp_lines(
    start: Callable[[], subprocess.Popen[bytes]],
    *,
    kept: list[Json] | None = None,
    started_s: float | None = None,
) -> Generator[AcpLines]:
    """Start a program with pipes and stop it afterwards. `kept` and `started_s` continue an earlier log."""
    lines = AcpLines(
        start(), [] if kept is None else kept, time.monotonic() if started_s is None else started_s
    )
    try:
        yield lines
    finally:
        lines.close()


def permission_answer(kind: str) -> Callable[[Json], Json | None]:
    """Answer permission requests by the first option of `kind`, and refuse every other request."""

    def answer(message: Json) -> Json | None:
        if message["method"] != "session/request_permission":
            return _refuse(message)
        option = next(one for one in message["params"]["options"] if one["kind"] == kind)
        return {"result": {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}}

    return answer


def _refuse(message: Json) -> Json:
    return {"error": {"code": -32601, "message": f"{message['method']} is not offered"}}
