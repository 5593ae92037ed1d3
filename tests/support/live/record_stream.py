"""Record conversations of a real harness in records of its own: `python -m support.live.record_stream TARGET [WALK...]`.

As root, with `tests/` on the path. Starts the harness as its manifest's mode `stream` says and speaks to it by the
very transport, against the scripted model. Writes `WALK.jsonl` into its folder's `recordings/stream`, every line both
ways as `{"t": seconds, "dir": ">" | "<" | "!", "phase": ..., "msg": ...}`. Throwaway paths are written as `/demo`.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import inspan.harnesses
from inspan.model.content import MessageChunk
from inspan.model.permission import OptionKind, choose_option
from inspan.model.plan import Attempt, LaunchRequest
from inspan.model.posture import Approvals, Posture
from inspan.model.reports import (
    ConnectFailed,
    PermissionRequested,
    PromptAnswered,
    ReportBody,
    SessionFailed,
    SessionReady,
)
from inspan.model.session import Provenance, SessionReference
from inspan.plugin.manifest_file import load_manifest
from inspan.plugin.planning import build_plan
from inspan.plugin.programs import FoundProgram
from inspan.transports.machine import Step
from inspan.transports.stream import StreamMachine
from support.live import claude, codex, pi
from support.live.netns import open_namespace
from support.live.target import ReadyTarget, Target, open_target

__all__ = ["TARGETS", "WALKS", "Wire", "record"]

TARGETS: dict[str, Target] = {"codex": codex.TARGET, "pi": pi.TARGET, "claude-code": claude.TARGET}
MISSING_SESSION = "00000000-0000-4000-8000-000000000000"

_DEADLINE_S = 60.0
_READ_BYTES = 65536
_TAIL_CHARACTERS = 500


class Wire:
    """One process that is spoken to; everything that is said is kept in `lines`.

    Attributes:
        phase: What goes on, in the recorder's words.
        bodies: What the transport reported.
    """

    def __init__(
        self, ready: ReadyTarget, harness: str, lines: list[dict[str, Any]], started_s: float
    ) -> None:
        self.phase = "open"
        self.bodies: list[ReportBody] = []
        self.session = ""
        self.is_over = False
        self._ready = ready
        self._harness = harness
        self._lines = lines
        self._started_s = started_s
        self._rest = b""

    def open(self, attempt: Attempt, approvals: Approvals, session: str = "") -> ReportBody:
        """Start the harness and wait until its session is open, or is not."""
        manifest = load_manifest(Path(inspan.harnesses.__file__).parent / self._harness)
        workspace = str(self._ready.arena.workspace)
        reference = SessionReference(
            harness=self._harness,
            resume_type=manifest.session.resume_type,
            id=session,
            workspace=workspace,
            posture=Posture(),
            provenance=Provenance.REPORTED,
        )
        request = LaunchRequest(
            seat="recorder",
            harness=self._harness,
            mode="stream",
            attempt=attempt,
            workspace=workspace,
            posture=Posture(approvals=approvals),
            reference=reference if session else None,
        )
        program = FoundProgram(path=str(self._ready.installed.program))
        plan = build_plan(manifest, request, program=program, present=self._ready.arena.environment.keys())
        self.process = subprocess.Popen(
            self._ready.arena.namespace.argv([plan.program, *plan.arguments]),
            env=self._ready.arena.environment | plan.environment,
            cwd=workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        name = "session" if session else "chosen"
        told = plan.settings.session_id
        self._keep("!", {"started": attempt} | ({name: told} if told else {}))
        self.machine = StreamMachine(plan.settings)
        self._carry_out(self.machine.start())
        found = self.wait_for(lambda body: isinstance(body, SessionReady | SessionFailed | ConnectFailed))
        if isinstance(found, SessionReady):
            self.session = found.session_id
        return found

    def prompt(
        self, phase: str, text: str, *, answer: tuple[OptionKind, ...] = (OptionKind.ALLOW_ONCE,)
    ) -> ReportBody:
        """Send a prompt and see its turn to its end; what is asked is answered by the first kind that is offered."""
        self.begin(phase, text)
        while True:
            body = self.wait_for(lambda body: isinstance(body, PromptAnswered | PermissionRequested))
            if isinstance(body, PromptAnswered):
                return body
            assert isinstance(body, PermissionRequested)
            chosen = choose_option(body.options, answer)
            self._carry_out(self.machine.answer(body.wire_id, None if chosen is None else chosen.id))

    def begin(self, phase: str, text: str) -> None:
        """Send a prompt."""
        self.phase = phase
        self._carry_out(self.machine.prompt(f"{phase}-{len(self._lines)}", text))

    def cancel(self) -> None:
        """Ask for the turn to be stopped."""
        self._carry_out(self.machine.cancel())

    def answer_as_cancelled(self, wire_id: str) -> None:
        """Answer a request as nobody's decision."""
        self._carry_out(self.machine.answer(wire_id, None))

    def wait_for(self, is_wanted: Callable[[ReportBody], bool]) -> ReportBody:
        """The next report that is wanted."""
        deadline_s = time.monotonic() + _DEADLINE_S
        while True:
            while self.bodies:
                body = self.bodies.pop(0)
                if is_wanted(body):
                    return body
            left_s = deadline_s - time.monotonic()
            assert left_s > 0, f"{self._harness} says nothing more in {self.phase}"
            if not self._read(left_s):
                raise EOFError(f"{self._harness} ended in {self.phase}")

    def settle(self, seconds: float = 0.5) -> None:
        """Take what still comes."""
        deadline_s = time.monotonic() + seconds
        while (left_s := deadline_s - time.monotonic()) > 0 and self._read(left_s):
            pass

    def close(self, *, kill: bool = False) -> None:
        """End it: by its input, or by a signal that it cannot see."""
        self.is_over = True
        if kill:
            os.killpg(self.process.pid, signal.SIGKILL)
        elif self.process.stdin is not None:
            self.phase = "close"
            self.process.stdin.close()
            self.settle(2.0)
        try:
            status = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            status = self.process.wait()
        assert self.process.stderr is not None
        told = self.process.stderr.read().decode("utf-8", "replace")[-_TAIL_CHARACTERS:] if status > 0 else ""
        self._keep("!", {"exited": status} | ({"stderr": told} if told else {}))

    def _read(self, timeout_s: float) -> bool:
        """Take the next bytes; `False` at the end of the output."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], max(timeout_s, 0))[0]:
            return True
        data = os.read(self.process.stdout.fileno(), _READ_BYTES)
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._keep("<", _as_message(line))
        self._carry_out(self.machine.feed(data))
        return bool(data)

    def _carry_out(self, step: Step) -> None:
        for outgoing in step.outgoing:
            self._keep(">", _as_message(outgoing.data.rstrip(b"\n")), outgoing.delivery)
            assert self.process.stdin is not None
            self.process.stdin.write(outgoing.data)
            self.process.stdin.flush()
        self.bodies += [report.body for report in step.reports]

    def _keep(self, direction: str, message: Any, delivery: str | None = None) -> None:
        seconds = round(time.monotonic() - self._started_s, 3)
        told = {} if delivery is None else {"delivery": delivery}
        self._lines.append({"t": seconds, "dir": direction, "phase": self.phase, **told, "msg": message})


class Recorder:
    """Opens processes one after the other, whose lines become one recording."""

    def __init__(self, ready: ReadyTarget, harness: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self.home = ready.arena.home
        self._ready = ready
        self._harness = harness
        self._started_s = time.monotonic()

    @contextmanager
    def wire(self) -> Generator[Wire]:
        """A process, which is ended with the block."""
        wire = Wire(self._ready, self._harness, self.lines, self._started_s)
        try:
            yield wire
        finally:
            if not wire.is_over:
                wire.close()


def record(harness: str, walk: str, ready: ReadyTarget) -> None:
    """Walk a harness through one conversation and keep its lines."""
    recorder = Recorder(ready, harness)
    WALKS[walk](recorder, _approvals(harness))
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in recorder.lines)
    text = text.replace(str(ready.arena.root).replace("/", "-"), "-demo")  # as some name their folders
    text = text.replace(str(ready.arena.root), "/demo").replace(str(ready.installed.folder), "/opt/bin")
    text = text.replace(str(Path.home()), "/home/operator").replace(f":{ready.arena.model.port}", ":8099")
    folder = Path(inspan.harnesses.__file__).parent / harness / "recordings" / "stream"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{walk}.jsonl").write_text(text, encoding="utf-8")
    print(f"{harness}: {walk}, {len(recorder.lines)} lines", flush=True)


def main() -> None:
    """Parse the arguments and record."""
    parser = argparse.ArgumentParser(prog="record-stream")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("walks", nargs="*", metavar="WALK", help=f"all without it: {', '.join(WALKS)}")
    arguments = parser.parse_args()
    failed = False
    with open_namespace() as namespace:
        for walk in arguments.walks or list(WALKS):
            with open_target(TARGETS[arguments.target], namespace) as ready:
                try:
                    record(arguments.target, walk, ready)
                except (AssertionError, EOFError) as error:
                    failed = True
                    print(f"{walk}: {error}", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


def _as_message(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line.decode("utf-8", "replace")


def _approvals(harness: str) -> Approvals:
    return Approvals.BYPASS if harness == "pi" else Approvals.ASK


def _is_word(body: ReportBody) -> bool:
    return isinstance(body, MessageChunk) and body.role == "agent"


def _is_answered(body: ReportBody) -> bool:
    return isinstance(body, PromptAnswered)


def _is_asked(body: ReportBody) -> bool:
    return isinstance(body, PermissionRequested)


def _walk_tools(recorder: Recorder, approvals: Approvals) -> None:
    with recorder.wire() as wire:
        wire.open("fresh", approvals)
        wire.prompt("plain", "PLAIN please")
        wire.prompt("think", "THINK please")
        wire.prompt("tool-allow", "TOOLSHELL [escalate=1] [cmd=echo one > one.txt]")
        wire.prompt(
            "tool-deny", "TOOLSHELL [escalate=1] [cmd=echo two > two.txt]", answer=(OptionKind.REJECT_ONCE,)
        )
        wire.prompt(
            "tool-always",
            "TOOLSHELL [escalate=1] [cmd=echo four > four.txt]",
            answer=(OptionKind.ALLOW_ALWAYS,),
        )


def _walk_writes(recorder: Recorder, approvals: Approvals) -> None:
    with recorder.wire() as wire:
        wire.open("fresh", approvals)
        wire.prompt("write-allow", "TOOLWRITE [path=one.txt]")
        wire.prompt("write-deny", "TOOLWRITE [path=two.txt]", answer=(OptionKind.REJECT_ONCE,))


def _walk_cancel(recorder: Recorder, approvals: Approvals) -> None:
    with recorder.wire() as wire:
        wire.open("fresh", approvals)
        wire.begin("cancel", "SLOW [words=100] [interval=0.2]")
        wire.wait_for(_is_word)
        wire.cancel()
        wire.wait_for(_is_answered)
        wire.prompt("after-cancel", "PLAIN please")
        wire.begin("cancel-at-once", "SLOW [words=100] [interval=0.2]")
        wire.cancel()
        wire.wait_for(_is_answered)
        if approvals is Approvals.ASK:
            wire.begin("cancel-asked", "TOOLSHELL [escalate=1] [cmd=echo two > two.txt]")
            asked = wire.wait_for(_is_asked)
            assert isinstance(asked, PermissionRequested)
            wire.answer_as_cancelled(asked.wire_id)
            wire.cancel()
            wire.wait_for(_is_answered)
        wire.prompt("after-all", "PLAIN again")


def _walk_failures(recorder: Recorder, approvals: Approvals) -> None:
    with recorder.wire() as wire:
        wire.open("fresh", approvals)
        wire.prompt("plain", "PLAIN please")
        wire.prompt("quota", "QUOTA please")
        wire.prompt("authfail", "AUTHFAIL please")
        wire.prompt("after-error", "PLAIN again")


def _walk_resume(recorder: Recorder, approvals: Approvals) -> None:
    with recorder.wire() as wire:
        wire.open("fresh", approvals)
        wire.prompt("plain", "the word is heron")
        wire.begin("kill", "HANG please")
        wire.wait_for(_is_word)
        wire.close(kill=True)
        session = wire.session
    with recorder.wire() as wire:
        wire.open("resume", approvals, session)
        wire.prompt("recall", "RECALL please")


def _walk_fork(recorder: Recorder, approvals: Approvals) -> None:
    with recorder.wire() as wire:
        wire.open("fresh", approvals)
        wire.prompt("plain", "the word is heron")
        session = wire.session
    with recorder.wire() as wire:
        wire.open("fork", approvals, session)
        wire.prompt("recall", "RECALL please")


def _walk_missing(recorder: Recorder, approvals: Approvals) -> None:
    with recorder.wire() as wire:
        try:
            wire.open("resume", approvals, MISSING_SESSION)
        except EOFError as error:
            print(error, file=sys.stderr)


def _walk_asked(recorder: Recorder, approvals: Approvals) -> None:
    pi.write_gate(recorder.home)
    with recorder.wire() as wire:
        wire.open("fresh", approvals)
        wire.prompt("confirm-yes", "TOOLSHELL [cmd=echo one > one.txt]")
        wire.prompt("confirm-no", "TOOLSHELL [cmd=echo two > two.txt]", answer=(OptionKind.REJECT_ONCE,))
        wire.prompt("select", "TOOLSHELL [cmd=echo chosen > three.txt]", answer=(OptionKind.OTHER,))
        wire.prompt("nobody", "TOOLSHELL [cmd=echo four > four.txt]", answer=())
        wire.prompt("typed", "TOOLSHELL [cmd=echo typed > five.txt]")
        wire.begin("cancel-asked", "TOOLSHELL [cmd=echo six > six.txt]")
        asked = wire.wait_for(_is_asked)
        assert isinstance(asked, PermissionRequested)
        wire.answer_as_cancelled(asked.wire_id)
        wire.cancel()
        wire.wait_for(_is_answered)


def _walk_bypass(recorder: Recorder, _approvals: Approvals) -> None:
    with recorder.wire() as wire:
        wire.open("fresh", Approvals.BYPASS)
        wire.prompt("tool-unasked", "TOOLSHELL [escalate=1] [cmd=echo one > one.txt]")


WALKS: dict[str, Callable[[Recorder, Approvals], None]] = {
    "tools": _walk_tools,
    "writes": _walk_writes,
    "cancel": _walk_cancel,
    "failures": _walk_failures,
    "resume": _walk_resume,
    "fork": _walk_fork,
    "missing": _walk_missing,
    "bypass": _walk_bypass,
    "asked": _walk_asked,
}


if __name__ == "__main__":
    main()
