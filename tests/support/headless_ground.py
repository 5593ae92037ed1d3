"""A ground for one-shot seats: a real log, real holders, and the scripted harness of one-shot runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from inspan.model.manifest import Maintainer, Manifest, ModeManifest, PostureRule, Program, SessionIdentity
from inspan.model.plan import LaunchPlan, LaunchRequest, TransportSettings
from inspan.model.posture import Approvals

from .headless_rules import RULES
from .seat_ground import Ground, ScriptedHarnesses
from .seat_scene import ALL

__all__ = ["open_headless_ground"]

_PROGRAM = Path(__file__).with_name("scripted_headless.py")


class HeadlessHarnesses(ScriptedHarnesses):
    """A host that knows one harness, which is run once for each prompt."""

    def manifest(self, harness: str) -> Manifest:
        super().manifest(harness)
        return Manifest(
            schema=1,
            id="made-up",
            name="Made Up",
            maintainer=Maintainer(name="tests"),
            program=Program(names=("python3",)),
            session=SessionIdentity(resume_type="made-up.session"),
            modes={
                "headless": ModeManifest(
                    transport="headless",
                    capabilities=ALL,
                    postures=(PostureRule(approvals=Approvals.ASK),),
                    headless=RULES,
                )
            },
            default_mode="headless",
        )

    async def plan(self, request: LaunchRequest) -> LaunchPlan:
        if self.refusal is not None:
            raise self.refusal
        reference = request.reference
        session = () if reference is None else (reference.id,)
        return LaunchPlan(
            program=self.program,
            arguments=(str(_PROGRAM), str(self.state), *session),
            cwd=request.workspace,
            transport="headless",
            settings=TransportSettings(
                workspace=request.workspace,
                attempt=request.attempt,
                session_id=None if reference is None else reference.id,
                headless=RULES,
            ),
            handshake_timeout_s=20,
            stop_grace_s=2,
        )


@asynccontextmanager
async def open_headless_ground() -> AsyncGenerator[Ground]:
    """A fresh ground; every harness that was started on it is stopped at the end."""
    path = Path(tempfile.mkdtemp(prefix="isp-"))
    ground = Ground(path, ALL)
    ground.harnesses = HeadlessHarnesses(ground.state, ALL)
    try:
        yield ground
    finally:
        async with ground.seats() as seats:
            for seat in await seats.list_seats():
                await seats.remove_seat(seat.name, stop=True)
        shutil.rmtree(path, ignore_errors=True)
