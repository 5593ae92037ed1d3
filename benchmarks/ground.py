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

from inspan.client.client import Client
from inspan.client.connecting import connect
from inspan.holder import LaunchDisk
from inspan.home import Home

from . import fake_agent
from .received import Received

__all__ = ["HARNESS", "Ground", "open_ground", "throwaway_folder", "write_agent_program"]

HARNESS = "fake-agent"
DEADLINE_S = 120.0

_MANIFEST = f"""\
schema = 1
id = "{HARNESS}"
name = "Fake agent"
scripted = true
default_mode = "acp"

[maintainer]
name = "benchmarks"

[program]
names = ["{HARNESS}"]

[session]
resume_type = "fake.session.v1"

[modes.acp]
transport = "acp"
inactivity_limit_s = 3600.0

[[modes.acp.postures]]
approvals = "ask"
"""


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
                while not (await self.client.get_seat(name)).session.open:
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
    async def watching(self, received: Received) -> AsyncGenerator[Callable[[int], None]]:
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
async def open_ground(parent: Path | None = None) -> AsyncGenerator[Ground]:
    """A daemon inside the block; afterwards it and its harnesses are gone, and so is its home.

    Args:
        parent: Where its home is made; in the folder for temporary files where it is `None`.
    """
    with throwaway_folder(parent) as folder:
        home = Home(folder / "home")
        manifest = home.harnesses / HARNESS / "manifest.toml"
        manifest.parent.mkdir(parents=True)
        manifest.write_text(_MANIFEST, encoding="utf-8")
        home.path.chmod(0o700)
        workspace = folder / "w"
        workspace.mkdir()
        program = write_agent_program(folder / "bin")
        environment = {
            "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(folder),
            # So that a checkout can be measured with the environment of another.
            **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
        }
        daemon = subprocess.Popen(  # noqa: ASYNC220 - it is started once, and its readiness is waited for
            [sys.executable, "-P", "-m", "inspan.daemon", "--home", str(home.path)],
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


def write_agent_program(folder: Path, name: str = HARNESS) -> Path:
    """Writes a program that is the fake agent, and gives its path."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -I -S "{fake_agent.__file__}"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    return program
