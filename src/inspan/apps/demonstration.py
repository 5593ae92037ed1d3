"""The demonstration of apps: a board in a throwaway home, work in its queue, and an agent that does it.

All of it is real but the model: the app is served, a bridge runs in the background, and the agent is a process that
operates the app by `a2app`. Where Inspan's own agent is not installed (extra `agent`), a script stands in for all of it,
and that is said. There is no key, nothing leaves this machine, and nothing of it stays.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .client import AppClient, AppUnreachable, JsonObject
from .faults import Rejected
from .files import write_json
from .ports import who_answers
from .processes import is_alive
from .profiles import register_harness_profile

__all__ = ["Demonstrated", "run"]

SCRIPTED_AGENT: tuple[str, ...] = (sys.executable, "-P", "-m", "inspan.cli.demonstration_agent")
"""The agent, as argv: it is given a home, and the prompt on standard input."""

BARE_WORD = "--bare"
"""Its further argument where it has to do without Inspan's own agent."""

_NEEDED = ("jsonschema", "yaml")  # what that cannot be without; the rest of the extra is for models
_HARNESS = "scripted-agent"
_MOST_TRIES = 5
_PATIENCE_S = 60.0
_LOOK_S = 0.1
_APP = "from pathlib import Path\n\nfrom inspan.apps.examples.board import make_app\n\nmake_app(Path(__file__).parent).serve()\n"


_OWN_AGENT = (
    "A bridge takes the app's work to Inspan's own agent. The agent is real; its model is a script, so that",
    "no key is needed and nothing leaves this machine. It may run `a2app`, and nothing else.",
)
_NO_AGENT = (
    "A bridge takes the app's work to an agent. Inspan's own is not installed, so a script stands in for it, which",
    "runs the same `a2app` commands. With `pip install 'inspan[agent]'` the real one is shown. No key is needed.",
)


class Demonstrated(NamedTuple):
    """What was shown.

    Attributes:
        is_ok: All of it happened, and nothing was left behind.
        url: Where the board was.
        task: The task as it ended.
        summary: What the agent wrote into the board.
        leftovers: What is still there that should not be.
    """

    is_ok: bool
    url: str
    task: JsonObject
    summary: str
    leftovers: tuple[str, ...]


def run(say: Callable[[str], None] = print, *, agent: Sequence[str] | None = None) -> Demonstrated:
    """Shows it, step by step, and cleans up whatever happens. Takes some seconds.

    Args:
        say: Is told each step, one line at a time.
        agent: The agent's program and its first arguments; Inspan's own with a script for a model where it is None.

    Raises:
        Rejected: A step did not come about.
    """
    # A short path, where everybody may write, and of its own.
    folder = Path(tempfile.mkdtemp(prefix="isp-")).resolve()
    show = _Show(folder, say, agent)
    try:
        show.serve()
        show.start_bridge()
        show.ask()
        task, summary = show.watch()
    finally:
        show.clean_up()
    left = show.leftovers()
    is_ok = task.get("status") == "completed" and bool(summary) and not left
    return Demonstrated(is_ok, show.url, task, summary, left)


