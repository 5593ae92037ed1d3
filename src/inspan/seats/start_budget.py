"""Start budgets: how long a start may take. The first one of a program may have to fetch or build something first."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import msgspec

from inspan.model.plan import LaunchPlan

__all__ = ["Start", "StartMemory", "budget_s"]

_log = logging.getLogger("inspan.seats")


class Start(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One start of a program.

    Attributes:
        of: What is started: the harness and its mode.
        stamp: The program's file, its size and its time; another version of it has another stamp.
        is_cold: It was never ready before.
    """

    of: str
    stamp: str
    is_cold: bool


class StartMemory:
    """Remembers which programs were ready before on this machine. To forget it costs a longer wait, never more.

    Args:
        file: Where it is kept.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def look_up(self, harness: str, mode: str, program: str) -> Start:
        """A start of `program`, and whether it is the first of this file."""
        of, stamp = f"{harness}/{mode}", _stamp_of(program)
        return Start(of=of, stamp=stamp, is_cold=self._read().get(of) != stamp)

    def note_ready(self, start: Start) -> None:
        """Remembers that the program was ready."""
        known = self._read()
        if known.get(start.of) == start.stamp:
            return
        new = self._file.with_name(f"{self._file.name}.new")
        try:
            new.write_bytes(msgspec.json.encode({**known, start.of: start.stamp}))
            new.chmod(0o600)
            new.replace(self._file)
        except OSError as error:
            _log.info("%s cannot be written: %s", self._file.name, error.strerror)

    def _read(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return {}


def budget_s(plan: LaunchPlan, start: Start) -> float:
    """Seconds until a session must be open."""
    cold_s = plan.cold_start_timeout_s
    return plan.handshake_timeout_s if cold_s is None or not start.is_cold else cold_s


def _stamp_of(program: str) -> str:
    try:
        file = os.path.realpath(program)
        found = os.stat(file)
    except OSError:
        return program
    return f"{file}:{found.st_size}:{found.st_mtime_ns}"
