"""From an empty process to a running harness, or a typed error and nothing left running."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys

from . import PROTOCOL, VERSION
from .folder import claim_launch, is_private, now, read_record, redact_launch, write_record
from .frames import FRAME_CAP
from .holding import Holder
from .journal import SEGMENT_BYTES
from .output import Log
from .processes import ENV_LAUNCH, read_process
from .ptys import Pty
from .sizes import MAX_SIDE
from .spawn import Harness, fork_harness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["MAX_UNACKNOWLEDGED_BYTES", "SOCKET_PATH_LIMIT", "Config", "StartError", "main"]

SOCKET_PATH_LIMIT = 103 if sys.platform == "darwin" else 107
"""The most bytes in a Unix socket's path."""

MAX_UNACKNOWLEDGED_BYTES = 1024 * 1024 * 1024
FRAME_CAP_LEAST = 16 * 1024  # every control message fits


class StartError(Exception):
    """Nothing was started, or what was started is gone again. The message holds no secret."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message.replace("\n", " ")


class Config:
    """`launch.json`, checked."""

    def __init__(self, value: dict[str, Any]) -> None:
        if value.get("protocol") != PROTOCOL:
            raise StartError("version_mismatch", f"this holder speaks protocol {PROTOCOL}")
        try:
            self.launch = str(value["launch"])
            self.nonce = str(value["nonce"])
            self.argv = [str(argument) for argument in value["argv"]]
            self.env = {str(name): str(content) for name, content in value["env"].items()}
            self.cwd = str(value["cwd"])
            self.socket = str(value["socket"])
            self.segment_bytes = int(value.get("segment_bytes", SEGMENT_BYTES))
            self.max_unacknowledged_bytes = int(
                value.get("max_unacknowledged_bytes", MAX_UNACKNOWLEDGED_BYTES)
            )
            self.frame_cap = int(value.get("frame_cap", FRAME_CAP))
            terminal = value.get("terminal")
            self.terminal = None if terminal is None else (int(terminal["columns"]), int(terminal["rows"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # The value may be a secret; the kind of the error says enough.
            raise StartError("launch_invalid", f"launch.json is not valid ({type(error).__name__})") from None
        sizes = (self.segment_bytes - 1, self.max_unacknowledged_bytes, self.frame_cap - FRAME_CAP_LEAST)
        if not self.argv or not self.nonce or min(sizes) < 0:
            raise StartError("launch_invalid", "launch.json lacks argv or a nonce, or a size is too small")
        if self.terminal is not None and not all(0 < side <= MAX_SIDE for side in self.terminal):
            raise StartError("size_invalid", f"a terminal has 1 to {MAX_SIDE} columns and as many rows")


def main(arguments: list[str]) -> int:
    """Start the launch in the folder `arguments[0]`, say so in one line, and hold it to its end.

    The line on standard output is `ready`, or `error CODE message`.
    """
    _own_descriptors()
    directory = os.path.abspath(arguments[0])
    if os.fork():  # the holder is nobody's child, so nobody has to collect it
        os._exit(0)
    umask = os.umask(0o077)
    try:
        holder = _start(directory, umask=umask, wakeup=_catch_signals())
    except StartError as error:
        redact_launch(directory)
        _say(f"error {error.code} {error.message}")
        return 1
    _say("ready")
    _detach(holder.log)
    holder.serve()
    return 0


def _start(directory: str, *, umask: int, wakeup: int) -> Holder:
    config = _load(directory)
    length = len(os.fsencode(config.socket))
    if length > SOCKET_PATH_LIMIT:
        raise StartError(
            "socket_path_too_long", f"the socket's path has {length} bytes, the limit is {SOCKET_PATH_LIMIT}"
        )
    for folder in (directory, os.path.dirname(config.socket)):
        _check_private(folder)
    if not os.path.isdir(config.cwd):
        raise StartError("cwd_missing", f"no such folder: {config.cwd}")
    me = read_process(os.getpid())
    identity = {"pid": os.getpid(), "start_time": me.start_time if me else ""}
    try:
        if not claim_launch(directory, f"holder {identity['pid']} {identity['start_time']}"):
            raise StartError("claimed", "the launch was claimed or abandoned before")
        redact_launch(directory)
        log = Log(os.path.join(directory, "holder.log"))
    except OSError as error:
        raise StartError("launch_unwritable", _reason(directory, error)) from None
    listener: socket.socket | None = None
    try:
        listener = _listen(config.socket)
        return _start_harness(directory, config, log, listener, wakeup, umask, identity)
    except (StartError, OSError) as error:
        failure = (
            error if isinstance(error, StartError) else StartError("start_failed", _reason(directory, error))
        )
        if listener is not None:
            listener.close()
            os.unlink(config.socket)
        with contextlib.suppress(OSError):
            write_record(
                directory, "failed.json", {"code": failure.code, "message": failure.message, "at": now()}
            )
        raise failure from None


def _start_harness(
    directory: str,
    config: Config,
    log: Log,
    listener: socket.socket,
    wakeup: int,
    umask: int,
    identity: dict[str, Any],
) -> Holder:
    env = {**config.env, ENV_LAUNCH: config.launch}
    pty = _open_pty(config)
    harness = fork_harness(config.argv, env, config.cwd, umask, pty=pty)
    try:
        row = read_process(harness.pid)
        harness.start_time = row.start_time if row else ""
        holder = Holder(directory, config, log, listener, harness, wakeup, pty)
        record = {
            **identity,
            "protocol": PROTOCOL,
            "holder_version": VERSION,
            "launch": config.launch,
            "harness_pid": harness.pid,
            "harness_start_time": harness.start_time,
            "socket": config.socket,
        }
        write_record(directory, "holder.json", record)
        _let_go(harness, config)
    except BaseException:
        harness.abandon()
        os.waitpid(harness.pid, 0)  # it ends by itself
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, "holder.json"))
        raise
    config.env.clear()
    return holder


def _open_pty(config: Config) -> Pty | None:
    try:
        return None if config.terminal is None else Pty(*config.terminal)
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise StartError("terminal_failed", f"no terminal could be opened: {reason}") from None


def _let_go(harness: Harness, config: Config) -> None:
    failure = harness.release()
    if failure is not None:
        stage, number = failure
        if stage == "cwd":
            raise StartError(
                "cwd_missing", f"the folder {config.cwd} cannot be entered: {os.strerror(number)}"
            )
        if stage == "terminal":
            raise StartError("terminal_failed", f"the terminal cannot be taken: {os.strerror(number)}")
        raise StartError(
            "exec_failed", f"the program {config.argv[0]} cannot be executed: {os.strerror(number)}"
        )


def _load(directory: str) -> Config:
    try:
        value = read_record(directory, "launch.json")
    except OSError as error:
        raise StartError("launch_invalid", _reason("launch.json", error)) from None
    except ValueError:
        raise StartError("launch_invalid", "launch.json is not a JSON object") from None
    if (value is None or "nonce" not in value) and os.path.exists(os.path.join(directory, "claim")):
        raise StartError("claimed", "the launch was claimed or abandoned before")
    if value is None:
        raise StartError("launch_invalid", "there is no launch.json")
    return Config(value)


def _check_private(folder: str) -> None:
    try:
        if not is_private(folder):
            raise StartError("folder_open", f"{folder} must belong to this user and have mode 0700")
    except OSError as error:
        raise StartError("folder_missing", _reason(folder, error)) from None


def _listen(path: str) -> socket.socket:
    """A listening socket that only this user can reach; one that answers is never taken over."""
    if os.path.lexists(path):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.settimeout(2)
            try:
                other.connect(path)
            except (ConnectionRefusedError, FileNotFoundError):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            except OSError as error:
                raise StartError("socket_in_use", _reason(path, error)) from None
            else:
                raise StartError("socket_in_use", f"somebody answers on {path}")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
        listener.listen(16)
    except OSError as error:
        listener.close()
        code = "socket_in_use" if error.errno == errno.EADDRINUSE else "socket_failed"
        raise StartError(code, _reason(path, error)) from None
    finally:
        os.umask(before)
    return listener


def _catch_signals() -> int:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, _note)
    for number in (
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGPIPE,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
    ):
        signal.signal(number, signal.SIG_IGN)
    return reader


def _note(_number: int, _frame: object) -> None:
    """The number is read from the wakeup pipe."""


def _own_descriptors() -> None:
    """Close what was inherited, and see that 0, 1 and 2 are open, so that no pipe gets their numbers."""
    os.closerange(3, 4096)
    while os.open(os.devnull, os.O_RDWR) <= 2:
        pass
    os.closerange(3, 4)


def _detach(log: Log) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(log.handle, 2)
    os.close(null)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # the daemon died while it waited; the launch will be found on disk
        os.write(1, f"{line}\n".encode("utf-8", "replace"))


def _reason(what: str, error: OSError) -> str:
    return f"cannot use {what}: {os.strerror(error.errno or errno.EIO)}"
