"""`python -m inspan.apps.conformance.bridge_runner [--agent-app PROGRAM]`: checks a bridge, our own where none is named.

Each check has the reference app on our own server, a home of its own, and the stand-in as the one harness in it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, cast

import uvicorn

from inspan.apps.author import App
from inspan.apps.client import AppClient
from inspan.apps.server.running import server_config
from inspan.model.errors import UsageError

from .bridge_suite import BridgeCheck, BridgeClass, BridgeExpected, load_bridge_class
from .reference import FULL_TOKEN, make_reference_app, write_folder
from .runner import Outcome, problems_of
from .suite import Expected

__all__ = ["main", "run_bridge_class"]

_WAIT_S = 60.0
_AGENT = Path(__file__).with_name("bridge_agent.py")
_EVENT = "card.due_soon"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the class: 0 where every check held, 1 where one failed, 2 where the call is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m inspan.apps.conformance.bridge_runner",
        description="Check a bridge, our own where none is named.",
    )
    parser.add_argument("--agent-app", default="", help="the program whose `APP bridge …` is checked")
    parser.add_argument("--a2app", default="", help="the operate program that the stand-in reports with")
    parser.add_argument("--checks", type=Path, help="a file of checks of your own")
    options = parser.parse_args(argv)
    try:
        checks = load_bridge_class(options.checks)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    outcomes = run_bridge_class(
        checks,
        agent_app=tuple(shlex.split(options.agent_app or shutil.which("agent-app") or "agent-app")),
        a2app=tuple(shlex.split(options.a2app or shutil.which("a2app") or "a2app")),
    )
    failed = [one for one in outcomes if one.status == "failed"]
    print(f"class {checks.name}: {len(outcomes) - len(failed)} passed, {len(failed)} failed")
    for outcome in failed:
        print(f"  failed: {outcome.name}")
        for problem in outcome.problems:
            print(f"    {problem}")
    return 1 if failed else 0


def run_bridge_class(
    checks: BridgeClass, *, agent_app: tuple[str, ...], a2app: tuple[str, ...]
) -> list[Outcome]:
    """Runs the checks in order, and gives an outcome for each.

    Args:
        checks: The class.
        agent_app: The program whose bridge is checked, as argv.
        a2app: The operate program.
    """
    outcomes: list[Outcome] = []
    with contextlib.ExitStack() as stack:
        place: _Place | None = None
        for check in checks.checks:
            if place is None or not check.keeps:
                stack.close()
                place = stack.enter_context(_place(agent_app, a2app))
            try:
                problems = place.check(check)
            except (OSError, subprocess.TimeoutExpired) as error:
                problems = [f"{type(error).__name__}: {error}"]
            outcomes.append(
                Outcome(name=check.name, status="failed" if problems else "passed", problems=tuple(problems))
            )
    return outcomes


@contextlib.contextmanager
def _place(agent_app: tuple[str, ...], a2app: tuple[str, ...]) -> Generator[_Place]:
    with tempfile.TemporaryDirectory(prefix="isp-", ignore_cleanup_errors=True) as name:
        root = Path(name).resolve()
        folder = root / "app"
        folder.mkdir()
        with socket.socket() as listener:
            app = make_reference_app(folder)
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
            server = uvicorn.Server(server_config(app.asgi(), port=port))
            listener.listen()
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()
            write_folder(folder, port)
            place = _Place(root, folder, app, port, agent_app, a2app)
            try:
                yield place
            finally:
                place.end()
                server.should_exit = True
                thread.join()
                app.close()


class _Place:
    """Where one check happens, or several that belong together."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        app: App,
        port: int,
        agent_app: tuple[str, ...],
        a2app: tuple[str, ...],
    ) -> None:
        self._home = root / "home"
        self._home.mkdir()
        self._notes = root / "notes"
        self._folder = folder
        self._app = app
        self._url = f"http://127.0.0.1:{port}"
        self._agent_app = agent_app
        self._a2app = a2app

    def check(self, check: BridgeCheck) -> list[str]:
        """What does not hold, one line each."""
        self._write_profile(check)
        queued = [self._queue(one.capability, one.payload, at) for at, one in enumerate(check.tasks)]
        done = self._run(check.bridge, check.env)
        problems = _printed(check.expect, done)
        problems += self._tasks(check.expect, queued)
        return problems + self._agents(check.expect)

    def end(self) -> None:
        """Ends a bridge that a check started."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._run(("stop",), {})

    def _run(self, words: Sequence[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "A2APP_HOME": str(self._home), **env}
        if "A2APP_HARNESS" not in env:
            environ.pop("A2APP_HARNESS", None)
        return subprocess.run(
            [*self._agent_app, str(self._folder), "bridge", *words],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_WAIT_S,
            check=False,
        )

    def _write_profile(self, check: BridgeCheck) -> None:
        text = check.harnesses
        if text is None:
            args = [str(_AGENT), str(self._notes), json.dumps(self._a2app), *check.agent, "{prompt}"]
            route = {"mode": "headless", "command": sys.executable, "args": args, **check.route}
            table = {"version": 1, "harnesses": [{"id": "stand-in", "routes": [route]}]}
            text = json.dumps(table).replace("<GONE>", "a-program-that-is-nowhere")
        (self._home / "harnesses.json").write_text(text, encoding="utf-8")

    def _queue(self, capability: str, payload: dict[str, Any], at: int) -> str:
        made = self._app.trigger(
            _EVENT, payload, capability=capability, dedup_key=f"{os.urandom(6).hex()}-{at}"
        )
        return str(made.task_id)

    def _tasks(self, expect: BridgeExpected, queued: list[str]) -> list[str]:
        problems: list[str] = []
        with AppClient(self._url, token=FULL_TOKEN, agent="conformance") as client:
            for id_, wanted in zip(queued, expect.tasks, strict=False):
                task = client.task(id_).body
                if task.get("status") != wanted.status:
                    problems.append(
                        f"the task is {task.get('status')} ({task.get('reason')}), not {wanted.status}"
                    )
                elif wanted.reason and task.get("reason") != wanted.reason:
                    problems.append(f"the task's reason is {task.get('reason')}, not {wanted.reason}")
        return problems

    def _agents(self, expect: BridgeExpected) -> list[str]:
        notes = _read_notes(self._notes)
        prompts = [str(one["prompt"]) for one in notes if "prompt" in one]
        names = [cast("list[str]", one["names"]) for one in notes if "names" in one]
        problems: list[str] = []
        if expect.runs is not None and len(prompts) != expect.runs:
            problems.append(f"{len(prompts)} agents were run, not {expect.runs}")
        if (expect.fenced or expect.lines) and not prompts:
            problems.append("no agent was told anything")
        for prompt in prompts:
            outside, inside = _parted(prompt)
            problems += [f"{one!r} stands outside of the fences" for one in expect.fenced if one in outside]
            problems += [f"{one!r} is not told" for one in expect.fenced if one not in inside]
            problems += [
                f"{one!r} begins a line outside of the fences"
                for one in expect.lines
                if any(line.strip().startswith(one) for line in outside.splitlines())
            ]
        if (expect.env_has or expect.env_lacks) and not names:
            problems.append("no agent noted its variables")
        for found in names:
            problems += [f"the agent has no {one}" for one in expect.env_has if one not in found]
            problems += [f"the agent has {one}" for one in expect.env_lacks if one in found]
        return problems


def _printed(expect: BridgeExpected, done: subprocess.CompletedProcess[str]) -> list[str]:
    said = Expected(exit=expect.exit, match=expect.match, has=expect.has, absent=expect.absent)
    problems = problems_of(said, done.returncode, done.stdout)
    if expect.contains and expect.contains not in done.stdout + done.stderr:
        problems.append(f"nothing that it said contains {expect.contains!r}")
    return problems


def _parted(prompt: str) -> tuple[str, str]:
    """What stands outside and what between the fences of a prompt."""
    lines = prompt.splitlines()
    marks = [at for at, line in enumerate(lines) if "a2app:payload:" in line and line.startswith("---")]
    if len(marks) < 2:
        return prompt, ""
    first, last = marks[0], marks[-1]
    return "\n".join(lines[:first] + lines[last + 1 :]), "\n".join(lines[first + 1 : last])


def _read_notes(path: Path) -> list[dict[str, object]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    raise SystemExit(main())
