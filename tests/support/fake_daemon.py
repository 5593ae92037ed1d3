"""A daemon over the scripted service: in this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import httpx
import msgspec

from inspan.client.client import Client
from inspan.daemon.composition import Daemon, Parts, open_daemon
from inspan.daemon.feed import Feed, FeedLimits
from inspan.home import Home, locate_home
from support.fake_service import FakeLog, FakeService

__all__ = ["DEADLINE_S", "FakeDaemon", "daemon_process", "open_fake", "until", "workspace"]

DEADLINE_S = 30.0

_PROGRAM = Path(__file__).parent / "fake_daemon_program.py"


class FakeDaemon(msgspec.Struct, frozen=True, kw_only=True):
    """A daemon, the parts behind it, and two ways to speak to it."""

    daemon: Daemon
    log: FakeLog
    service: FakeService
    client: Client
    http: httpx.AsyncClient

    feed: Feed
    ended: asyncio.Event

    @property
    def home(self) -> Home:
        return self.daemon.home

    async def stop(self) -> None:
        """Has the daemon stop, and returns once it has."""
        self.daemon.lifetime.stop()
        await self.ended.wait()


@contextlib.asynccontextmanager
async def open_fake(
    *,
    home: Home | None = None,
    tcp: tuple[str, int] | None = None,
    limits: FeedLimits | None = None,
    log: FakeLog | None = None,
) -> AsyncGenerator[FakeDaemon]:
    """A daemon inside this process, on the test's own home; with `log` one that goes on where another ended."""
    place = home or locate_home()
    log = log or FakeLog()
    service = FakeService(log)

    @contextlib.asynccontextmanager
    async def parts(_: Home) -> AsyncGenerator[Parts]:
        yield Parts(seats=service, log=service.log)

    ended = asyncio.Event()
    begun: asyncio.Future[Daemon] = asyncio.get_running_loop().create_future()

    async def serve() -> None:
        try:
            async with open_daemon(place, tcp=tcp, open_parts=parts, limits=limits) as daemon:
                begun.set_result(daemon)
                await daemon.lifetime.until_stopped()
        except BaseException as error:
            if begun.done():
                raise
            begun.set_exception(error)
        finally:
            ended.set()

    serving = asyncio.create_task(serve())
    daemon = await begun
    client = Client(place)
    transport = httpx.AsyncHTTPTransport(uds=str(place.socket))
    try:
        async with httpx.AsyncClient(
            transport=transport, base_url="http://inspan", timeout=DEADLINE_S
        ) as http:
            yield FakeDaemon(
                daemon=daemon,
                log=log,
                service=service,
                client=client,
                http=http,
                feed=daemon.feed,
                ended=ended,
            )
    finally:
        await client.close()
        daemon.lifetime.stop()
        await serving


async def until(condition: Callable[[], object]) -> None:
    """Returns once `condition` holds."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - nothing could set an event
            await asyncio.sleep(0.005)


def workspace(home: Path) -> str:
    """A folder that a seat can work in."""
    folder = home / "ws"
    folder.mkdir(exist_ok=True)
    return str(folder)


@contextlib.contextmanager
def daemon_process(home: Home, *arguments: str) -> Generator[subprocess.Popen[str]]:
    """A daemon over the scripted service as a process; it is stopped at the end of the block."""
    command = [sys.executable, str(_PROGRAM), "--home", str(home.path), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(DEADLINE_S)
                process.kill()
