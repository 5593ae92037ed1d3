"""The ground for Inspan: a daemon of its own in a throwaway home, with the fake agent as its only new harness."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import msgspec

from inspan.client.client import Client
from inspan.client.connecting import connect
from inspan.holder import LaunchDisk
from inspan.home import Home
from inspan.model.views import SeatView

from . import fake_agent, fake_console, observed_daemon
from .received import Received
from .state_changes import StateChanges

__all__ = [
    "AGENT",
    "CONSOLE",
    "HARNESS",
    "Ground",
    "Play",
    "open_ground",
    "throwaway_folder",
    "write_agent_program",
]

HARNESS = "fake-agent"
DEADLINE_S = 120.0

_MANIFEST = f"""\
schema = 1
id = "{HARNESS}"
name = "Fake agent"
scripted = true

[maintainer]
name = "benchmarks"

[program]
names = ["{HARNESS}"]

[session]
resume_type = "fake.session.v1"
"""
_ACP = """
[modes.acp]
transport = "acp"
inactivity_limit_s = 3600.0

[[modes.acp.postures]]
approvals = "ask"
"""
_TERMINAL = """
[modes.terminal]
transport = "terminal"
inactivity_limit_s = 3600.0
handshake_timeout_s = 3600.0

[[modes.terminal.postures]]
approvals = "ask"

[modes.terminal.terminal]
rules_file = "rules.toml"
columns = 200
rows = 50
"""
_RULES = r"""
schema = 1
source = "fake_console.py"
verified = "2026-11-30"

[[rules]]
name = "asking"
report = "needs_input"
kind = "question"
priority = 900
region = { of = "last_rows", rows = 2 }
all = ['^\? asking n=']

[[rules]]
name = "working"
report = "running"
priority = 500
region = { of = "last_rows", rows = 2 }
all = ['^\* working n=']
"""


class Play(msgspec.Struct, frozen=True, kw_only=True):
    """What the one harness of a ground is.

    Attributes:
        mode: How it is driven.
        manifest: Its manifest, without what all have.
        program: The file that is it.
        rules: The rules of its console.
    """

    mode: str
    manifest: str
    program: str
    rules: str = ""


AGENT = Play(mode="acp", manifest=_ACP, program=fake_agent.__file__)
CONSOLE = Play(mode="terminal", manifest=_TERMINAL, program=fake_console.__file__, rules=_RULES)


class Ground:
    """A daemon that serves.

    Attributes:
        home: Its home.
        workspace: A folder for harnesses to run in.
        pid: Its process.
        client: A client of it.
    """

    def __init__(self, home: Home, workspace: Path, pid: int, client: Client) -> None:
        self.home = home
        self.workspace = workspace
        self.pid = pid
        self.client = client

    async def open_seats(self, count: int, *, first: int = 0) -> list[str]:
        """Adds seats, starts their harnesses, and returns once every session is open."""
        names = [f"s{number}" for number in range(first, first + count)]
        for name in names:
            await self.client.add_seat(name, harness=HARNESS, workspace=str(self.workspace))
            await self.client.start_seat(name)
        async with asyncio.timeout(DEADLINE_S):
            for name in names:
                while not _is_open(await self.client.get_seat(name)):
                    await asyncio.sleep(0.02)
        return names

    def holder_pids(self) -> list[int]:
        """The holders of all launches."""
        found = (LaunchDisk(folder).identity() for folder in sorted(self.home.launches.iterdir()))
        return [identity.holder.pid for identity in found if identity is not None]

    def own_pids(self) -> list[int]:
        """The daemon and the holders: everything but the harnesses."""
        return [self.pid, *self.holder_pids()]

    @contextlib.asynccontextmanager
    async def watching(self, received: Received | StateChanges) -> AsyncGenerator[Callable[[int], None]]:
        """Reads the daemon's event stream into `received` inside the block, on a socket of its own.

        Gives a function that makes the block's end wait for so many updates; without it, it waits for none.
        """
        reader, writer = await asyncio.open_unix_connection(str(self.home.socket), limit=1 << 20)
        position = (await self.client.status()).last_position
        writer.write(f"GET /v1/events/stream?after={position} HTTP/1.1\r\nHost: inspan\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        wanted = 0

        def expect(count: int) -> None:
            nonlocal wanted
            wanted = count

        async def read() -> None:
            while piece := await reader.read(1 << 20):
                received.feed(piece)

        reading = asyncio.create_task(read())
        try:
            yield expect
            async with asyncio.timeout(DEADLINE_S):
                while received.total < wanted and not reading.done():
                    await asyncio.sleep(0.02)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def open_ground(
    parent: Path | None = None, *, play: Play = AGENT, tell_in: str = ""
) -> AsyncGenerator[Ground]:
    """A daemon inside the block; afterwards it and its harnesses are gone, and so is its home.

    Args:
        parent: Where its home is made; in the folder for temporary files where it is `None`.
        play: What its one harness is.
        tell_in: The name of a socket in its workspace that is told when a delivery is on record; nobody is without.
    """
    with throwaway_folder(parent) as folder:
        home = Home(folder / "home")
        manifest = home.harnesses / HARNESS / "manifest.toml"
        manifest.parent.mkdir(parents=True)
        manifest.write_text(f'default_mode = "{play.mode}"\n{_MANIFEST}{play.manifest}', encoding="utf-8")
        if play.rules:
            manifest.with_name("rules.toml").write_text(play.rules, encoding="utf-8")
        home.path.chmod(0o700)
        workspace = folder / "w"
        workspace.mkdir()
        program = write_agent_program(folder / "bin", source=play.program)
        environment = {
            "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(folder),
            # So that a checkout can be measured with the environment of another.
            **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
        }
        of_daemon = ["-m", "inspan.daemon", "--home", str(home.path)]
        if tell_in:
            of_daemon = [observed_daemon.__file__, *of_daemon[2:], str(workspace / tell_in)]
        daemon = subprocess.Popen(  # noqa: ASYNC220 - it is started once, and its readiness is waited for
            [sys.executable, "-P", *of_daemon],
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        try:
            assert daemon.stdout is not None
            ready = daemon.stdout.readline()
            if b'"ready": true' not in ready:
                raise RuntimeError(f"the daemon did not start: {ready.decode()}")
            async with connect(home, start=False) as client:
                try:
                    yield Ground(home, workspace, daemon.pid, client)
                finally:
                    await client.stop_daemon(harnesses=True)
            daemon.wait(timeout=DEADLINE_S)
        finally:
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
                daemon.wait(timeout=DEADLINE_S)
            daemon.stdout.close()  # pyright: ignore[reportOptionalMemberAccess]


@contextlib.contextmanager
def throwaway_folder(parent: Path | None = None) -> Generator[Path]:
    """A folder with a short path (sockets lie in it), removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="isp-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_agent_program(folder: Path, name: str = HARNESS, *, source: str = fake_agent.__file__) -> Path:
    """Writes a program that is the fake agent, or what else `source` is, and gives its path."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{source}"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def _is_open(seat: SeatView) -> bool:
    """Whether its session is open, or its console says what it does."""
    return seat.session.open or (seat.console is not None and seat.activity.value != "unknown")
