"""The server's log: one JSON line per request and one when it ended, for tests to count."""

from __future__ import annotations

import itertools
import json
import threading
import time
from pathlib import Path

from support.model_server.asked import Asked, Json
from support.model_server.scripts import Answer, marker_in

__all__ = ["RequestLog"]

_TEXT_LIMIT = 2000


class RequestLog:
    """Appends to a file, or to nothing. Every line is complete once written, so a reader may follow it."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def request(self, wire_format: str, path: str, asked: Asked, answer: Answer) -> int:
        """Note a request and its answer; return the number under which its end is to be noted."""
        number = next(self._numbers)
        marker, _ = marker_in(asked.last_user_text)
        self._append(
            {
                "kind": "request",
                "number": number,
                "format": wire_format,
                "path": path,
                "is_stream": asked.is_stream,
                "marker": None if answer.is_side or asked.has_tool_result else marker,
                "last_user_text": asked.last_user_text[:_TEXT_LIMIT],
                "user_texts": [text[:_TEXT_LIMIT] for text in asked.user_texts],
                "has_tool_result": asked.has_tool_result,
                "is_side": answer.is_side,
                "tools": [tool.name for tool in asked.tools],
                "call": answer.call.name if answer.call else None,
                "failure": answer.failure.name if answer.failure else None,
            }
        )
        return number

    def ended(self, number: int, how: str) -> None:
        """Note how a request ended: `answered`, `refused` or `client_left`."""
        self._append({"kind": "ended", "number": number, "how": how})

    def other(self, method: str, path: str, status: int) -> None:
        """Note a request that no script answers: a model list, a token count, something unknown."""
        self._append({"kind": "other", "method": method, "path": path, "status": status})

    def _append(self, line: Json) -> None:
        if self._path is None:
            return
        encoded = json.dumps({"at": round(time.time(), 3)} | line) + "\n"
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(encoded)
