"""Memory of processes: what each adds to the machine, with shared pages divided among those who share them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import psutil

__all__ = ["pss_mb", "rss_mb", "with_children"]

_MB = 1 << 20


def pss_mb(pids: Iterable[int]) -> float:
    """The proportional set size of processes together, in MiB; those that are gone count nothing.

    Raises:
        OSError: The system does not tell it (it is Linux's own measure).
    """
    if not sys.platform.startswith("linux"):
        raise OSError("the proportional set size is told by Linux alone")
    return sum(_pss_kb(pid) for pid in pids) / 1024


def rss_mb(pids: Iterable[int]) -> float:
    """The resident set size of processes together, in MiB; pages that they share count once for each."""
    return sum(psutil.Process(pid).memory_info().rss for pid in pids) / _MB


def with_children(pid: int) -> list[int]:
    """A process and all that it started and is still its descendant."""
    process = psutil.Process(pid)
    return [pid, *(child.pid for child in process.children(recursive=True))]


def _pss_kb(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
