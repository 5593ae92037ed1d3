"""A ground for whole seats: a real log, real holders, and the scripted ACP harness, without a daemon."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil

from inspan.model.capability import Capabilities
from inspan.model.errors import UsageError
from inspan.model.manifest import (
    AcpSettings,
    Maintainer,
    Manifest,
    ModeManifest,
    PostureRule,
    Program,
    SessionIdentity,
)
from inspan.model.plan import LaunchPlan, LaunchRequest, ProbeResult, Problem, TransportSettings
from inspan.model.posture import Approvals, Posture
from inspan.model.session import Provenance
from inspan.model.turn import CallError
from inspan.model.views import AddSeat, HarnessView, SeatView, SendPrompt
from inspan.seats.core import Seats, open_seats
from inspan.store import open_store

from .seat_scene import ALL

__all__ = ["Ground", "finished", "is_gone", "open_ground", "until", "until_empty"]

_AGENT = Path(__file__).with_name("scripted_acp.py")


class ScriptedHarnesses:
    """A host that knows one harness."""

    def __init__(self, state: Path, capabilities: Capabilities) -> None:
        self.state = state
        self.program = sys.executable
        self.agent = _AGENT
        self.acp = AcpSettings()
        self.handshake_timeout_s = 20.0
        self.refusal: Exception | None = None
        self._manifest = Manifest(
            schema=1,
            id="made-up",
            name="Made Up",
            maintainer=Maintainer(name="tests"),
            program=Program(names=("python3",)),
            session=SessionIdentity(resume_type="made-up.session"),
            modes={
                "acp": ModeManifest(
                    transport="acp",
                    capabilities=capabilities,
                    postures=(PostureRule(approvals=Approvals.ASK),),
                )
            },
            default_mode="acp",
            scripted=True,
        )

    @property
    def registry(self) -> ScriptedHarnesses:
        return self

    def manifest(self, harness: str) -> Manifest:
        if harness != "made-up":
            raise UsageError("There is no such harness.", code="unknown_harness")
        return self._manifest

    def change(self, **keys: Any) -> None:
        """Changes keys of the manifest."""
        self._manifest = msgspec.structs.replace(self._manifest, **keys)

    def views(self) -> Sequence[HarnessView]:
        return []

    def view(self, harness: str) -> HarnessView:
        raise NotImplementedError

    async def probe(self, harness: str) -> ProbeResult:
        return ProbeResult(harness=harness, installed="yes")

    async def classify_error(self, harness: str, mode: str, error: CallError) -> CallError:
        return error

    async def preflight(self, request: LaunchRequest) -> Sequence[Problem]:
        return ()

    async def plan(self, request: LaunchRequest) -> LaunchPlan:
        if self.refusal is not None:
            raise self.refusal
        reference = request.reference
        is_chosen = (
            reference is not None
            and request.attempt == "resume"
            and reference.provenance is Provenance.CHOSEN
        )
        return LaunchPlan(
            program=self.program,
            arguments=(str(self.agent), str(self.state)),
            cwd=request.workspace,
            settings=TransportSettings(
                workspace=request.workspace,
                attempt=request.attempt,
                session_id=None if reference is None else reference.id,
                acp=self.acp,
                listed_in=(request.workspace,) if is_chosen else (),
                answers_questions=True,
            ),
            handshake_timeout_s=self.handshake_timeout_s,
            stop_grace_s=2,
        )


class Ground:
    """A home with its service, which can be closed and opened again."""

    def __init__(self, path: Path, capabilities: Capabilities) -> None:
        self.path = path
        self.workspace = path / "w"
        self.state = path / "s"
        self.launches = path / "l"
        for folder in (self.workspace, self.state, self.launches):
            folder.mkdir(mode=0o700)
        self.harnesses = ScriptedHarnesses(self.state, capabilities)

    @asynccontextmanager
    async def seats(self) -> AsyncGenerator[Seats]:
        async with (
            open_store(self.path / "log.db") as store,
            open_seats(store=store, host=self.harnesses, home=self, environ=dict(os.environ)) as seats,
        ):
            yield seats

    async def add(self, seats: Seats, name: str = "worker", posture: Posture | None = None) -> SeatView:
        request = AddSeat(name=name, harness="made-up", workspace=str(self.workspace), posture=posture)
        return await seats.add_seat(request)

    def prompts(self) -> list[str]:
        """The texts of all prompts that reached the harness, in order."""
        path = self.state / "prompts.jsonl"
        if not path.exists():
            return []
        return [json.loads(line)["text"] for line in path.read_text().splitlines()]


@asynccontextmanager
async def open_ground(capabilities: Capabilities = ALL) -> AsyncGenerator[Ground]:
    """A fresh ground; every harness that was started on it is stopped at the end."""
    path = Path(tempfile.mkdtemp(prefix="isp-"))
    ground = Ground(path, capabilities)
    try:
        yield ground
    finally:
        async with ground.seats() as seats:
            for seat in await seats.list_seats():
                await seats.remove_seat(seat.name, stop=True)
        shutil.rmtree(path, ignore_errors=True)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, even if nobody has reaped it."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until_empty(folder: Path, timeout_s: float = 20) -> None:
    """Returns once nothing is left in a folder."""
    async with asyncio.timeout(timeout_s):
        while list(folder.iterdir()):  # noqa: ASYNC110, ASYNC240 - a folder sets no event
            await asyncio.sleep(0.01)


async def until(
    seats: Seats, name: str, holds: Callable[[SeatView], bool], timeout_s: float = 20
) -> SeatView:
    """The seat's view, once it is as wanted."""
    view = await seats.get_seat(name)
    try:
        async with asyncio.timeout(timeout_s):
            while not holds(view):
                await asyncio.sleep(0.01)
                view = await seats.get_seat(name)
    except TimeoutError:
        raise AssertionError(f"the seat stays {view.status}: {view}") from None
    return view


async def finished(seats: Seats, name: str, text: str, delivery: str | None = None) -> SeatView:
    """Sends a prompt and returns the seat's view once its turn has ended."""
    sent = await seats.send_prompt(name, SendPrompt(text=text, id=delivery))
    return await until(seats, name, lambda v: v.last_turn is not None and v.last_turn.delivery == sent.id)
