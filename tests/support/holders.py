"""Launches for tests: real holders with scripted harnesses, and proof that nothing of them stays."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from inspan.holder import (
    HolderConnection,
    HolderIdentity,
    HolderSpec,
    LaunchDisk,
    connect_holder,
    start_holder,
    start_time,
    stop_orphans,
)
from inspan.holder.program.processes import carries_launch, process_table

NONCE = "nonce-of-this-launch"
DEADLINE_S = 20.0

ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line); sys.stdout.buffer.flush()\n"
"""Writes every line that it reads."""

COUNTER = (
    "import sys\nfor number, line in enumerate(sys.stdin, 1):\n    print(number, line.rstrip(), flush=True)\n"
)
"""Numbers the lines that it reads."""

STUBBORN = (
    "import os, signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n"
    "    print('grandchild', os.getpid(), flush=True)\n"
    "    while True: time.sleep(60)\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    print('stray', os.getpid(), flush=True)\n"
    "    while True: time.sleep(60)\n"
    "while True: time.sleep(60)\n"
)
"""Ignores the end of its input and SIGTERM, and so do its children, in its group and out of it."""


def scenario(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in an event loop of its own, with a deadline."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def within() -> None:
            async with asyncio.timeout(60):
                await test(*args, **kwargs)

        asyncio.run(within())

    return run


async def until(condition: Callable[[], Any], what: str) -> Any:
    """The first true result of `condition`, asked again until a deadline."""
    end = time.monotonic() + DEADLINE_S
    while not (result := condition()):
        assert time.monotonic() < end, f"in vain: {what}"
        await asyncio.sleep(0.01)
    return result


def script(text: str) -> tuple[str, ...]:
    """The argv of a harness that is this Python program."""
    return (sys.executable, "-I", "-S", "-c", text)


class Launches:
    """The launches of one test, in a short folder of their own."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="isp-"))
        self.specs: list[HolderSpec] = []

    def spec(self, *argv: str, **changes: Any) -> HolderSpec:
        """A spec with defaults; it is remembered, so that its launch is stopped at the end."""
        name = f"launch-{len(self.specs)}-{os.getpid()}"
        directory = self.root / name
        values: dict[str, Any] = {
            "launch": name,
            "nonce": NONCE,
            "argv": argv,
            "env": {"PATH": os.defpath},
            "cwd": self.root,
            "directory": directory,
            "socket": directory / "s",
            **changes,
        }
        spec = HolderSpec(**values)
        self.specs.append(spec)
        return spec

    async def start(self, *argv: str, **changes: Any) -> HolderSpec:
        """Start a launch."""
        spec = self.spec(*argv, **changes)
        await start_holder(spec)
        return spec

    async def stop_all(self) -> None:
        """Stop every launch, and prove that no process and no socket of it is left."""
        for spec in self.specs:
            disk = LaunchDisk(spec.directory)
            identity = disk.identity()
            if identity is None:
                continue
            if not disk.is_holder_dead():
                os.kill(identity.holder.pid, signal.SIGCONT)
                os.kill(identity.holder.pid, signal.SIGTERM)
                await until(disk.is_holder_dead, f"the holder of {spec.launch} ends")
            await stop_orphans(spec.directory)
        for spec in self.specs:
            assert members(spec) == []
            assert not spec.socket.exists()
            assert not list(spec.directory.glob("*.new"))
        shutil.rmtree(self.root)


def identity_of(spec: HolderSpec) -> HolderIdentity:
    """Who holds a launch that was started."""
    identity = LaunchDisk(spec.directory).identity()
    assert identity is not None
    return identity


def members(spec: HolderSpec) -> list[int]:
    """The pids of all processes that the launch has started, wherever they went."""
    return [
        row.pid
        for row in process_table().values()
        if not row.is_gone and carries_launch(row.pid, spec.launch)
    ]


async def connect(spec: HolderSpec, **changes: Any) -> HolderConnection:
    """Become the owner of a launch."""
    values: dict[str, Any] = {"nonce": spec.nonce, **changes}
    return await connect_holder(spec.directory, **values)


def pss_kib(pid: int) -> int:
    """The memory of a process, what it shares counted in proportion (Linux)."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))


def kill_holder(spec: HolderSpec) -> None:
    """Kill a holder, for real."""
    identity = identity_of(spec)
    assert start_time(identity.holder.pid) == identity.holder.start_time
    os.kill(identity.holder.pid, signal.SIGKILL)


class Output:
    """What a connection has received, checked to be without a gap."""

    def __init__(self, from_offset: int = 0) -> None:
        self.start = from_offset
        self.data = bytearray()

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    def take(self, offset: int, data: bytes) -> None:
        assert offset == self.end
        assert data
        self.data += data
