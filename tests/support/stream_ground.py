"""A ground for seats that speak records of their own: a real log, real holders, and the scripted harness of a dialect."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

import inspan.harnesses
from inspan.model.errors import UsageError
from inspan.model.manifest import Manifest, ModeManifest, PostureRule
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Approvals
from inspan.model.turn import CallError
from inspan.plugin.diagnosing import diagnose
from inspan.plugin.manifest_file import load_manifest
from inspan.plugin.planning import build_plan
from inspan.plugin.programs import FoundProgram

from .seat_ground import Ground, ScriptedHarnesses
from .seat_scene import ALL

__all__ = ["DIALECTS", "StreamGround", "mode_of", "open_stream_ground"]

DIALECTS = {"rpc": "codex", "command": "pi", "control": "claude-code"}
"""The harness whose rules a dialect is read by."""

_PROGRAM = Path(__file__).with_name("scripted_stream.py")
_ARGUMENTS = {"fresh": "--named", "resume": "--resume", "fork": "--fork"}


def mode_of(dialect: str) -> ModeManifest:
    """The mode by which a dialect is read: the real one of a harness."""
    return load_manifest(Path(inspan.harnesses.__file__).parent / DIALECTS[dialect]).modes["stream"]


class StreamHarnesses(ScriptedHarnesses):
    """A host that knows one harness, which speaks a dialect."""

    def __init__(self, state: Path, dialect: str) -> None:
        super().__init__(state, ALL)
        self.dialect = dialect
        real = load_manifest(Path(inspan.harnesses.__file__).parent / DIALECTS[dialect])
        mode = msgspec.structs.replace(real.modes["stream"], handshake_timeout_s=20.0, stop_grace_s=2.0)
        if not any(rule.approvals is Approvals.ASK for rule in mode.postures):
            # What is asked is to be left to a person, by a harness too that itself asks nothing.
            mode = msgspec.structs.replace(mode, postures=(PostureRule(approvals=Approvals.ASK),))
        self._real = msgspec.structs.replace(
            real, id="made-up", modes={"stream": mode}, default_mode="stream", sign_in=type(real.sign_in)()
        )

    def manifest(self, harness: str) -> Manifest:
        if harness != "made-up":
            raise UsageError("There is no such harness.", code="unknown_harness")
        return self._real

    async def classify_error(self, harness: str, mode: str, error: CallError) -> CallError:
        return diagnose(error, self._real.modes["stream"].diagnoses)

    async def plan(self, request: LaunchRequest) -> LaunchPlan:
        if self.refusal is not None:
            raise self.refusal
        found = FoundProgram(path=sys.executable)
        plan = build_plan(self._real, request, program=found, present=frozenset())
        session = plan.settings.session_id
        told = () if session is None or self.dialect == "rpc" else (_ARGUMENTS[request.attempt], session)
        arguments = (str(_PROGRAM), self.dialect, str(self.state), *told)
        settings = msgspec.structs.replace(plan.settings, frame_cap_bytes=1_000_000)
        return msgspec.structs.replace(plan, arguments=arguments, environment={}, settings=settings)


class StreamGround(Ground):
    """A home whose seats speak a dialect."""

    def __init__(self, path: Path, dialect: str) -> None:
        super().__init__(path, ALL)
        self.dialect = dialect
        self.harnesses = StreamHarnesses(self.state, dialect)

    def ran(self) -> list[dict[str, Any]]:
        """What the harness ran, having asked."""
        path = self.state / "ran.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@asynccontextmanager
async def open_stream_ground(dialect: str) -> AsyncGenerator[StreamGround]:
    """A fresh ground; every harness that was started on it is stopped at the end."""
    path = Path(tempfile.mkdtemp(prefix="isp-"))
    ground = StreamGround(path, dialect)
    try:
        yield ground
    finally:
        async with ground.seats() as seats:
            for seat in await seats.list_seats():
                await seats.remove_seat(seat.name, stop=True)
        shutil.rmtree(path, ignore_errors=True)
