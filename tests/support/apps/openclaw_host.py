"""The stand-in for OpenClaw's plugin api (`openclaw_host.mjs`) as tests speak to it: lines of JSON, and its routes over HTTP."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from support.apps.bindings import BINDINGS

__all__ = ["Answer", "Host"]

HOST = Path(__file__).with_name("openclaw_host.mjs")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Host:
    """The stand-in's process."""

    def __init__(self, settings: dict[str, str]) -> None:
        node = shutil.which("node")
        assert node is not None, "these tests need Node.js, as `make live` does"
        self._process = subprocess.Popen(
            [node, str(HOST), str(BINDINGS / "openclaw" / "index.js"), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.logged: list[str] = []
        self.seen = self._next()

    def ask(self, **asked: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._next()

    def until_logged(self) -> str:
        """The first line in the host's log."""
        while not self.logged:
            self._take(self._read())
        return self.logged[0]

    def request(
        self, method: str, path: str, *, body: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.seen["port"], timeout=60)
        try:
            raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
            connection.request(method, path, raw, headers or {})
            got = connection.getresponse()
            return Answer(
                got.status, {key.lower(): value for key, value in got.getheaders()}, got.read().decode()
            )
        finally:
            connection.close()

    def token(self) -> str:
        """A token as the page gets it."""
        found = re.search(r'TOKEN = "([0-9a-f]{48})"', self.request("GET", "/agent-app/home").text)
        assert found is not None
        return found[1]

    def api(self, method: str, path: str, body: object = None, *, token: str | None = None) -> Answer:
        headers = {
            "X-A2App-Token": token or self.token(),
            "content-type": "application/json",
            "Origin": "null",
        }
        return self.request(method, f"/agent-app/api{path}", body=body, headers=headers)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the stand-in ended"
        return json.loads(line)

    def _take(self, value: Any) -> bool:
        """Whether a line is the answer, and not one of the log."""
        if isinstance(value, dict) and list(value) == ["log"]:  # pyright: ignore[reportUnknownArgumentType] - JSON
            self.logged.append(str(value["log"]))  # pyright: ignore[reportUnknownArgumentType] - JSON
            return False
        return True

    def _next(self) -> Any:
        while True:
            value = self._read()
            if self._take(value):
                return value
