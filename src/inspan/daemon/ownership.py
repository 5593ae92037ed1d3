"""Ownership of a home: one lock, held for life, is the only proof. A pid is shown, never believed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Generator

from inspan.home import Home
from inspan.model.errors import HostError

__all__ = ["hold_home"]


@contextlib.contextmanager
def hold_home(home: Home) -> Generator[None]:
    """Owns the home inside the block. The system frees the lock when the process dies, however it dies.

    A socket that a dead owner left is removed under the lock; one that answers is never taken over. At the
    end the lock's file is removed too.

    Raises:
        HostError: `daemon_running`, with the owner's pid where it said so; `daemon_unreachable` where something
            that is no socket has the socket's name.
    """
    handle = _lock(home)
    try:
        _remove_stale_socket(home)
        yield
    finally:
        # Removed while the lock is held: whoever opened this file and waits for it sees that it is no longer
        # the one at this path, and begins again.
        with contextlib.suppress(OSError):
            home.lock.unlink()
        os.close(handle)


def _lock(home: Home) -> int:
    while True:
        try:
            handle = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HostError(
                f"{home.lock} cannot be made: {error.strerror}.",
                code="home_read_only",
                hint="Make room on the disk, and let the folder be written.",
                detail={"home": str(home.path)},
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at_path(handle, home):
                # The pid is only shown; a disk without room for it is no reason not to serve.
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, 0)
                    os.write(handle, f"{os.getpid()}\n".encode())
                return handle
        except BlockingIOError as error:
            owner = _read_pid(handle)
            os.close(handle)
            raise _running(home, owner) from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_at_path(handle: int, home: Home) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(home.lock))
    except FileNotFoundError:
        return False


def _read_pid(handle: int) -> int | None:
    text = os.pread(handle, 32, 0).strip()
    return int(text) if text.isdigit() else None


def _remove_stale_socket(home: Home) -> None:
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.setblocking(False)
        result = probe.connect_ex(str(home.socket))
    finally:
        probe.close()
    if result == errno.ENOENT:
        return
    if result == errno.ECONNREFUSED:
        if not home.socket.is_socket():
            raise HostError(
                f"{home.socket} is in the way: it is not a socket.",
                code="daemon_unreachable",
                hint="Move it away.",
                detail={"home": str(home.path)},
            )
        home.socket.unlink()
        return
    # It answers, or it cannot be asked: either way it is not ours to remove.
    raise _running(home, None)


def _running(home: Home, pid: int | None) -> HostError:
    who = f"process {pid}" if pid else "another process"
    return HostError(
        f"The home {home.path} is served by {who} already.",
        code="daemon_running",
        hint="Use that one, or stop it with `inspan daemon stop`.",
        detail={"home": str(home.path), "pid": pid},
    )
