"""A plugin in a process of its own, asked over its standard input and output.

The process belongs to this daemon: it stands in its own process group, it ends when its input ends, and a
later daemon starts its own instead of adopting it. What it keeps beyond that, it keeps in its data folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

import inspan
from inspan.model.errors import InspanError, PluginError
from inspan.plugin.context import PluginContext
from inspan.plugin.contract import METHODS, PROTOCOL_VERSION
from inspan.plugin.wire import (
    CANCEL_METHOD,
    INITIALIZE_METHOD,
    FrameTooLarge,
    HostInfo,
    InitializeParams,
    InitializeResult,
    LineDecoder,
    Message,
    encode_message,
    error_of_answer,
    incompatible,
)

from .asking import AskedPlugin, timed_out

__all__ = ["ProcessPlugin", "ProcessTimes", "plugin_command"]

_log = logging.getLogger(__name__)
_STDERR_TAIL_BYTES = 4096


class ProcessTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long is waited for a plugin process, in seconds.

    Attributes:
        initialize_s: From its start to the end of the handshake.
        cancel_s: For the answer to a request that was cancelled; a process that gives none is ended.
        stop_s: Between the steps of a stop.
        first_backoff_s: Before the second restart in a row; doubled for each further one.
        max_backoff_s: The longest wait between two restarts.
    """

    initialize_s: float = 20.0
    cancel_s: float = 5.0
    stop_s: float = 3.0
    first_backoff_s: float = 1.0
    max_backoff_s: float = 60.0


def plugin_command(folder: Path) -> tuple[str, ...]:
    """The command that serves a harness's folder with our own interpreter."""
    return (sys.executable, "-P", "-B", "-m", "inspan.plugin", str(folder))


