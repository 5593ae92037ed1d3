"""Record one-shot runs of a real harness: `python -m support.live.record_headless TARGET [CASE...]`, as root.

Runs the harness as its manifest says, once for each case, against the scripted model, and writes `CASE.out`,
`CASE.err` and a line of `summary.txt` into its folder's `recordings/headless`. Throwaway paths are written as
`/demo`. A run that is over its time is stopped by SIGTERM and counts as 124. `tests/` must be on the path.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import inspan.harnesses
from inspan.conformance.headless_replay import SUMMARY_FILE, replay_headless
from inspan.model.manifest import Manifest
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Approvals, Posture
from inspan.model.session import Provenance, SessionReference
from inspan.plugin.manifest_file import load_manifest
from inspan.plugin.planning import build_plan
from inspan.plugin.programs import FoundProgram
from support.live import cline, copilot, hermes, kimi, openclaw, vibe
from support.live.netns import Namespace, open_namespace
from support.live.target import ReadyTarget, Target, open_target

__all__ = ["CASES", "TARGETS", "Case", "record"]

TARGETS: dict[str, Target] = {
    target.pin: target
    for target in (cline.TARGET, copilot.TARGET, hermes.TARGET, kimi.TARGET, openclaw.TARGET, vibe.TARGET)
}
MISSING_SESSION = "00000000-0000-4000-8000-000000000000"

_TIMEOUT_S = 60.0
_GRACE_S = 10.0
_STOPPED = 124


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One run: its prompt, its posture, the session that it resumes, and how long it may take.

    `resumes` is the session's id, or empty for the session of the run before.
    """

    prompt: str
    approvals: Approvals = Approvals.BYPASS
    resumes: str | None = None
    timeout_s: float = _TIMEOUT_S
    is_set_up: bool = True


CASES: dict[str, Case] = {
    "plain": Case(prompt="PLAIN please"),
    "resume": Case(prompt="RECALL please", resumes=""),
    "resume-missing": Case(prompt="PLAIN again", resumes=MISSING_SESSION),
    "think": Case(prompt="THINK please"),
    "tool": Case(prompt="TOOLSHELL [cmd=echo asked > asked.txt]", approvals=Approvals.ASK),
    "tool-edits": Case(prompt="TOOLWRITE [path=edited.txt]", approvals=Approvals.EDITS),
    "tool-bypass": Case(prompt="TOOLSHELL [cmd=echo unasked > unasked.txt]"),
    "write-bypass": Case(prompt="TOOLWRITE [path=written.txt]"),
    "quota": Case(prompt="QUOTA please", timeout_s=40.0),
    "authfail": Case(prompt="AUTHFAIL please", timeout_s=180.0),
    "hang": Case(prompt="HANG please", timeout_s=25.0),
    "stopped": Case(prompt="SLOW [words=600] [interval=0.2]", timeout_s=6.0),
    "noauth": Case(prompt="PLAIN please", is_set_up=False),
}


def record(name: str, cases: list[str], namespace: Namespace) -> None:
    """Run the cases of `name` in their order and write what came."""
    folder = Path(inspan.harnesses.__file__).parent / name
    manifest = load_manifest(folder)
    offered = {rule.approvals for rule in manifest.modes["headless"].postures}
    place = folder / "recordings" / "headless"
    place.mkdir(parents=True, exist_ok=True)
    target = TARGETS[name]
    with open_target(target, namespace) as ready:
        session = ""
        for key in cases:
            case = CASES[key]
            if case.approvals not in offered or not case.is_set_up:
                continue
            if case.resumes == "":
                case = replace(case, resumes=session)
            found = _record_run(ready, manifest, key, case, place)
            session = found or session
    if "noauth" in cases:
        with open_target(replace(target, write_settings=_write_nothing), namespace) as ready:
            ready.arena.environment.pop("OPENAI_API_KEY", None)
            _record_run(ready, manifest, "noauth", CASES["noauth"], place)


