"""Who a process is: a pid is not a token, a pid with its start time is."""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

__all__ = [
    "ENV_LAUNCH",
    "Process",
    "carries_launch",
    "family_of",
    "liveness",
    "process_table",
    "read_process",
    "read_program",
    "send_signal",
    "started_since_boot",
]

ENV_LAUNCH = "INSPAN_LAUNCH"
"""The variable that carries the launch's id in the harness's environment and in all that it starts."""


_PS_TIME = "%a %b %d %H:%M:%S %Y"
NAME_BYTES = 256  # a name that is longer is cut


class Process:
    """One row of the process table; `start_time` tells two users of one pid apart, across reboots too."""

    __slots__ = ("group", "parent", "pid", "start_time", "state")

    def __init__(self, pid: int, parent: int, group: int, state: str, start_time: str) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.state = state
        self.start_time = start_time

    @property
    def is_gone(self) -> bool:
        """Whether it has ended and merely waits to be collected by its parent."""
        return self.state in ("Z", "X")


def read_process(pid: int) -> Process | None:
    """The row of `pid`, or None where there is none or it cannot be read."""
    if not _has_proc():
        return next((row for row in _ps("-p", str(pid)) if row.pid == pid), None)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("ascii", "replace")
        # The name stands in brackets and may itself hold brackets and blanks.
        fields = text[text.rindex(")") + 2 :].split()
        return Process(pid, int(fields[1]), int(fields[2]), fields[0], f"{_boot_id()}:{fields[19]}")
    except (OSError, ValueError, IndexError):
        return None


def read_program(pid: int) -> tuple[str, str]:
    """What the program of `pid` is called, by the kernel and by its own first argument; empty if hidden.

    Names prove nothing: a program can choose both. No further argument is read, since it may be a secret.
    """
    if not _has_proc():
        return _ps_field(pid, "ucomm"), _ps_field(pid, "comm")
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            name = file.read(NAME_BYTES)
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            argv0 = file.read(NAME_BYTES).partition(b"\0")[0]
    except OSError:
        return "", ""
    return name.decode("utf-8", "replace").rstrip("\n"), argv0.decode("utf-8", "replace")


def process_table() -> dict[int, Process]:
    """Every process that can be seen, by pid."""
    if not _has_proc():
        return {row.pid: row for row in _ps("-ax")}
    rows = (read_process(int(name)) for name in os.listdir("/proc") if name.isdecimal())
    return {row.pid: row for row in rows if row is not None}


def liveness(
    pid: int,
    start_time: str,
    *,
    kill: Callable[[int, int], None] = os.kill,
    read: Callable[[int], Process | None] = read_process,
) -> Literal["alive", "dead", "unknown"]:
    """Whether the process that had `pid` since `start_time` still lives.

    Only ESRCH, another start time under the pid, or the kernel's own word that it has ended (a zombie)
    prove `dead`. EPERM and every other errno mean that something is there. `unknown` (its start time
    cannot be read) must be treated as alive.
    """
    if pid < 1:
        raise ValueError("a pid is a positive number")
    try:
        kill(pid, 0)
    except ProcessLookupError:
        return "dead"
    except OSError:
        pass
    row = read(pid)
    if row is None:
        return "unknown"
    return "dead" if row.start_time != start_time or row.is_gone else "alive"


def started_since_boot(start_time: str) -> bool:
    """Whether it is proven that a process with this start time was started after the machine was."""
    if _has_proc():
        return start_time.partition(":")[0] == _boot_id()
    import calendar  # heavy, and never needed where there is /proc

    try:
        started = calendar.timegm(time.strptime(start_time, _PS_TIME))
    except ValueError:
        return False
    booted = _sysctl("kern.boottime").partition("sec = ")[2].partition(",")[0]
    return booted.isdecimal() and started >= int(booted)


def carries_launch(pid: int, launch: str) -> bool:
    """Whether the environment of `pid` proves that it was started by `launch`; False where that is hidden."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{ENV_LAUNCH}={launch}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def send_signal(process: Process, number: int) -> bool:
    """Signal exactly this process, never a later user of its pid; False if it is gone."""
    opened = _open_process(process.pid)
    try:
        row = read_process(process.pid)
        if row is None or row.start_time != process.start_time or row.is_gone:
            return False
        if opened >= 0:
            signal.pidfd_send_signal(opened, number)
        else:
            os.kill(process.pid, number)
    except OSError:
        return False
    finally:
        if opened >= 0:
            os.close(opened)
    return True


def _open_process(pid: int) -> int:
    """A descriptor that stays this process's, or -1 where the system has none."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def family_of(leader: int, table: dict[int, Process]) -> list[Process]:
    """The living group of `leader` and its descendants in other groups, `leader` itself left out.

    Only right while `leader` has not been collected, because until then its pid cannot be reused.
    """
    family = {leader}
    grew = True
    while grew:
        found = {row.pid for row in table.values() if row.parent in family} - family
        family |= found
        grew = bool(found)
    return [
        row
        for row in table.values()
        if (row.group == leader or row.pid in family) and row.pid != leader and not row.is_gone
    ]


def _has_proc() -> bool:
    return sys.platform == "linux"


def _boot_id() -> str:
    global _known_boot_id
    if not _known_boot_id:
        with open("/proc/sys/kernel/random/boot_id") as file:
            _known_boot_id = file.read().strip()
    return _known_boot_id


_known_boot_id = ""


def _ps(*selection: str) -> Iterator[Process]:
    for line in _run_ps(*selection, "-o", "pid=,ppid=,pgid=,state=,lstart=").splitlines():
        pid, parent, group, state, *started = line.split()
        yield Process(int(pid), int(parent), int(group), state[:1], " ".join(started))


def _ps_field(pid: int, field: str) -> str:
    return _run_ps("-p", str(pid), "-o", f"{field}=").strip()[:NAME_BYTES]


def _sysctl(name: str) -> str:
    import subprocess

    try:
        command = ["/usr/sbin/sysctl", "-n", name]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def _run_ps(*arguments: str) -> str:
    import subprocess  # heavy, and never needed where there is /proc

    command = ["/bin/ps", *arguments]
    env = {"LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False).stdout
