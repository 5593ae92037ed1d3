"""Fork and exec of the harness."""

from __future__ import annotations

import errno
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .ptys import Pty

__all__ = ["Harness", "fork_harness"]


class Harness:
    """The child: who it is, and our ends of its pipes or of its terminal.

    With a terminal, `stdin` and `stdout` are two descriptors of the same end of it, and `stderr` is -1.

    It waits for one byte on `go` before it becomes the harness, and ends if `go` is closed without one: so
    whoever finds a harness running also finds its pid on disk. `status` then tells, as `stage errno`, why
    it could not become the harness, or ends empty because it did.
    """

    def __init__(self, pid: int, streams: tuple[int, int, int], go: int, status: int) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = streams
        self.go = go
        self.status = status
        self.start_time = ""

    def release(self) -> tuple[str, int] | None:
        """Let it become the harness; the stage (`terminal`, `cwd` or `exec`) and errno if it could not."""
        os.write(self.go, b"g")
        self.abandon()
        report = b""
        while part := os.read(self.status, 64):
            report += part
        os.close(self.status)
        stage, _, number = report.decode().partition(" ")
        return (stage, int(number)) if report else None

    def abandon(self) -> None:
        """Close `go`; calling twice is safe."""
        if self.go >= 0:
            os.close(self.go)
            self.go = -1


def fork_harness(
    argv: list[str], env: dict[str, str], cwd: str, umask: int, *, pty: Pty | None = None
) -> Harness:
    """Fork the child that is to become the harness: own session and group, nothing inherited.

    It gets pipes, or `pty` as its controlling terminal; of that it is then the foreground.
    """
    if pty is None:
        stdin_read, stdin_write = os.pipe()
        stdout_read, stdout_write = os.pipe()
        stderr_read, stderr_write = os.pipe()
        theirs, ours = (stdin_read, stdout_write, stderr_write), (stdin_write, stdout_read, stderr_read)
    else:
        theirs, ours = (pty.slave,), (os.dup(pty.master), pty.master, -1)
    go_read, go_write = os.pipe()
    status_read, status_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go_write)
        _become_harness(argv, env, cwd, umask, theirs, go_read, status_write)
    for handle in (*(theirs if pty is None else ()), go_read, status_write):
        os.close(handle)
    return Harness(pid, ours, go_write, status_read)


def _become_harness(
    argv: list[str],
    env: dict[str, str],
    cwd: str,
    umask: int,
    streams: tuple[int, ...],
    go: int,
    status: int,
) -> NoReturn:
    stage = "exec"
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        if not os.read(go, 1):
            os._exit(1)
        if len(streams) == 1:
            stage = "terminal"
            os.login_tty(*streams)
        else:
            for number, handle in enumerate(streams):
                os.dup2(handle, number)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(umask)
        stage = "cwd"
        os.chdir(cwd)
        stage = "exec"
        os.execvpe(argv[0], argv, env)  # noqa: S606 - no shell is the point
    except OSError as error:
        os.write(status, f"{stage} {error.errno or errno.EINVAL}".encode())
    except BaseException:  # noqa: BLE001 - whatever happened, this copy of the holder must not go on
        os.write(status, f"{stage} {errno.EINVAL}".encode())
    os._exit(127)