class ProcessPlugin(AskedPlugin):
    """Asks a plugin over the wire; started at the first question, and again after it died."""

    def __init__(
        self,
        harness: str,
        context: PluginContext,
        *,
        command: tuple[str, ...],
        environ: Mapping[str, str],
        times: ProcessTimes | None = None,
    ) -> None:
        self._harness = harness
        self._context = context
        self._command = command
        self._environ = dict(environ)
        self._times = times or ProcessTimes()
        self._connection: _Connection | None = None
        self._starting = asyncio.Lock()
        self._deaths = 0
        self._not_before = 0.0
        self._failure: InspanError | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the plugin process, while it lives."""
        connection = self._connection
        return connection.pid if connection is not None and connection.is_alive else None

    async def ask(
        self, method: str, params: msgspec.Struct, *, deadline_s: float | None = None
    ) -> msgspec.Struct:
        """The answer to one question; errors as in `AskedPlugin`."""
        spec = METHODS[method]
        limit_s = spec.deadline_s if deadline_s is None else deadline_s
        connection = await self._connect()
        if method not in connection.methods:
            why = connection.why_unsupported.get(method, "")
            raise PluginError(
                "The harness does not offer this operation.",
                code="unsupported_capability",
                hint=why,
                detail={"explanation": why},
            )
        scope = asyncio.timeout(limit_s)
        try:
            async with scope:
                answer = await connection.request(method, params)
        except TimeoutError as error:
            if not scope.expired():
                raise
            await self._end_if_wedged(connection)
            raise timed_out(self._harness, method, limit_s) from error
        finally:
            if connection.is_alive:
                self._deaths = 0
        try:
            return msgspec.json.decode(answer, type=spec.result)
        except msgspec.MsgspecError as error:
            raise PluginError(
                f"The plugin of {self._harness} answered {method} with no {spec.result.__name__}: {error}.",
                retry_safe=False,
            ) from error

    async def close(self) -> None:
        """Ends the process in steps: end of input, SIGTERM to its group, SIGKILL."""
        async with self._starting:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.stop(self._times.stop_s)

    async def _connect(self) -> _Connection:
        async with self._starting:
            connection = self._connection
            if connection is not None and connection.is_alive:
                return connection
            if connection is not None:
                await connection.stop(self._times.stop_s)
                self._connection = None
                self._note_death(connection.death())
            wait_s = self._not_before - asyncio.get_running_loop().time()
            if wait_s > 0 and self._failure is not None:
                raise PluginError(
                    f"{self._failure.message} That was the failure number {self._deaths} in a row.",
                    code=self._failure.code,
                    hint=f"It may be started again in {wait_s:.0f} s. {self._failure.hint}".rstrip(),
                )
            try:
                self._connection = await self._start()
            except InspanError as error:
                self._note_death(error)
                raise
            return self._connection

    def _note_death(self, error: InspanError) -> None:
        """Allows one restart at once, and makes each further one in a row wait."""
        self._deaths += 1
        self._failure = error
        if self._deaths > 1:
            backoff_s = min(self._times.first_backoff_s * 2 ** (self._deaths - 2), self._times.max_backoff_s)
            self._not_before = asyncio.get_running_loop().time() + backoff_s

    async def _start(self) -> _Connection:
        subject = f"The plugin of {self._harness}"
        try:
            transport, connection = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Connection(self._harness),
                *self._command,
                env=self._environ,
                cwd=self._context.folder,
                start_new_session=True,
            )
        except OSError as error:
            raise PluginError(
                f"{subject} cannot be started: {error.strerror or error}.", code="plugin_missing"
            ) from error
        del transport
        params = InitializeParams(
            protocol=PROTOCOL_VERSION,
            host=HostInfo(name="inspan", version=inspan.__version__),
            context=self._context,
        )
        try:
            async with asyncio.timeout(self._times.initialize_s):
                answer = await connection.request(INITIALIZE_METHOD, params)
            result = msgspec.json.decode(answer, type=InitializeResult)
        except BaseException as error:
            await connection.stop(self._times.stop_s)
            if isinstance(error, TimeoutError):
                raise PluginError(
                    f"{subject} did not answer its handshake within {self._times.initialize_s:g} s.",
                    code="plugin_timeout",
                ) from error
            if isinstance(error, msgspec.MsgspecError):
                raise PluginError(
                    f"{subject} answered its handshake wrongly: {error}.", code="plugin_incompatible"
                ) from error
            raise
        if result.protocol != PROTOCOL_VERSION:
            await connection.stop(self._times.stop_s)
            raise incompatible(result.protocol, subject=subject)
        connection.methods = frozenset(result.methods)
        connection.why_unsupported = result.why_unsupported
        return connection

    async def _end_if_wedged(self, connection: _Connection) -> None:
        if not await connection.wait_for_cancelled(self._times.cancel_s):
            await connection.stop(0.0)


class _Connection(asyncio.SubprocessProtocol):
    """One process and the requests that are open with it; all of it runs in callbacks, so it needs no task."""

    methods: frozenset[str] = frozenset()
    why_unsupported: Mapping[str, str] = {}

    def __init__(self, harness: str) -> None:
        self._harness = harness
        self._ids = itertools.count(1)
        self._open: dict[int | str, asyncio.Future[bytes]] = {}
        self._cancelled: set[int | str] = set()
        self._settled = asyncio.Event()
        self._decoder = LineDecoder()
        self._stderr = b""
        self._exited = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self._is_broken = False

    @property
    def pid(self) -> int:
        return self._started.get_pid()

    @property
    def is_alive(self) -> bool:
        return not self._is_broken and not self._exited.is_set()

    @property
    def _started(self) -> asyncio.SubprocessTransport:
        if self._transport is None:
            raise AssertionError("the process was not started")
        return self._transport

    async def request(self, method: str, params: msgspec.Struct) -> bytes:
        """The result of one request, as JSON. Where the caller gives up, the plugin is told so."""
        key = next(self._ids)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._open[key] = future
        if self.is_alive:
            self._send(Message(id=key, method=method, params=msgspec.Raw(msgspec.json.encode(params))))
        else:
            self._fail_all()
        try:
            return await future
        except asyncio.CancelledError:
            if self.is_alive and key in self._open:
                self._cancelled.add(key)
                self._send(Message(method=CANCEL_METHOD, params=msgspec.Raw(b'{"id":%d}' % key)))
            raise
        finally:
            self._open.pop(key, None)

    async def wait_for_cancelled(self, limit_s: float) -> bool:
        """Whether the process answers everything that was cancelled within `limit_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._cancelled and self.is_alive:
                    self._settled.clear()
                    await self._settled.wait()
        return not self._cancelled

    async def stop(self, step_s: float) -> None:
        """Ends the process group in steps, and waits until the process is reaped."""
        self._is_broken = True
        if stdin := self._started.get_pipe_transport(0):
            stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None and not self._exited.is_set():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, number)
            if number == signal.SIGKILL:
                await self._exited.wait()
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(step_s):
                    await self._exited.wait()
            if self._exited.is_set():
                break
        self._started.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._stderr = (self._stderr + data)[-_STDERR_TAIL_BYTES:]
            return
        try:
            for line in self._decoder.feed(data):
                self._receive(line)
        except FrameTooLarge as error:
            self._break(f"sent a frame that is too large: {error}")
        except msgspec.MsgspecError as error:
            self._break(f"broke the plugin protocol: {error}")

    def process_exited(self) -> None:
        self._exited.set()
        if self._stderr:
            _log.info("plugin of %s said: %s", self._harness, self._stderr.decode(errors="replace"))
        self._fail_all()
        self._settled.set()

    def _receive(self, line: bytes) -> None:
        message = msgspec.json.decode(line, type=Message)
        if message.id is None or message.method is not None:
            return
        self._cancelled.discard(message.id)
        self._settled.set()
        future = self._open.pop(message.id, None)
        if future is None or future.done():
            return
        if message.error is not None:
            future.set_exception(error_of_answer(message.error, subject=f"The plugin of {self._harness}"))
        else:
            future.set_result(bytes(message.result or b"null"))

    def _send(self, message: Message) -> None:
        stdin = self._started.get_pipe_transport(0)
        if isinstance(stdin, asyncio.WriteTransport):
            stdin.write(encode_message(message))

    def _break(self, fact: str) -> None:
        self._is_broken = True
        self._fail_all(fact)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _fail_all(self, fact: str | None = None) -> None:
        for future in self._open.values():
            if not future.done():
                future.set_exception(self.death(fact))

    def death(self, fact: str | None = None) -> PluginError:
        """The error that says how the process ended, with its last words."""
        last = self._stderr.decode(errors="replace").strip().splitlines()[-1:]
        said = f" Its last words: {last[0][:300]}" if last else ""
        status = self._started.get_returncode()
        return PluginError(
            f"The plugin of {self._harness} {fact or f'died with status {status}'}.{said}",
            hint="It is started again at the next request.",
            retry_safe=False,
        )
