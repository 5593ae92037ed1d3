"""A client that drives one harness directly, without holder, log or seat: for tests, probes and benchmarks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from inspan.model.errors import HarnessError
from inspan.model.plan import TransportSettings
from inspan.model.reports import Reported
from inspan.transports.machine import Step

from .machine import AcpMachine

__all__ = ["AcpConnection", "HarnessProcess", "open_harness"]

_STDIN = 0
_STDOUT = 1


class AcpConnection(asyncio.Protocol):
    """An `AcpMachine` on any asyncio transport.

    Starts the handshake when it is connected, writes what the machine wants written, and hands every report to
    `on_report` in order, from within the event loop. Nothing is durable here: a report is said once.

    Args:
        settings: What the machine is told of the launch.
        on_report: Called with each report; must not block and must not raise.
    """

    def __init__(self, settings: TransportSettings, on_report: Callable[[Reported], None]) -> None:
        self.machine = AcpMachine(settings)
        self._on_report = on_report
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins the handshake."""
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 - the event loop's own promise
        self._transport = transport
        self._carry_out(self.machine.start())

    def data_received(self, data: bytes) -> None:
        """Takes bytes of the harness."""
        self._carry_out(self.machine.feed(data))

    def connection_lost(self, exc: Exception | None) -> None:
        """Reports what was cut in the middle."""
        self._transport = None
        self._carry_out(self.machine.finish())

    def prompt(self, delivery: str, text: str) -> None:
        """Sends a prompt into the open session.

        Raises:
            UsageError: No session is ready, or the text cannot be sent.
        """
        self._carry_out(self.machine.prompt(delivery, text))

    def cancel(self) -> None:
        """Asks the harness to stop its turn."""
        self._carry_out(self.machine.cancel())

    def answer(self, wire_id: str, option: str | None) -> None:
        """Answers a permission request with an option's id, or with `cancelled` for `None`."""
        self._carry_out(self.machine.answer(wire_id, option))

    def _carry_out(self, step: Step) -> None:
        if self._transport is not None and not self._transport.is_closing():
            for outgoing in step.outgoing:
                self._transport.write(outgoing.data)
        for report in step.reports:
            self._on_report(report)


class HarnessProcess(asyncio.SubprocessProtocol):
    """A harness's process, whose pipes carry an `AcpConnection`.

    Attributes:
        connection: The connection.
        exited: Done when the process has exited; its result is the exit status.
    """

    def __init__(self, connection: AcpConnection) -> None:
        self.connection = connection
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connects the connection to the process's standard input."""
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 - the event loop's own promise
        self._transport = transport
        stdin = transport.get_pipe_transport(_STDIN)
        if stdin is not None:
            self.connection.connection_made(stdin)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Hands standard output to the connection."""
        if fd == _STDOUT:
            self.connection.data_received(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Tells the connection that no more comes."""
        if fd == _STDOUT:
            self.connection.connection_lost(exc)

    def process_exited(self) -> None:
        """Keeps the exit status."""
        status = self._transport.get_returncode() if self._transport is not None else None
        if not self.exited.done():
            self.exited.set_result(-1 if status is None else status)

    async def stop(self, *, grace_s: float) -> None:
        """Ends the process: closes its input, then TERM and KILL to its group, with `grace_s` between them."""
        transport = self._transport
        if transport is None:
            return
        stdin = transport.get_pipe_transport(_STDIN)
        if stdin is not None:
            stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._has_exited(grace_s):
                break
            _signal_group(transport.get_pid(), number)
        await asyncio.shield(self.exited)
        # Children that outlived their parent are still in its group.
        _signal_group(transport.get_pid(), signal.SIGKILL)
        transport.close()

    async def _has_exited(self, grace_s: float) -> bool:
        done, _ = await asyncio.wait((self.exited,), timeout=grace_s)
        return bool(done)


@contextlib.asynccontextmanager
async def open_harness(
    command: Sequence[str],
    settings: TransportSettings,
    on_report: Callable[[Reported], None],
    *,
    environment: Mapping[str, str] | None = None,
    stop_grace_s: float = 5.0,
) -> AsyncGenerator[HarnessProcess, None]:
    """Starts a harness in a process group of its own, in the settings' workspace, and stops it at the end.

    Its standard error is thrown away.

    Args:
        command: Program and arguments.
        settings: What the machine is told of the launch.
        on_report: Called with each report.
        environment: The process's whole environment; that of this process where it is `None`.
        stop_grace_s: Seconds between the steps of the stop.

    Raises:
        HarnessError: `launch_failed`.
    """
    loop = asyncio.get_running_loop()
    connection = AcpConnection(settings, on_report)
    try:
        _, process = await loop.subprocess_exec(
            lambda: HarnessProcess(connection),
            *command,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=settings.workspace,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        raise HarnessError(
            f"The harness could not be started: {error.strerror}.",
            code="launch_failed",
            hint=f"Check that {command[0]} exists and may be run.",
        ) from error
    try:
        yield process
    finally:
        await process.stop(grace_s=stop_grace_s)


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
