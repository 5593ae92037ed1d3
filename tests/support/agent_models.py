"""The scripted model server as a process on loopback, for agents that speak to it over HTTP."""

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

__all__ = ["KEY", "RunningServer", "running_server"]

KEY = "sk-not-a-real-key-0123456789"
"""What the tests sign in with; it must never be seen anywhere."""

_TESTS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningServer:
    """The server while it runs."""

    port: int
    log: Path

    def environment(self, provider: str) -> dict[str, str]:
        """The variables that send a provider's requests to it."""
        url = f"http://127.0.0.1:{self.port}"
        match provider:
            case "anthropic":
                return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}
            case "google":
                return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY}
            case _:
                return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """The lines of its log of one kind, in order."""
        lines = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if line["kind"] == kind]


@contextmanager
def running_server(folder: Path) -> Generator[RunningServer]:
    """Serves the scripts on a free loopback port. Stops the server afterwards."""
    log = folder / "model.jsonl"
    log.touch()
    argv = [sys.executable, "-m", "support.model_server", "--log", str(log), "--stop-with-stdin"]
    environment = {"PYTHONPATH": str(_TESTS), "PATH": os.environ.get("PATH", os.defpath)}
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=folder
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield RunningServer(port=int(process.stdout.readline()), log=log)
        finally:
            process.stdin.close()
            process.wait(timeout=10)
