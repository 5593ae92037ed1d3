"""A ground for bridges: a real app that queues work, a home of profiles, a scripted agent, and bridges as processes.

The scripted agent is a program that reads its prompt as any agent does and really calls `a2app`. What it does is said
by the task's capability, see `AGENT`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from inspan.apps.client import AppClient, AppUnreachable
from inspan.apps.ports import who_answers
from support.apps.programs import Ran, find_program, free_port

__all__ = ["AGENT", "TOKEN", "Ground", "open_ground", "until", "write_app"]

TOKEN = "a2app_only_for_tests"
_DEADLINE_S = 60.0
_LOOK_S = 0.02

T = TypeVar("T")

_APP = """\
import os
from inspan.apps.author import App, json, text
from inspan.apps.server.rates import RateLimits

# A test looks more often in a minute than an app would allow.
app = App(lease_s=float(os.environ.get("ISP_LEASE_S", "60")), limits=RateLimits(data=10**6, ops=10**6))
desk = app.module("desk", "Where work comes from.")
notes = desk.entity("notes", {"title": text(required=True, max=200)})
app.event("work.wanted", "Somebody wants something done.")


@desk.operation(params={"capability": text(required=True), "payload": json(), "key": text()})
def want(capability, payload=None, key=None):
    \"\"\"Ask an agent for something.\"\"\"
    made = app.trigger("work.wanted", payload or {}, capability=capability, dedup_key=key or None)
    return {"task": made.task_id}


app.serve()
"""

AGENT = """\
import json, os, re, signal, subprocess, sys, time
from pathlib import Path

prompt = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()
task = re.search(r"^Task: (\\S+)$", prompt, re.MULTILINE)[1]
how = re.search(r"^Capability: (\\S+)$", prompt, re.MULTILINE)[1]
command = re.search(r"^  (a2app \\S+) tasks complete", prompt, re.MULTILINE)[1].split()
log = Path(os.environ["ISP_AGENT_LOG"])


def note(what):
    with log.open("a") as file:
        file.write(json.dumps({"what": what, "task": task, "how": how, "pid": os.getpid(), "at": time.time()}) + "\\n")


def report(*words):
    return subprocess.run([*command, "tasks", *words], capture_output=True, text=True)


note("begun")
print("I was asked for", how, flush=True)
match how:
    case "do":
        report("progress", task, "--step", "half way", "--percent", "50")
        done = report("complete", task, "--result", '{"by":"the agent"}')
        sys.exit(done.returncode)
    case "nothing":
        pass
    case "refuse":
        report("complete", task, "--reason", "cannot_do_it")
    case "fail":
        print("It broke.", file=sys.stderr)
        sys.exit(3)
    case "hang":
        time.sleep(600)
    case "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
        time.sleep(600)
    case "late":
        while not Path(os.environ["ISP_AGENT_LOG"] + ".go").exists():
            time.sleep(0.05)
        done = report("complete", task, "--result", '{"by":"the late agent"}')
        note(f"answered {done.returncode} {done.stdout.strip()}")
    case "report-and-hang":
        report("complete", task, "--result", "{}")
        time.sleep(600)
    case "twice":
        first = report("complete", task, "--result", '{"n":1}')
        second = report("complete", task, "--result", '{"n":2}')
        note(f"answered {first.returncode} {second.returncode}")
    case "ask":
        report("progress", task, "--ask", "Which one?")
    case "daemonise":
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                note("daemon")
                time.sleep(600)
            os._exit(0)
        report("complete", task, "--result", "{}")
    case "leave-a-child":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        report("complete", task, "--result", "{}")
    case "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    case "flood":
        for _ in range(200):
            print("x" * 10_000)
        print("THE END", flush=True)
    case "environment":
        report("complete", task, "--result", json.dumps({"names": sorted(os.environ), "agent": os.environ["A2APP_AGENT"]}))
    case "slow":
        for percent in range(0, 100, 10):
            time.sleep(0.1)
            report("progress", task, "--percent", str(percent))
        report("complete", task, "--result", '{"by":"the slow agent"}')
    case _:
        sys.exit(4)