def main() -> None:
    """Parse the arguments and record."""
    parser = argparse.ArgumentParser(prog="record-headless")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"all without it: {', '.join(CASES)}")
    arguments = parser.parse_args()
    with open_namespace() as namespace:
        record(arguments.target, arguments.cases or list(CASES), namespace)


def _write_nothing(home: Path, model_url: str) -> None:
    """A home where nobody has set up anything."""


def _record_run(ready: ReadyTarget, manifest: Manifest, key: str, case: Case, place: Path) -> str:
    """Run one case, keep what it said, and return the session's id where it can be found."""
    workspace = str(ready.arena.workspace)
    request = LaunchRequest(
        seat="recorder",
        harness=manifest.id,
        mode="headless",
        attempt="fresh" if case.resumes is None else "resume",
        workspace=workspace,
        posture=Posture(approvals=case.approvals),
        reference=_reference(manifest, case.resumes, workspace) if case.resumes is not None else None,
    )
    program = FoundProgram(path=str(ready.installed.program))
    plan = build_plan(manifest, request, program=program, present=ready.arena.environment.keys())
    environment = ready.arena.environment | plan.environment
    started_s = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            ready.arena.namespace.argv([plan.program, *plan.arguments]),
            env=environment,
            cwd=workspace,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(case.prompt.encode())
        process.stdin.close()
        status = _wait(process, case.timeout_s)
        texts = [_read(file, ready) for file in (out, err)]
    seconds = time.monotonic() - started_s
    for suffix, text in zip((".out", ".err"), texts, strict=True):
        (place / f"{key}{suffix}").write_text(text, encoding="utf-8")
    shown = _neutral(" ".join([ready.installed.program.name, *_own_arguments(plan, program)]), ready)
    sizes = f"out={len(texts[0])} err={len(texts[1])}"
    line = f"{manifest.id:10} {key:14} rc={status} {seconds:.1f}s {sizes} | {shown} < {case.prompt}"
    _note(place / SUMMARY_FILE, key, line)
    print(line, flush=True)
    found = replay_headless(place / f"{key}.out", manifest.modes["headless"]).sessions
    return found[0] if found else ""


def _own_arguments(plan: LaunchPlan, program: FoundProgram) -> list[str]:
    """The harness's own arguments, without the shell that waits for the prompt of some."""
    argv = [plan.program, *plan.arguments]
    return argv[argv.index(program.path) + 1 :]


def _reference(manifest: Manifest, session: str, workspace: str) -> SessionReference:
    return SessionReference(
        harness=manifest.id,
        resume_type=manifest.session.resume_type,
        id=session,
        workspace=workspace,
        posture=Posture(),
        provenance=Provenance.REPORTED,
    )


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    try:
        return process.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        print("it ignores SIGTERM", file=sys.stderr)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    _await_group(process.pid)
    return _STOPPED


def _await_group(group: int) -> None:
    """Waits for what the process started: it may have the last word."""
    until_s = time.monotonic() + _GRACE_S
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < until_s:
            os.killpg(group, 0)
            time.sleep(0.05)


def _read(file: IO[bytes], ready: ReadyTarget) -> str:
    file.seek(0)
    return _neutral(file.read().decode("utf-8", "replace"), ready)


def _neutral(text: str, ready: ReadyTarget) -> str:
    """The text without what is this machine's alone; where a name is replaced, the other columns may move."""
    text = text.replace(str(ready.installed.folder), "/opt/bin").replace(str(ready.arena.root), "/demo")
    text = text.replace(str(ready.installed.folder.parent), "/opt/lib/node_modules")
    text = text.replace(str(Path(sys.executable).parent), "/usr/bin")
    return text.replace(f":{ready.arena.model.port}", ":8099")


def _note(summary: Path, key: str, line: str) -> None:
    """Put the line of one run into the summary, in place of an earlier one."""
    lines = summary.read_text(encoding="utf-8").splitlines() if summary.exists() else []
    kept = [one for one in lines if key not in one.partition("|")[0].split()]
    summary.write_text("\n".join([*kept, line]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
