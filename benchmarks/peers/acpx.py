"""`acpx`: a client of agents for the command line. It runs an agent, and prints what it says as JSON lines."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.received import Received

from .installing import installed

__all__ = ["burst"]

_DEADLINE_S = 120.0


async def burst(folder: Path, program: Path, count: int) -> Received:
    """One prompt to a fresh agent, with nothing saved, read from standard output as it comes.

    Args:
        folder: A throwaway home.
        program: The agent.
        count: How many updates the agent is asked for.
    """
    place = installed("acpx")
    received = Received()
    words = ["--agent", str(program), "--cwd", str(folder), "--format", "json", "--json-strict"]
    process = await asyncio.create_subprocess_exec(
        str(place / "node_modules" / ".bin" / "acpx"),
        *words,
        "exec",
        f"burst {count}",
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
        env={"PATH": f"{place / 'node_modules' / '.bin'}:/usr/bin:/bin", "HOME": str(folder)},
        cwd=folder,
        start_new_session=True,
        limit=1 << 20,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_DEADLINE_S):
            while piece := await process.stdout.read(1 << 20):
                received.feed(piece)
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return received