note("ended")
"""


def until(look: Callable[[], T | None], what: str, deadline_s: float = _DEADLINE_S) -> T:
    """What `look` gives once it gives something that counts."""
    deadline = time.monotonic() + deadline_s
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(_LOOK_S)
    raise AssertionError(f"never came: {what}")


def write_app(folder: Path, port: int) -> None:
    """Writes the app into a folder, which is made where it is missing."""
    folder.mkdir(exist_ok=True)
    manifest = {
        "id": "d0d0d0d0d0d0",
        "name": "Desk",
        "agentAppVersion": "0.1.0",
        "adapterVersion": "0.1.0",
        "authMode": "none",
        "pipeline": {"install": "", "build": "", "start": "python app.py", "health": "/api/_a2app"},
        "port": port,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "app.py").write_text(_APP, encoding="utf-8")
    token = folder / ".agent-token"
    token.write_text(TOKEN + "\n", encoding="utf-8")
    token.chmod(0o600)


class Ground:
    """Everything of one test; all of it is ended and removed with `open_ground`'s block."""

    def __init__(self, root: Path, *, lease_s: float, port: int | None) -> None:
        self.root = root
        self.folder = root / "desk"
        self.home = root / "home"
        self.log = root / "agent.log"
        self.port = port or free_port()
        self._lease_s = lease_s
        self._app: subprocess.Popen[bytes] | None = None
        self._started: list[subprocess.Popen[str]] = []
        self.environ = {**os.environ, "A2APP_HOME": str(self.home), "ISP_AGENT_LOG": str(self.log)}
        for name in ("A2APP_HARNESS", "A2APP_AGENT", "A2APP_TOKEN"):
            self.environ.pop(name, None)
        self.client = AppClient(f"http://127.0.0.1:{self.port}", token=TOKEN, agent="a-test", timeout_s=10.0)
        self._prepare()

    # The app

    def start_app(self, *, as_id: str = "d0d0d0d0d0d0") -> None:
        """Starts the app, and returns once it answers as the one of this id."""
        environ = {**self.environ, "PORT": str(self.port), "ISP_LEASE_S": str(self._lease_s)}
        with (self.root / "app.log").open("ab") as log:
            self._app = subprocess.Popen(
                [sys.executable, "app.py"],
                cwd=self.folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(lambda: who_answers(self.port).app_id == as_id or None, "the app")

    def kill_app(self) -> None:
        """Ends the app in the middle of whatever it does."""
        if self._app is not None:
            self._app.kill()
            self._app.wait()
            self._app = None

    def want(self, capability: str, payload: object = None, key: str = "") -> str:
        """Has the app queue a task, and gives its id."""
        body: dict[str, object] = {
            "capability": capability,
            "payload": payload or {},
            "key": key or os.urandom(6).hex(),
        }
        reply = self.client.request("POST", "/api/ops/want", body)
        assert reply.is_ok, reply.text
        return str(reply.body["result"]["task"])

    def task(self, task: str) -> dict[str, Any]:
        """A task as the app tells it."""
        reply = self.client.task(task)
        assert reply.is_ok, reply.text
        return reply.body

    def tasks(self) -> dict[str, dict[str, Any]]:
        """All tasks by their ids."""
        reply = self.client.tasks()
        assert reply.is_ok, reply.text
        return {one["id"]: one for one in reply.body["tasks"]}

    def until_status(self, task: str, *wanted: str) -> dict[str, Any]:
        """The task once it has one of these statuses."""

        def look() -> dict[str, Any] | None:
            try:
                found = self.task(task)
            except AppUnreachable:
                return None
            return found if found["status"] in wanted else None

        return until(look, f"{task} being {' or '.join(wanted)}")

    # The bridge

    def profile(self, *routes: dict[str, Any], id_: str = "scripted", **top: object) -> None:
        """Writes `harnesses.json` with one profile; the scripted agent's if no routes are given."""
        used = list(routes) or [self.headless()]
        table = {"version": 1, "harnesses": [{"id": id_, "routes": used}], **top}
        self.home.mkdir(exist_ok=True)
        (self.home / "harnesses.json").write_text(json.dumps(table), encoding="utf-8")

    def headless(self, **more: object) -> dict[str, Any]:
        """The route to the scripted agent."""
        route = {"mode": "headless", "command": str(self.root / "agent"), "args": ["{prompt}"]}
        return {**route, "env": ["ISP_AGENT_LOG"], **more}

    def bridge(self, *words: str, environ: dict[str, str] | None = None, folder: Path | None = None) -> Ran:
        """Runs `agent-app APP bridge …` to its end."""
        done = subprocess.run(
            self._words(words, folder),
            env={**self.environ, **(environ or {})},
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def once(self, *words: str) -> Ran:
        """One look at the queue, with a fast pulse."""
        return self.bridge("start", "--once", "--harness", "scripted", "--heartbeat", "250", *words)

    def twin(self) -> Path:
        """A second folder of the same app, as another checkout of it would be; its bridge knows nothing of the first."""
        folder = self.root / "twin"
        folder.mkdir()
        for name in ("manifest.json", ".agent-token"):
            (folder / name).write_bytes((self.folder / name).read_bytes())
        return folder

    def start_bridge(self, *words: str, folder: Path | None = None) -> subprocess.Popen[str]:
        """Starts a bridge in the foreground."""
        fast = ("--interval", "250", "--heartbeat", "250", "--harness", "scripted")
        with (self.root / "bridge-out.log").open("ab") as log:
            process = subprocess.Popen(
                self._words(("start", "--foreground", *fast, *words), folder),
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
            )
        self._started.append(process)
        return process

    def record(self) -> dict[str, Any] | None:
        """What the bridge wrote down of itself."""
        try:
            return json.loads((self.folder / ".a2app" / "bridge.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def bridge_log(self) -> str:
        """All that bridges in the background, and in the foreground, said."""
        files = (self.folder / ".a2app" / "bridge.log", self.root / "bridge-out.log")
        return "".join(one.read_text(encoding="utf-8") for one in files if one.exists())

    # The agent

    def agents(self, what: str = "begun") -> list[dict[str, Any]]:
        """Those notes of agents that say this: that they began, if nothing else is asked for."""
        return [one for one in self.agents_all() if one["what"] == what]

    def agents_all(self) -> list[dict[str, Any]]:
        """What agents noted of themselves, in order."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def until_agent(self, task: str, what: str = "begun") -> dict[str, Any]:
        """An agent of the task, once it noted this."""
        return until(
            lambda: next((one for one in self.agents(what) if one["task"] == task), None),
            f"an agent of {task}",
        )

    def close(self) -> None:
        """Ends everything that was started here, agents and daemons too."""
        self.client.close()
        for process in self._started:
            process.kill()
            process.wait()
        found = self.record()
        with contextlib.suppress(OSError, TypeError, KeyError):
            if found is not None:
                os.kill(int(found["pid"]), signal.SIGKILL)
        for note in (*self.agents(), *self.agents("daemon")):
            for end in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    end(int(note["pid"]), signal.SIGKILL)
        self.kill_app()

    def _words(self, words: tuple[str, ...], folder: Path | None = None) -> list[str]:
        return [find_program("agent-app"), str(folder or self.folder), "bridge", *words]

    def _prepare(self) -> None:
        write_app(self.folder, self.port)
        agent = self.root / "agent"
        agent.write_text(f"#!{sys.executable}\n{AGENT}", encoding="utf-8")
        agent.chmod(0o755)
        self.profile()


@contextlib.contextmanager
def open_ground(
    *, lease_s: float = 60.0, starts_app: bool = True, port: int | None = None
) -> Generator[Ground]:
    """A ground with its app running.

    Args:
        lease_s: How long the app waits for a word about a task, in seconds.
        starts_app: Whether it runs at once.
        port: Its port; a free one if none is given.
    """
    with tempfile.TemporaryDirectory(prefix="isp-", ignore_cleanup_errors=True) as folder:
        ground = Ground(Path(folder).resolve(), lease_s=lease_s, port=port)
        try:
            if starts_app:
                ground.start_app()
            yield ground
        finally:
            ground.close()
