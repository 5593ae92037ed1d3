"""Who a process is: a pid alone is not enough, since the system gives it out again."""

from __future__ import annotations

import os
import sys
import time

__all__ = ["birth_of", "end_tree", "is_alive", "is_same_process"]

_POLL_S = 0.02


def is_alive(pid: int) -> bool:
    """Whether some process has this pid and has not ended; one that waits to be collected counts as ended."""
    if pid < 1:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's process is alive all the same
    except OverflowError:
        return False
    return _state_of(pid) not in ("Z", "X")


def birth_of(pid: int) -> str:
    """An opaque text that tells this process from an earlier or later one with its pid, across reboots too.

    Empty where there is no such process or the system does not say.
    """
    if pid < 1:
        return ""
    if sys.platform == "linux":
        fields = _stat_of(pid)
        return f"{_boot_id()}:{fields[19]}" if len(fields) > 19 else ""
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except (psutil.Error, OverflowError):
        return ""


def is_same_process(pid: int, birth: str) -> bool:
    """Whether `pid` lives and was born when `birth` says.

    An empty `birth` (a record of the original programs, which keep none) is believed: whoever acts on it needs
    further evidence, such as an app's own answer on its port.
    """
    if not is_alive(pid):
        return False
    found = birth_of(pid)
    return not birth or not found or found == birth


def end_tree(pid: int, birth: str = "", *, term_s: float = 5.0, kill_s: float = 2.0) -> bool:
    """Ends a process, its descendants and its process group: TERM, a wait, KILL, a wait.

    Nothing is signalled if `birth` tells that the pid is somebody else's by now, and never this process, its
    own group or pid 1.

    Returns:
        Whether all of them are gone.
    """
    import signal

    import psutil

    if pid <= 1 or pid == os.getpid() or not is_same_process(pid, birth):
        return True
    try:
        leader = psutil.Process(pid)
        family = [leader, *leader.children(recursive=True)]
    except psutil.NoSuchProcess:
        return True
    group = _group_led_by(pid)
    _signal(family, group, signal.SIGTERM)
    _, left = psutil.wait_procs(family, timeout=term_s)
    if left or _has_members(group):
        for one in list(left):
            try:
                left.extend(one.children(recursive=True))
            except psutil.Error:
                continue
        _signal(left, group, signal.SIGKILL)
        _, left = psutil.wait_procs(left, timeout=kill_s)
        deadline = time.monotonic() + kill_s
        while _has_members(group) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
    return not [one for one in left if is_alive(one.pid)]


def _signal(family: list[psutil.Process], group: int, number: int) -> None:
    import psutil

    if group:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            group = 0
    for one in family:
        try:
            one.send_signal(number)
        except psutil.Error:
            continue


def _group_led_by(pid: int) -> int:
    """The process group that `pid` leads, or 0: one that it merely belongs to may be that of a terminal's shell."""
    try:
        group = os.getpgid(pid)
    except OSError:
        return 0
    return group if group == pid and group != os.getpgrp() else 0


def _has_members(group: int) -> bool:
    if not group:
        return False
    import psutil

    for one in psutil.process_iter():
        try:
            if os.getpgid(one.pid) == group and is_alive(one.pid):
                return True
        except (OSError, psutil.Error):
            continue
    return False


def _stat_of(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` from the state on; the name before it may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("ascii", "replace")
    except OSError:
        return []
    return text[text.rfind(")") + 2 :].split()


def _state_of(pid: int) -> str:
    if sys.platform == "linux":
        fields = _stat_of(pid)
        return fields[0] if fields else ""
    import psutil

    try:
        return "Z" if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE else ""
    except psutil.Error:
        return ""


def _boot_id() -> str:
    global _known_boot_id
    if not _known_boot_id:
        try:
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                _known_boot_id = file.read().strip()
        except OSError:
            return "?"
    return _known_boot_id


_known_boot_id = ""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import psutil
