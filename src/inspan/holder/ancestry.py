"""Ancestry: the processes that a process comes from, as the kernel says."""

from __future__ import annotations

from .program.processes import read_process

__all__ = ["ancestors_of"]

_DEEPEST = 64


def ancestors_of(pid: int) -> frozenset[int]:
    """The process itself and its ancestors, without the first process of the system; those that can be seen."""
    found: set[int] = set()
    while pid > 1 and pid not in found and len(found) < _DEEPEST:
        row = read_process(pid)
        if row is None:
            break
        found.add(pid)
        pid = row.parent
    return frozenset(found)
