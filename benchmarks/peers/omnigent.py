"""`omnigent`: a server, a host daemon and a runner a session, which drive agents and show them in a browser.

Its generic agent of the protocol is configured as data; ours is the fake agent. Everything runs in a throwaway
home, and only without a network, since it would otherwise report home.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import subprocess
import tarfile
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import httpx
import psutil

from benchmarks.received import Received

from .installing import installed

__all__ = ["Omnigent", "help_command", "serving"]

_DEADLINE_S = 180.0
_QUIET_S = 5.0
_SLUG = "fake"
_AGENT = f"""\
name: acp-{_SLUG}
prompt: You are an agent.
executor:
  harness: acp:{_SLUG}
os_env:
  type: caller_process
  sandbox:
    type: none
"""


class Omnigent:
    """A server and a host daemon that run.

    Args:
        home: Its throwaway home.
        url: Where the server listens.
        host: The id of this machine as its host.
        client: Speaks to the server.
    """

    def __init__(self, home: Path, url: str, host: str, client: httpx.AsyncClient) -> None:
        self._home = home
        self._url = url
        self._host = host
        self._client = client

    def pids(self) -> list[int]:
        """All of its processes, without the agents and what they start."""
        found: list[int] = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                is_agent = any("fake_agent" in word for word in process.cmdline())
                if not is_agent and process.environ().get("HOME") == str(self._home):
                    found.append(process.pid)
        return found

    def run_once(self) -> float:
        """A one-shot run with the server running; the seconds that it took."""
        began = time.perf_counter()
        words = ["run", "--harness", f"acp:{_SLUG}", "-p", "hello"]
        done = _run(self._home, words)
        passed_s = time.perf_counter() - began
        if "n=0 t=" not in done.stdout:
            raise RuntimeError(f"the run said nothing: {done.stdout[-500:]} {done.stderr[-500:]}")
        return passed_s

    async def open_session(self) -> str:
        """Opens a session with a runner of its own, and returns once it is online."""
        bundle = io.BytesIO()
        with tarfile.open(fileobj=bundle, mode="w:gz") as archive:
            member = tarfile.TarInfo(f"acp-{_SLUG}.yaml")
            member.size = len(_AGENT)
            archive.addfile(member, io.BytesIO(_AGENT.encode()))
        metadata = json.dumps({"workspace": str(self._home), "host_id": self._host})
        files = {"bundle": ("agent.tar.gz", bundle.getvalue(), "application/gzip")}
        answer = await self._client.post("/v1/sessions", data={"metadata": metadata}, files=files)
        answer.raise_for_status()
        session = str(answer.json()["session_id"])
        async with asyncio.timeout(_DEADLINE_S):
            while not (await self._client.get(f"/v1/sessions/{session}")).json().get("runner_online"):
                await asyncio.sleep(0.1)
        return session

    async def say(self, session: str, text: str, wanted: int, *, during: Sequence[str] = ()) -> Received:
        """Sends a message and collects what its stream tells, until all came or it fell silent.

        Args:
            session: The session.
            text: The message.
            wanted: How many updates are waited for.
            during: Further messages, sent while the turn of the first one runs.
        """
        received = Received()
        async with self._reading(session, received) as is_cut:
            await self._post(session, text)
            if during:
                async with asyncio.timeout(_DEADLINE_S):
                    while not received.total:
                        await asyncio.sleep(0.02)
            for one in during:
                await self._post(session, one)
            before, quiet_since = -1, time.monotonic()
            deadline = quiet_since + _DEADLINE_S
            while received.total < wanted and not is_cut.is_set() and time.monotonic() < deadline:
                if received.total != before:
                    before, quiet_since = received.total, time.monotonic()
                elif before > 0 and time.monotonic() - quiet_since > _QUIET_S:
                    break
                await asyncio.sleep(0.05)
        return received

    async def _post(self, session: str, text: str) -> None:
        content = [{"type": "input_text", "text": text}]
        event = {"type": "message", "data": {"role": "user", "content": content}}
        answer = await self._client.post(f"/v1/sessions/{session}/events", json=event)
        answer.raise_for_status()

    async def until_idle(self, session: str) -> None:
        """Returns once the session's turn has ended, or after a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DEADLINE_S):
                while (await self._client.get(f"/v1/sessions/{session}")).json().get("status") == "running":
                    await asyncio.sleep(0.1)

    @contextlib.asynccontextmanager
    async def _reading(self, session: str, received: Received) -> AsyncGenerator[asyncio.Event]:
        """Reads the stream inside the block; gives what is set when the server ends it."""
        port = int(self._url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        writer.write(f"GET /v1/sessions/{session}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head.split(b"\r\n", 1)[0], head
        is_cut = asyncio.Event()

        async def read() -> None:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ValueError):
                while line := await reader.readline():
                    # The whole message comes again at the end of a turn; only the pieces count.
                    if b'"response.output_text.delta"' in line:
                        received.feed(line)
            is_cut.set()

        reading = asyncio.create_task(read())
        try:
            yield is_cut
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            writer.close()


@contextlib.asynccontextmanager
async def serving(home: Path, program: Path) -> AsyncGenerator[Omnigent]:
    """A server with a host inside the block, with `program` as the agent; all of it is gone afterwards."""
    settings = home / ".omnigent" / "config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f"acp:\n  agents:\n    - name: Fake\n      command: {program}\n      omnigent_mcp: false\n",
        encoding="utf-8",
    )
    started = await asyncio.to_thread(_run, home, ["start", "--no-open", "--non-interactive"])
    try:
        url = _find(r"(http://[\d.]+:\d+)", started.stdout + started.stderr)
        host = _find(r"host_id: (\w+)", settings.read_text(encoding="utf-8"))
        async with httpx.AsyncClient(base_url=url, timeout=_DEADLINE_S) as client:
            async with asyncio.timeout(_DEADLINE_S):
                while '"online"' not in (await client.get("/v1/hosts")).text:
                    await asyncio.sleep(0.2)
            omnigent = Omnigent(home, url, host, client)
            yield omnigent
    finally:
        await asyncio.to_thread(_run, home, ["stop"])
        # Terminals of its sessions outlive the stop.
        for pid in Omnigent(home, "", "", httpx.AsyncClient()).pids():
            with contextlib.suppress(psutil.Error):
                psutil.Process(pid).kill()


def help_command() -> list[str]:
    """The command that prints its help."""
    return [str(_program()), "--help"]


def _program() -> Path:
    return installed("omnigent") / "bin" / "omnigent"


def _run(home: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(_program()), *words],
        env={"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb"},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"there is no {pattern} in {text[-500:]!r}")
    return found[1]
