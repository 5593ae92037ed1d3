"""What the server remembers of calls: keys that were used, approvals that were asked for, and the audit."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any, Literal

import msgspec
import rfc8785

from .caller import Caller
from .clock import Clock, iso
from .database import Database

__all__ = ["AUDIT_SIZE", "Approvals", "Audit", "AuditEntry", "Idempotency", "approval_key"]

AUDIT_SIZE = 5000
"""How many entries the audit keeps: the newest."""

_KEPT = timedelta(hours=48)
_APPROVAL_LIFE = timedelta(minutes=10)
_MOST_APPROVALS = 1000


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One write that was made or refused.

    Attributes:
        at: When, in UTC.
        credential_id: By which credential; `None` where the caller was not known.
        agent_name: By whom, as far as that is known.
        principal: On whose behalf.
        target: `data:ENTITY`, `op:NAME`, `task:VERB` or `rate:CLASS`.
        record_id: Which record or task.
        outcome: Whether it was done.
        code: Why it was not.
    """

    at: str
    target: str
    outcome: Literal["ok", "rejected"]
    credential_id: str | None = None
    agent_name: str | None = None
    principal: str | None = None
    record_id: str | None = None
    code: str | None = None


class Idempotency:
    """Keys of writes that were done, each with its record, for 48 hours. They are part of the write's transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Works on `database`."""
        self._database = database
        self._clock = clock

    def find(self, scope: str, key: str) -> str | None:
        """The record (or operation) that the key was used for, or `None`."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT record_id FROM idempotency WHERE scope = ? AND key = ?", (scope, key)
            ).fetchone()
        return None if row is None else str(row[0])

    def put(self, scope: str, key: str, record_id: str) -> None:
        """Remembers that the key was used."""
        now = self._clock()
        with self._database.writing() as transaction:
            transaction.connection.execute(
                "INSERT OR REPLACE INTO idempotency (scope, key, record_id, at) VALUES (?, ?, ?, ?)",
                (scope, key, record_id, iso(now)),
            )
            transaction.connection.execute("DELETE FROM idempotency WHERE at < ?", (iso(now - _KEPT),))


class Approvals:
    """Calls of destructive operations that were asked for and may be approved: once each, within ten minutes.

    In memory: after a restart an approval is asked for anew.
    """

    def __init__(self, clock: Clock) -> None:
        """Holds none."""
        self._clock = clock
        self._asked: dict[str, float] = {}

    def ask(self, key: str) -> None:
        """Remembers that the call with this key was refused for want of an approval."""
        self._drop_old()
        self._asked.pop(key, None)
        if len(self._asked) >= _MOST_APPROVALS:
            self._asked.pop(next(iter(self._asked)))
        self._asked[key] = self._clock().timestamp()

    def use(self, key: str) -> bool:
        """Whether the key may be used; from then on it may not."""
        self._drop_old()
        return self._asked.pop(key, None) is not None

    def _drop_old(self) -> None:
        oldest = self._clock().timestamp() - _APPROVAL_LIFE.total_seconds()
        self._asked = {key: asked for key, asked in self._asked.items() if asked > oldest}


class Audit:
    """The newest writes, done and refused."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Works on `database`."""
        self._database = database
        self._clock = clock

    def add(
        self, caller: Caller | None, target: str, record_id: str | None = None, *, code: str | None = None
    ) -> None:
        """Adds an entry: a refusal where there is a `code`. It is part of the transaction around it, if there is one."""
        with self._database.writing() as transaction:
            done = transaction.connection.execute(
                "INSERT INTO audit (at, credential_id, agent_name, principal, target, record_id, outcome, code)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    iso(self._clock()),
                    caller and caller.credential_id,
                    caller and caller.agent_name,
                    caller and caller.principal,
                    target,
                    record_id,
                    "rejected" if code else "ok",
                    code,
                ),
            )
            transaction.connection.execute(
                "DELETE FROM audit WHERE position <= ?", ((done.lastrowid or 0) - AUDIT_SIZE,)
            )

    def entries(self, limit: int = AUDIT_SIZE) -> list[AuditEntry]:
        """The newest entries, the oldest of them first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT at, credential_id, agent_name, principal, target, record_id, outcome, code"
                " FROM audit ORDER BY position DESC LIMIT ?",
                (limit,),
            ).fetchall()
        names = ("at", "credential_id", "agent_name", "principal", "target", "record_id", "outcome", "code")
        return [AuditEntry(**dict(zip(names, row, strict=True))) for row in reversed(rows)]


def approval_key(operation: str, args: dict[str, Any]) -> str:
    """The key of one exact call: SHA-256, in hexadecimal, of its canonical JSON (RFC 8785)."""
    return hashlib.sha256(rfc8785.dumps({"args": args, "operation": operation})).hexdigest()
