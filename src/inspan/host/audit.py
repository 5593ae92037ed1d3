"""The audit record of plugins: every question that code was asked, with how it went and never with what was said."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from inspan.model.errors import InspanError

from .asking import AskedPlugin

__all__ = ["AUDIT_CAP_BYTES", "AUDIT_FILE", "AuditLog", "AuditRecord", "AuditedPlugin"]

AUDIT_FILE = "plugin-audit.jsonl"
AUDIT_CAP_BYTES = 1024 * 1024
"""From which size on the file is put aside, as `plugin-audit.jsonl.1`; the one before is forgotten."""


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question.

    Attributes:
        at: When it was asked.
        harness: Whose plugin.
        method: What it was asked.
        outcome: `answered`, `cancelled`, or the code of its error.
        duration_ms: How long it took.
        pid: Its process, where it has one of its own.
    """

    at: datetime
    harness: str
    method: str
    outcome: str
    duration_ms: float
    pid: int | None = None


class AuditLog:
    """The file, below the home, for its owner alone."""

    def __init__(self, home: Path) -> None:
        self._file = home / AUDIT_FILE

    def append(self, record: AuditRecord) -> None:
        """Adds a record. A disk that takes none must not keep a plugin from being asked."""
        with contextlib.suppress(OSError):
            if self._file.exists() and self._file.stat().st_size >= AUDIT_CAP_BYTES:
                self._file.replace(self._file.with_name(AUDIT_FILE + ".1"))
            handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, msgspec.json.encode(record) + b"\n")
            finally:
                os.close(handle)

    def records(self, harness: str | None = None) -> list[AuditRecord]:
        """What is kept, the oldest first; a line that was cut by a crash is passed over."""
        found: list[AuditRecord] = []
        for file in (self._file.with_name(AUDIT_FILE + ".1"), self._file):
            with contextlib.suppress(FileNotFoundError):
                for line in file.read_bytes().splitlines():
                    with contextlib.suppress(msgspec.MsgspecError):
                        found.append(msgspec.json.decode(line, type=AuditRecord))
        return [record for record in found if harness is None or record.harness == harness]


class AuditedPlugin(AskedPlugin):
    """A plugin whose every question is recorded."""

    def __init__(self, harness: str, plugin: AskedPlugin, log: AuditLog) -> None:
        self._harness = harness
        self._plugin = plugin
        self._log = log

    @property
    def pid(self) -> int | None:
        """The process id of the plugin's own process, while there is one."""
        return getattr(self._plugin, "pid", None)

    async def ask(
        self, method: str, params: msgspec.Struct, *, deadline_s: float | None = None
    ) -> msgspec.Struct:
        """As `AskedPlugin.ask`; how it went is recorded."""
        begun, at, outcome = time.monotonic(), datetime.now(UTC), "cancelled"
        try:
            answer = await self._plugin.ask(method, params, deadline_s=deadline_s)
            outcome = "answered"
        except InspanError as error:
            outcome = error.code
            raise
        except Exception as error:
            outcome = type(error).__name__
            raise
        finally:
            self._log.append(
                AuditRecord(
                    at=at,
                    harness=self._harness,
                    method=method,
                    outcome=outcome,
                    duration_ms=round((time.monotonic() - begun) * 1000, 3),
                    pid=self.pid,
                )
            )
        return answer

    async def close(self) -> None:
        """As `AskedPlugin.close`."""
        await self._plugin.close()