class _Show:
    """The steps, in order."""

    def __init__(self, root: Path, say: Callable[[str], None], agent: Sequence[str] | None) -> None:
        self.url = ""
        self._root = root
        self._say = say
        self._is_bare = agent is None and any(importlib.util.find_spec(one) is None for one in _NEEDED)
        self._agent = SCRIPTED_AGENT if agent is None else tuple(agent)
        # Of its own, so that no other demonstration that runs is taken for this one.
        self._app_id = secrets.token_hex(6)
        self._app = root / "board"
        self._home = root / "home"
        self._task = ""
        self._client: AppClient | None = None
        self._pids: dict[str, int] = {}
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("A2APP_", "AGENT_APP_"))
        }
        self._environ: Mapping[str, str] = {**kept, "A2APP_HOME": str(self._home)}

    def serve(self) -> None:
        """Makes the board and serves it."""
        self._app.mkdir()
        (self._app / "app.py").write_text(_APP, encoding="utf-8")
        self._say(f"An app, the board of the examples, in a throwaway folder: {self._app}")
        served = self._served(tries=_MOST_TRIES)
        self.url, self._pids["the app"] = str(served["url"]), int(served["pid"])
        self._say(
            f"It is served at {self.url} . Open it, if you like: what happens shows there as it happens."
        )

    def _served(self, *, tries: int) -> JsonObject:
        port = _free_port()
        self._write_manifest(port)
        try:
            return self._program("agent_app", "serve")
        except Rejected:
            # Somebody else may have taken the port since.
            if tries < 2 or who_answers(port).kind == "nobody":
                raise
        return self._served(tries=tries - 1)

    def _write_manifest(self, port: int) -> None:
        write_json(
            self._app / "manifest.json",
            {
                "id": self._app_id,
                "name": "Board",
                "agentAppVersion": "0.1.0",
                "adapterVersion": "0.1.0",
                "authMode": "none",
                "pipeline": {
                    "install": "",
                    "build": "",
                    "start": f"exec {shlex.quote(sys.executable)} -P app.py",
                    "health": "/api/_a2app",
                },
                "port": port,
            },
        )

    def start_bridge(self) -> None:
        """Starts a bridge to the agent, as its user would."""
        own_home = self._root / "agent"
        register_harness_profile(
            {
                "id": _HARNESS,
                "name": "A script" if self._is_bare else "Inspan's own agent, with a script for a model",
                "routes": [
                    {
                        "mode": "headless",
                        "command": self._agent[0],
                        "args": [*self._agent[1:], str(own_home), *([BARE_WORD] if self._is_bare else [])],
                        "input": "stdin",
                    }
                ],
            },
            home=self._home,
        )
        for line in _NO_AGENT if self._is_bare else _OWN_AGENT:
            self._say(line)
        started = self._program("agent_app", "bridge", "start", "--harness", _HARNESS, "--interval", "250")
        self._pids["the bridge"] = int(started["pid"])
        self._say(f"agent-app {self._app.name} bridge start --harness {_HARNESS}: process {started['pid']}.")

    def ask(self) -> None:
        """Puts work into the app's queue, as a person does who clicks on the page."""
        reply = self._board.request("POST", "/api/ops/ask-for-summary", {})
        if not reply.is_ok:
            raise Rejected(f"The board did not take the wish for a summary: {reply.status} {reply.code}.")
        self._task = str(reply.body["result"]["task"])
        self._say(
            f"Somebody asks the board for a summary. Nobody is there to write one, so a task waits: {self._task}"
        )

    def watch(self) -> tuple[JsonObject, str]:
        """Tells what becomes of the task; how it ended, and what was written."""
        told = ""
        deadline = time.monotonic() + _PATIENCE_S
        task: JsonObject = {}
        while time.monotonic() < deadline:
            try:
                task = self._board.task(self._task).body
            except AppUnreachable as error:
                raise Rejected(f"The board went away: {error.message}") from error
            line = _state_of(task)
            if line != told:
                told = line
                self._say(f"  {line}")
            if task.get("status") in ("completed", "failed", "canceled"):
                return task, self._summary()
            time.sleep(_LOOK_S)
        raise Rejected(f"The task did not end within {_PATIENCE_S:g} seconds; it is {told}.")

    def clean_up(self) -> None:
        """Stops bridge and app, and removes everything."""
        if self._client is not None:
            self._client.close()
        for words in (("bridge", "stop"), ("stop",)):
            if self._app.exists():
                self._quietly("agent_app", *words)
        shutil.rmtree(self._root, ignore_errors=True)
        self._say("Bridge and app are stopped, and the folder is removed.")

    def leftovers(self) -> tuple[str, ...]:
        """What is still there."""
        left = [f"{what}, process {pid}" for what, pid in self._pids.items() if is_alive(pid)]
        if self._root.exists():
            left.append(f"the folder {self._root}")
        if self.url and who_answers(int(self.url.rpartition(":")[2])).app_id == self._app_id:
            left.append(f"the app at {self.url}")
        for one in left:
            self._say(f"Left behind: {one}")
        return tuple(left)

    @property
    def _board(self) -> AppClient:
        if self._client is None:
            token = (self._app / ".agent-token").read_text(encoding="ascii").strip()
            self._client = AppClient(self.url, token=token, agent="demonstration", timeout_s=10.0)
        return self._client

    def _summary(self) -> str:
        reply = self._board.request("GET", "/api/collections/summaries/records")
        items: Any = reply.body.get("items") or []
        body = str(items[-1]["body"]) if items else ""
        if body:
            self._say(f"What the agent wrote into the board: {body}")
        return body

    def _program(self, name: str, *words: str) -> JsonObject:
        done = self._quietly(name, *words)
        try:
            value: Any = json.loads(done.stdout)
        except ValueError:
            value = None
        if done.returncode != 0 or not isinstance(value, dict):
            raise Rejected(f"`{' '.join(words)}` did not do it: {done.stderr.strip()[-600:]}")
        return value  # pyright: ignore[reportUnknownVariableType]

    def _quietly(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        code = f"import sys; from inspan.apps.programs.{name}.main import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-P", "-c", code, str(self._app), *words],
            env=self._environ,
            cwd=self._root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )


def _free_port() -> int:
    """One that nothing listens on now, of those that the system gives, so that two demonstrations hardly ever meet."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _state_of(task: JsonObject) -> str:
    progress: Any = task.get("progress") or {}
    step, percent = progress.get("step"), progress.get("percent")
    more = f": {step}" if step else ""
    return f"{task.get('status')}{more}{f' ({percent:g} %)' if percent else ''}"
