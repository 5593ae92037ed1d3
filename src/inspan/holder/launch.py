"""Start a holder, detached from this process, and learn whether its harness runs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from .disk import LaunchDisk
from .process import ProcessIdentity
from .program import PROTOCOL
from .program.folder import write_file
from .program.frames import FRAME_CAP
from .program.journal import SEGMENT_BYTES
from .program.processes import read_process, send_signal
from .program.start import MAX_UNACKNOWLEDGED_BYTES, SOCKET_PATH_LIMIT
from .wire import HolderIdentity, TerminalSize, holder_error

__all__ = ["HolderSpec", "start_holder"]

START_TIMEOUT_S = 15.0
_PROGRAM = Path(__file__).parent / "program" / "__main__.py"
_PASSED_ENV = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class HolderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a holder is to start; its repr shows neither `nonce` nor `env`.

    Attributes:
        launch: The launch's id; the harness and what it starts carry it as `INSPAN_LAUNCH`.
        nonce: The secret that an owner must present.
        argv: The program and its arguments; looked up in the PATH of `env`.
        env: The complete environment; nothing is inherited.
        cwd: The folder to run in.
        directory: The launch's own folder, made with mode 0700 if it is missing.
        socket: Where to listen; its folder must have mode 0700 and is made if it is missing.
        terminal: The size of the terminal that the harness gets, with no shell in front of it: its standard
            input, output and error, and its controlling terminal. None means pipes.
        segment_bytes: The size of one journal segment.
        max_unacknowledged_bytes: How much output may wait for the owner before the harness must wait.
        frame_cap: The most bytes of one frame.
    """

    launch: str
    nonce: str
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    directory: Path
    socket: Path
    terminal: TerminalSize | None = None
    segment_bytes: int = SEGMENT_BYTES
    max_unacknowledged_bytes: int = MAX_UNACKNOWLEDGED_BYTES
    frame_cap: int = FRAME_CAP

    def __repr__(self) -> str:
        return (
            f"HolderSpec(launch={self.launch!r}, program={self.argv[0]!r}, directory={str(self.directory)!r})"
        )


async def start_holder(spec: HolderSpec, *, timeout_s: float = START_TIMEOUT_S) -> HolderIdentity:
    """Start a holder and its harness; both outlive this process.

    A launch is started at most once: calling again with the same folder raises. When this returns, the
    harness's program has been executed. When it raises, nothing of it runs; after `holder_timeout` and
    after a cancellation, what may have been started by then has been told to stop. The folder is left for
    reading.

    Args:
        spec: What to start.
        timeout_s: How long to wait for it.

    Raises:
        HolderError: `launch_failed` (the program cannot be executed), `workspace_missing`,
            `socket_path_too_long`, `holder_timeout`, or `holder_failed` with `detail["reason"]`
            (`claimed`, `socket_in_use`, `folder_open`, `size_invalid`, `terminal_failed`, …).
    """
    length = len(os.fsencode(spec.socket))
    if length > SOCKET_PATH_LIMIT:
        text = f"the socket's path has {length} bytes, the limit is {SOCKET_PATH_LIMIT}"
        raise holder_error("holder_failed", "socket_path_too_long", text, launch=spec.launch)
    disk = LaunchDisk(spec.directory)
    process, pipe = _spawn(spec, _prepare(spec))
    try:
        async with asyncio.timeout(timeout_s):
            output = await _read_to_end(pipe)
    except TimeoutError:
        _give_up(disk, process)
        text = f"the holder was not ready after {timeout_s:g} s"
        raise holder_error("holder_timeout", "start_timeout", text, launch=spec.launch) from None
    except asyncio.CancelledError:
        _give_up(disk, process)
        raise
    finally:
        os.close(pipe)
    _collect(process)
    word, _, rest = output.decode("utf-8", "replace").strip().partition(" ")
    if word == "error":
        code, _, message = rest.partition(" ")
        raise holder_error("holder_failed", code, message, launch=spec.launch)
    identity = disk.identity()
    if word != "ready" or identity is None:
        text = f"the holder ended before it was ready, see {spec.directory / 'holder.log'}"
        raise holder_error("holder_failed", "holder_crashed", text, launch=spec.launch)
    return identity


def _prepare(spec: HolderSpec) -> int:
    """Write the launch's folder; the log's descriptor, for what the holder says before it can log."""
    value = {
        "protocol": PROTOCOL,
        "launch": spec.launch,
        "nonce": spec.nonce,
        "argv": spec.argv,
        "env": spec.env,
        "cwd": str(spec.cwd),
        "socket": str(spec.socket),
        "terminal": None if spec.terminal is None else msgspec.to_builtins(spec.terminal),
        "segment_bytes": spec.segment_bytes,
        "max_unacknowledged_bytes": spec.max_unacknowledged_bytes,
        "frame_cap": spec.frame_cap,
    }
    try:
        for folder in (spec.directory, spec.socket.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (spec.directory / "claim").exists():
            write_file(str(spec.directory / "launch.json"), json.dumps(value).encode())
        return os.open(spec.directory / "holder.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        text = f"cannot write {spec.directory}: {os.strerror(error.errno or 0)}"
        raise holder_error("holder_failed", "launch_unwritable", text, launch=spec.launch) from None


def _spawn(spec: HolderSpec, log: int) -> tuple[subprocess.Popen[bytes], int]:
    """Start the program, which at once forks the holder and ends; the pipe is the holder's until it is ready."""
    reader, writer = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), str(spec.directory)],
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=log,
            start_new_session=True,
            env={name: os.environ[name] for name in _PASSED_ENV if name in os.environ},
        )
    except OSError as error:
        os.close(reader)
        text = f"cannot run {sys.executable}: {os.strerror(error.errno or 0)}"
        raise holder_error("holder_failed", "no_interpreter", text, launch=spec.launch) from None
    finally:
        os.close(writer)
        os.close(log)
    return process, reader


async def _read_to_end(pipe: int) -> bytes:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    output = bytearray()

    def read() -> None:
        piece = os.read(pipe, 4096)
        output.extend(piece)
        if not piece and not ended.done():
            ended.set_result(None)

    os.set_blocking(pipe, False)
    loop.add_reader(pipe, read)
    try:
        await ended
    finally:
        loop.remove_reader(pipe)
    return bytes(output)


def _collect(process: subprocess.Popen[bytes]) -> None:
    process.wait()  # it has ended already, or is just about to


def _give_up(disk: LaunchDisk, process: subprocess.Popen[bytes]) -> None:
    """See that a holder that is late does not start, or stops what it has started."""
    process.kill()
    process.wait()
    if disk.abandon():
        return
    claim = disk.claim()
    if isinstance(claim, ProcessIdentity):
        row = read_process(claim.pid)
        if row is not None and row.start_time == claim.start_time:
            send_signal(row, signal.SIGTERM)
