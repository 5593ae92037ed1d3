"""`inspan demo`: what Inspan promises, shown on a scripted harness in a throwaway home.

A permission is asked and answered; then the daemon is killed in the middle of a turn, the harness lives on, the
next daemon follows the turn to its end, and the log is audited. Everything is stopped and removed at the end.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from inspan.host.registry import HarnessRegistry
from inspan.model.demonstration import Demonstration
from inspan.model.errors import HostError, InspanError, PluginError
from inspan.model.manifest import Manifest

from .arguments import Namespace, Parser
from .context import Context, at
from .exits import Exit
from .fields import Json, number, record, text
from .log_audit import Check, audit
from .output import bad, bold, dim, good
from .prompts import queue_prompt
from .rendering import Renderer
from .stream import EventStream

__all__ = ["build_demo"]

_SEAT = "worker"
_LINES = 40
_KILL_AT_LINE = 8
_ALONE_S = 1.0
_STEP_PATIENCE_S = 30.0
_LOOK_AGAIN_S = 0.05


def build_demo(parser: Parser) -> None:
    """Adds the arguments of `demo`."""
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        choices=("plugins",),
        help="plugins: the agent's runtime plugins instead, with a scripted model and a simulated connector",
    )
    parser.set_defaults(run=_demo)
    parser.example("inspan demo", "takes about ten seconds, and leaves nothing behind")
    parser.example("inspan demo plugins", "an agent with plugins, an audit observer and a connector")


def _demo(context: Context, args: Namespace) -> int:
    if args.what == "plugins":
        from inspan.agent.plugins.demonstration import main

        main()
        return Exit.OK
    folder = Path(tempfile.mkdtemp(prefix="isp-", dir=_short_folder()))
    # A home of its own: the one that the operator uses is not touched.
    show = _Show(Context(output=context.output, home=str(folder / "home")), folder)
    try:
        show.begin()
        show.ask_and_answer()
        show.kill_in_mid_turn()
        show.audit()
    finally:
        show.clean_up()
    show.look_for_leftovers()
    is_ok = all(check.is_ok for check in show.checks)
    if context.output.is_json:
        context.output.value({"ok": is_ok, "checks": [check._asdict() for check in show.checks]})
    else:
        context.output.line()
        context.output.line(
            good("All of it held: nothing was lost, and nothing happened twice.")
            if is_ok
            else bad("Something did not hold: see what is marked above.")
        )
    return Exit.OK if is_ok else Exit.INTERNAL


class _Show:
    """The steps, in order; each says what it shows before it shows it."""

    def __init__(self, context: Context, folder: Path):
        self.checks: list[Check] = []
        self._context = context
        self._folder = folder
        self._renderer = Renderer(context.output, has_heads=False)
        self._stream: EventStream | None = None
        self._slow_delivery = ""
        self._harness, self._shown = _choose(context)
        self._pids: dict[str, int] = {}
        self._step = 0

    def begin(self) -> None:
        self._title("A throwaway home, and a seat on a scripted harness")
        workspace = self._folder / "workspace"
        workspace.mkdir()
        self._say(f"Home: {self._context.home.path}. Starting the daemon there.")
        status = self._context.status()
        self._pids["the first daemon"] = int(number(status, "pid") or 0)
        body = {
            "name": _SEAT,
            "harness": self._harness.id,
            "workspace": str(workspace),
            # What the harness itself keeps goes away with everything else.
            "environment": {"XDG_STATE_HOME": str(self._folder / "state"), **self._shown.environment},
        }
        self._context.call("POST", "/v1/seats", body=body)
        self._say(
            f"Seat {_SEAT!r} sits on {self._harness.name!r}. It is scripted here: its answers are written"
        )
        self._say("beforehand, no model is behind it, and nothing leaves this machine. All the rest is real.")
        self._stream = self._context.stream(seat=_SEAT, after=0, is_reviving=False)

    def ask_and_answer(self) -> None:
        self._title("A prompt that needs a permission")
        self._say(f"inspan send {_SEAT} {_first_line(self._shown.ask)!r}")
        queue_prompt(self._context, _SEAT, self._shown.ask)
        request = record(self._show_until(lambda kind, _: kind == "permission_opened"), "event")
        self._say("The harness waits, and so does its turn. We allow it once:")
        self._say(f"inspan approve {text(request, 'request')}")
        self._context.call(
            "POST", at("permissions", text(request, "request"), "answer"), body={"decision": "allow"}
        )
        self._show_until(lambda kind, _: kind == "turn_ended")

    def kill_in_mid_turn(self) -> None:
        self._title("The daemon is killed in the middle of a turn")
        prompt = self._shown.slow_prompt(_LINES)
        self._say(f"inspan send {_SEAT} {_first_line(prompt)!r}: {_LINES} numbered lines, one by one.")
        self._slow_delivery = text(queue_prompt(self._context, _SEAT, prompt), "id")
        self._show_until(
            lambda kind, event: kind == "message_chunk" and f"line {_KILL_AT_LINE} of" in text(event, "text")
        )
        daemon, harness = self._pids["the first daemon"], self._pids["the harness"]
        os.kill(daemon, signal.SIGKILL)
        self._wait(lambda: not _is_alive(daemon), "the daemon did not die")
        self._say(f"kill -9 {daemon}: the daemon is gone, without a chance to save anything.")
        # The harness must get on while nobody is there: that is what is shown, so it takes a moment.
        time.sleep(_ALONE_S)
        alive = _is_alive(harness)
        self._say(f"The harness, process {harness}, {'lives on and works' if alive else 'has died with it'}.")
        if not alive:
            raise HostError("The harness died with the daemon.", code="holder_lost", hint="Report this.")
        self._say(
            "Starting the next daemon. It finds the seat, the harness, and the turn that is still open:"
        )
        self._context.revive()
        self._pids["the second daemon"] = int(number(self._context.status(), "pid") or 0)
        self._show_until(lambda kind, _: kind == "turn_ended")

    def audit(self) -> None:
        self._title("The log, read from its first event to its last")
        self._check(audit(self._context, delivery=self._slow_delivery, lines=_LINES))

    def clean_up(self) -> None:
        """Stops everything and removes the home, whatever happened before."""
        self._title("Cleaning up")
        if self._stream is not None:
            self._stream.close()
        try:
            self._context.call("POST", "/v1/daemon/stop", body={"harnesses": True}, timeout_s=90.0)
            self._wait(lambda: not any(map(_is_alive, self._pids.values())), "something did not stop")
        except InspanError as error:
            self._context.output.remark(f"  {error}")
            for pid in filter(_is_alive, self._pids.values()):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def look_for_leftovers(self) -> None:
        """Whether anything is left."""
        left = [name for name, pid in self._pids.items() if _is_alive(pid)]
        self._check(
            [
                Check(
                    "no process is left", not left, ", ".join(left) or f"{', '.join(self._pids)} have ended"
                ),
                Check("no file is left", not self._folder.exists(), f"{self._folder} is removed"),
            ]
        )

    def _check(self, checks: list[Check]) -> None:
        self.checks.extend(checks)
        if self._context.output.is_json:
            return
        for check in checks:
            mark = good("yes") if check.is_ok else bad("NO ")
            self._context.output.line("  ", mark, f"  {check.name}", dim(f": {check.fact}"))

    def _show_until(self, is_reached: Callable[[str, Json], bool]) -> Json:
        """Shows events up to the one that is meant, and gives it."""
        assert self._stream is not None  # noqa: S101 - begun
        deadline = time.monotonic() + _STEP_PATIENCE_S
        while (left := deadline - time.monotonic()) > 0:
            envelope = self._stream.next(timeout_s=left)
            if not isinstance(envelope, dict):
                break
            if not self._context.output.is_json:
                self._renderer.show(envelope)
            kind, event = text(envelope, "type"), record(envelope, "event")
            if kind == "launch_started":
                self._pids["the harness"] = int(number(event, "pid") or 0)
                self._pids["its holder"] = int(number(event, "holder_pid") or 0)
            if is_reached(kind, event):
                self._renderer.finish()
                return envelope
        raise HostError(
            f"Nothing of what was waited for happened within {_STEP_PATIENCE_S:.0f} seconds.",
            code="holder_timeout",
            hint="Run `inspan doctor`.",
        )

    def _wait(self, is_so: Callable[[], bool], fault: str) -> None:
        deadline = time.monotonic() + _STEP_PATIENCE_S
        while not is_so():
            if time.monotonic() > deadline:
                raise HostError(f"After {_STEP_PATIENCE_S:.0f} seconds {fault}.", code="holder_timeout")
            time.sleep(_LOOK_AGAIN_S)

    def _title(self, words: str) -> None:
        if self._context.output.is_json:
            return
        self._step += 1
        self._renderer.finish()
        self._context.output.line()
        self._context.output.line(bold(f"{self._step}. {words}"))
        self._context.output.flush()

    def _say(self, words: str) -> None:
        if not self._context.output.is_json:
            self._renderer.finish()
            self._context.output.line("> ", words)
            self._context.output.flush()


def _choose(context: Context) -> tuple[Manifest, Demonstration]:
    """A harness that can be shown: a real one before one that is nothing but a script.

    Raises:
        PluginError: There is none.
    """
    found: list[tuple[bool, Manifest, Demonstration]] = []
    for entry in HarnessRegistry(context.home.path).list():
        manifest = entry.manifest
        shown = manifest.demonstration if manifest is not None else None
        if manifest is None or shown is None or not all(find_spec(module) for module in shown.needs):
            continue
        found.append((manifest.scripted, manifest, shown))
    if not found:
        raise PluginError(
            "No harness that can be shown is registered.", code="plugin_missing", hint="Install Inspan anew."
        )
    _, manifest, shown = min(found, key=lambda one: one[0])
    return manifest, shown


def _first_line(prompt: str) -> str:
    return prompt.strip().partition("\n")[0]


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][:1]
    except OSError:
        return False
    return state == "Z"


def _short_folder() -> str | None:
    # Below it stand sockets, whose paths may only be short.
    return "/tmp" if os.access("/tmp", os.W_OK) else None  # noqa: S108 - mkdtemp makes a folder of its own in it
