"""A scripted agent for the Agent Client Protocol that says as much as it is told, as fast as it is told.

`python fake_agent.py`: every client of this folder drives this one program. It answers a prompt by its words:

- `burst N`: N updates at once, in pieces of many lines;
- `paced R S`: R updates a second for S seconds, each at its own time;
- `mark K`, once or more often: an update with the number K for each, so that a prompt can be found again;
- anything else: one update.

Each update carries its number, the clock when it was written (microseconds) and its session, as in
`n=17 t=81723812831 s=s4711 `, so that whoever receives it can tell what is missing and how late it is.
`CLOCK_MONOTONIC` is one clock for all processes.
The standard library alone, so that it starts fast wherever it is started.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # importing `typing` would take longer than the rest of the start
if TYPE_CHECKING:
    from typing import Any

__all__ = ["UPDATE_BYTES", "update_line"]

UPDATE_BYTES = 200
"""The size of an update without its newline."""

_PIECE_LINES = 64


def update_line(number: int, clock_us: int, session: str) -> bytes:
    """A `session/update` of 200 bytes with number, clock and session in its text, and its newline."""
    head = (
        f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":'
        f'{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"n={number} t={clock_us} s={session} '
    )
    tail = '"}}}}'
    return f"{head}{'x' * (UPDATE_BYTES - len(head) - len(tail))}{tail}\n".encode()


def _burst(session: str, count: int) -> None:
    for first in range(0, count, _PIECE_LINES):
        clock_us = time.monotonic_ns() // 1000
        numbers = range(first, min(count, first + _PIECE_LINES))
        _write(b"".join(update_line(number, clock_us, session) for number in numbers))


def _paced(session: str, rate: float, seconds: float) -> None:
    began_ns = time.monotonic_ns()
    for number in range(int(rate * seconds)):
        due_ns = began_ns + int(number * 1e9 / rate)
        while (wait_ns := due_ns - time.monotonic_ns()) > 0:
            time.sleep(wait_ns / 1e9)
        _write(update_line(number, time.monotonic_ns() // 1000, session))


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _prompt(session: str, text: str) -> None:
    # What a client adds around the prompt does not count.
    words = text.split()
    if "burst" in words:
        _burst(session, int(words[words.index("burst") + 1]))
    elif "paced" in words:
        at = words.index("paced")
        _paced(session, float(words[at + 1]), float(words[at + 2]))
    elif "mark" in words:
        for at, word in enumerate(words):
            if word == "mark":
                _write(update_line(int(words[at + 1]), time.monotonic_ns() // 1000, session))
    else:
        _burst(session, 1)


def _serve() -> None:
    import json

    # Short, so that an update of 200 bytes has room for it, and another one for every process.
    session = f"s{os.getpid()}"
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        params: dict[str, Any] = message.get("params") or {}
        result: dict[str, Any] = {}
        match message["method"]:
            case "initialize":
                result = {
                    "protocolVersion": 1,
                    "agentCapabilities": {"loadSession": False},
                    "agentInfo": {"name": "fake-agent", "version": "1"},
                    "authMethods": [],
                }
            case "session/new":
                result = {"sessionId": session}
            case "session/prompt":
                blocks: list[dict[str, Any]] = params.get("prompt") or []
                _prompt(session, " ".join(block.get("text", "") for block in blocks))
                result = {"stopReason": "end_turn"}
            case _:
                pass
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        _write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    _serve()
