"""Run the scripted model in a namespace and read what reached it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.live.netns import Namespace

__all__ = ["ScriptedModel", "running_model"]

_TESTS = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedModel:
    """The running server. Each reading of the log is fresh."""

    port: int
    log: Path

    @property
    def url(self) -> str:
        """The server's address, reachable inside its namespace only; without `/v1`."""
        return f"http://127.0.0.1:{self.port}"

    def lines(self) -> list[dict[str, Any]]:
        """Return every line of the log, in order; `support.model_server.request_log` says what is in them."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def turns(self) -> list[dict[str, Any]]:
        """Return the requests of the conversation itself: no titles, no summaries, no model lists."""
        return [line for line in self.lines() if line["kind"] == "request" and not line["is_side"]]

    def times_prompted(self, text: str) -> int:
        """Count how often `text` came as the newest user message of a turn, tool results apart."""
        return sum(text in turn["last_user_text"] and not turn["has_tool_result"] for turn in self.turns())

    def unscripted(self) -> list[dict[str, Any]]:
        """Return the requests that the server could not answer."""
        return [line for line in self.lines() if line["kind"] == "other" and line["status"] >= 400]


@contextmanager
def running_model(namespace: Namespace, folder: Path) -> Generator[ScriptedModel]:
    """Serve the scripts inside `namespace`; the log is a file in `folder`. Stops the server afterwards."""
    log = folder / "model.jsonl"
    environment = {"PYTHONPATH": str(_TESTS), "PATH": os.environ.get("PATH", os.defpath)}
    argv = [sys.executable, "-m", "support.model_server", "--log", str(log), "--stop-with-stdin"]
    process = namespace.start(argv, environment=environment, cwd=folder)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield ScriptedModel(port=port, log=log)
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
