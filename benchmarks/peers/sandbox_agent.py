"""`sandbox-agent`: a server that runs agents, and tells what they say over server-sent events.

The agent that it calls `mock` is a file in its own data folder; ours stands in its place there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.received import Received

from .installing import installed

__all__ = ["Server", "serving"]

_DEADLINE_S = 120.0
_QUIET_S = 1.5
"""After the turn has ended, nothing for so long means that what is missing is lost."""


class Server:
    """A server that runs.

    Args:
        port: Its port on the loopback.
        client: Speaks to it.
    """

    def __init__(self, port: int, client: httpx.AsyncClient) -> None:
        self._port = port
        self._client = client

    async def burst(self, count: int) -> Received:
        """One agent says `count` updates at once; what a client of its stream gets of them."""
        return await self._collect({"a0": await self._open("a0")}, f"burst {count}", count)

    async def pace(self, sessions: int, rate: int, seconds: float) -> Received:
        """So many agents say `rate` updates a second; what one client with a stream for each gets of them."""
        opened = {f"a{number}": await self._open(f"a{number}") for number in range(sessions)}
        return await self._collect(opened, f"paced {rate} {seconds}", sessions * int(rate * seconds))

    async def _open(self, name: str) -> str:
        await self._call(
            name, 1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}}, agent="mock"
        )
        answer = await self._call(name, 2, "session/new", {"cwd": "/", "mcpServers": []})
        return answer["result"]["sessionId"]

    async def _call(
        self, name: str, number: int, method: str, params: dict[str, Any], *, agent: str | None = None
    ) -> Any:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        query = {} if agent is None else {"agent": agent}
        answer = await self._client.post(f"/v1/acp/{name}", json=message, params=query)
        answer.raise_for_status()
        return answer.json() if answer.content else {}

    async def _collect(self, opened: dict[str, str], text: str, wanted: int) -> Received:
        # One receiver a stream, since pieces of two streams must not be joined.
        parts = [Received() for _ in opened]
        async with contextlib.AsyncExitStack() as stack:
            for part, name in zip(parts, opened, strict=True):
                await stack.enter_async_context(self._reading(name, part))
            prompt = [{"type": "text", "text": text}]
            await asyncio.gather(
                *(
                    self._call(name, 3, "session/prompt", {"sessionId": session, "prompt": prompt})
                    for name, session in opened.items()
                )
            )
            before, quiet_s = -1, 0.0
            while (total := sum(part.total for part in parts)) < wanted and quiet_s < _QUIET_S:
                quiet_s = quiet_s + 0.05 if total == before else 0.0
                before = total
                await asyncio.sleep(0.05)
        return _joined(parts)

    @contextlib.asynccontextmanager
    async def _reading(self, name: str, received: Received) -> AsyncGenerator[None]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        writer.write(f"GET /v1/acp/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head.split(b"\r\n", 1)[0], head

        async def read() -> None:
            while piece := await reader.read(1 << 20):
                received.feed(piece)

        reading = asyncio.create_task(read())
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            writer.close()


@contextlib.asynccontextmanager
async def serving(folder: Path, program: Path) -> AsyncGenerator[Server]:
    """A server inside the block, with a data folder of its own in `folder`, and `program` as its agent."""
    data = folder / "data"
    agents = data / "sandbox-agent" / "bin" / "agent_processes"
    agents.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, agents / "mock-acp")
    binary = (
        installed("sandbox-agent")
        / "node_modules"
        / "@sandbox-agent"
        / "cli-linux-x64"
        / "bin"
        / "sandbox-agent"
    )
    port = _free_port()
    process = await asyncio.create_subprocess_exec(
        str(binary),
        *["server", "--no-token", "--no-telemetry", "--port", str(port)],
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_DATA_HOME": str(data)},
        cwd=folder,
        start_new_session=True,
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=_DEADLINE_S) as client:
            await _until_healthy(client)
            yield Server(port, client)
    finally:
        # Its agents are in its process group; told to delete them, this version never answers.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _until_healthy(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(_DEADLINE_S):
        while True:
            try:
                if (await client.get("/v1/health")).is_success:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _joined(parts: Sequence[Received]) -> Received:
    whole = Received()
    for part in parts:
        whole.counts.update(part.counts)
        whole.latencies_us += part.latencies_us
        if part.first_written_us:
            first = whole.first_written_us or part.first_written_us
            whole.first_written_us = min(first, part.first_written_us)
        whole.last_received_us = max(whole.last_received_us, part.last_received_us)
    return whole
