"""The queue of work for agents: who has which task, how far it is, and what happens when nothing is heard of it.

A task is `submitted`, then `working` for who claimed it (or `input-required`, when the agent asks), then `completed`,
`failed` or `canceled` for good. One that is `working` and of which nothing was heard for a minute goes back to the queue,
and fails with `redelivery_exhausted` once it went back five times.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from .caller import Caller
from .clock import Clock, iso
from .database import Database, Transaction

__all__ = ["LEASE_S", "MOST_DELIVERIES", "STATUSES", "TERMINAL", "Status", "Task", "TaskQueue"]

Status = Literal["submitted", "working", "input-required", "completed", "failed", "canceled"]

STATUSES: tuple[Status, ...] = ("submitted", "working", "input-required", "completed", "failed", "canceled")
TERMINAL: frozenset[Status] = frozenset(["completed", "failed", "canceled"])

LEASE_S = 60.0
"""How long nothing may be heard of a task that is `working`."""

MOST_DELIVERIES = 5
"""How often a task may go back to the queue."""

_POLL_AFTER_MS = 2000
_MOST_LISTED = 1000
_COLUMNS = (
    "id",
    "event",
    "status",
    "capability",
    "payload",
    "claimed_by",
    "claimed_for",
    "claimed_at",
    "step",
    "percent",
    "ask",
    "result",
    "reason",
    "deliveries",
    "created_at",
    "updated_at",
)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM tasks "  # noqa: S608 - the columns stand above


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task.

    Attributes:
        id: Its id.
        event: The event that made it.
        status: Where it is.
        capability: What an agent must be able to do.
        payload: What it is about.
        claimed_by: The credential that claimed it.
        claimed_for: On whose behalf.
        claimed_at: When; it is another time for each claim of a task, so that it names the claim.
        step: What the agent said last.
        percent: How far it says it is.
        ask: What it wants to know, while it waits for input.
        result: What came of it.
        reason: Why it failed.
        deliveries: How often it went back to the queue.
        created_at: When it was made.
        updated_at: When it changed last.
    """

    id: str
    event: str
    status: Status
    capability: str
    payload: Any
    claimed_by: str | None
    claimed_for: str | None
    claimed_at: str | None
    step: str | None
    percent: float | None
    ask: Any
    result: Any
    reason: str | None
    deliveries: int
    created_at: str
    updated_at: str

    def to_wire(self, app_id: str) -> dict[str, Any]:
        """The task as the wire has it. `deliveries` is ours, and so is `ask`, which is there while it is open."""
        is_claimed = self.claimed_at is not None
        return {
            "id": self.id,
            "app": app_id,
            "event": self.event,
            "status": self.status,
            "request": {"capability": self.capability, "payload": self.payload},
            "claim": {
                "credentialId": self.claimed_by,
                "principal": self.claimed_for,
                "claimedAt": self.claimed_at,
            }
            if is_claimed
            else None,
            "progress": {"step": self.step, "percent": self.percent},
            "result": self.result,
            "reason": self.reason,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "pollAfterMs": _POLL_AFTER_MS,
            "deliveries": self.deliveries,
            **({"ask": self.ask} if self.status == "input-required" else {}),
        }


class TaskQueue:
    """The tasks of one app. Who may do what to a task is decided by the routes; here it is done, or not, at once."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        lease_s: float = LEASE_S,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        """Works on `database`; `on_change` is called after a transaction in which a task changed."""
        self._database = database
        self._clock = clock
        self._lease = timedelta(seconds=lease_s)
        self._on_change = on_change

    def enqueue(
        self, *, event: str, capability: str, payload: Any, dedup_key: str, dedup_ends: bool
    ) -> tuple[str, bool]:
        """Adds a task, and gives its id and whether it is new.

        A task of the same key is given instead: where the key ends with its task, only one that is not at its end.
        """
        with self._database.writing() as transaction:
            row = transaction.connection.execute(
                "SELECT id FROM tasks WHERE dedup_key = ? AND dedup_ends = ?"
                " AND (NOT dedup_ends OR status NOT IN ('completed', 'failed', 'canceled')) ORDER BY position LIMIT 1",
                (dedup_key, dedup_ends),
            ).fetchone()
            if row is not None:
                return str(row[0]), False
            task_id, now = f"tsk_{secrets.token_hex(8)}", iso(self._clock())
            transaction.connection.execute(
                "INSERT INTO tasks (id, event, status, capability, payload, dedup_key, dedup_ends, created_at, updated_at)"
                " VALUES (?, ?, 'submitted', ?, ?, ?, ?, ?, ?)",
                (task_id, event, capability, _dump(payload), dedup_key, dedup_ends, now, now),
            )
            self._changed(transaction)
        return task_id, True

    def list(self, status: str | None = None) -> list[Task]:
        """The newest thousand tasks, or those of a status; the oldest of them first."""
        where, values = ("WHERE status = ?", (status,)) if status is not None else ("", ())
        with self._database.reading() as connection:
            rows = connection.execute(
                _SELECT + where + " ORDER BY position DESC LIMIT ?",
                (*values, _MOST_LISTED),
            ).fetchall()
        return [_task(row) for row in reversed(rows)]

    def get(self, task_id: str) -> Task | None:
        """One task, or `None`."""
        with self._database.reading() as connection:
            row = connection.execute(_SELECT + "WHERE id = ?", (task_id,)).fetchone()
        return None if row is None else _task(row)

    def claim(self, task: Task, caller: Caller) -> Task:
        """Gives the task, which is submitted, to the caller."""
        now = self._clock()
        with self._database.writing() as transaction:
            previous = transaction.connection.execute(
                "SELECT claimed_at FROM tasks WHERE id = ?", (task.id,)
            ).fetchone()[0]
            if previous is not None and iso(now) <= previous:
                now = datetime.fromisoformat(previous) + timedelta(milliseconds=1)
            return self._write(
                transaction,
                task.id,
                "status = 'working', claimed_by = ?, claimed_for = ?, claimed_at = ?",
                (caller.credential_id, caller.principal, iso(now)),
            )

    def progress(self, task: Task, *, step: str | None, percent: float | None, ask: Any) -> Task:
        """Notes how far it is. With something to ask it waits for input, without it works."""
        with self._database.writing() as transaction:
            return self._write(
                transaction,
                task.id,
                "status = ?, step = coalesce(?, step), percent = coalesce(?, percent), ask = ?",
                (
                    "working" if ask is None else "input-required",
                    step,
                    percent,
                    None if ask is None else _dump(ask),
                ),
            )

    def complete(self, task: Task, result: Any) -> Task:
        """Ends it well."""
        with self._database.writing() as transaction:
            return self._write(transaction, task.id, "status = 'completed', result = ?", (_dump(result),))

    def fail(self, task: Task, reason: str) -> Task:
        """Ends it badly."""
        with self._database.writing() as transaction:
            return self._write(transaction, task.id, "status = 'failed', reason = ?", (reason,))

    def cancel(self, task: Task) -> Task:
        """Ends it at once: whoever works at it hears so at the next word."""
        with self._database.writing() as transaction:
            return self._write(transaction, task.id, "status = 'canceled'", ())

    async def sweep(self) -> int:
        """Takes tasks from agents of which nothing was heard for the length of a lease; how many.

        It writes only where there is one.

        Raises:
            BusyError: Another writer did not end in time.
        """
        oldest = iso(self._clock() - self._lease)
        with self._database.reading() as connection:
            if not self._silent(connection, oldest):
                return 0
        async with self._database.writing_async() as transaction:
            silent = self._silent(transaction.connection, oldest)
            for task_id, deliveries in silent:
                if deliveries >= MOST_DELIVERIES:
                    self._write(
                        transaction, task_id, "status = 'failed', reason = ?", ("redelivery_exhausted",)
                    )
                else:
                    # The time of the claim stays in its column, so that the next claim gets a later one.
                    self._write(
                        transaction,
                        task_id,
                        "status = 'submitted', claimed_by = NULL, claimed_for = NULL, ask = NULL,"
                        " deliveries = deliveries + 1",
                        (),
                    )
        return len(silent)

    def next_sweep_s(self) -> float | None:
        """In how many seconds a sweep could find something; `None` while nobody works."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT min(updated_at) FROM tasks WHERE status = 'working'").fetchone()
        if row[0] is None:
            return None
        due = datetime.fromisoformat(row[0]).astimezone(UTC) + self._lease
        return max(0.0, (due - self._clock()).total_seconds())

    @staticmethod
    def _silent(connection: Any, oldest: str) -> list[tuple[str, int]]:
        return connection.execute(
            "SELECT id, deliveries FROM tasks WHERE status = 'working' AND updated_at <= ?", (oldest,)
        ).fetchall()

    def _write(self, transaction: Transaction, task_id: str, what: str, values: tuple[object, ...]) -> Task:
        transaction.connection.execute(
            f"UPDATE tasks SET {what}, updated_at = ? WHERE id = ?",  # noqa: S608 - `what` stands in this module
            (*values, iso(self._clock()), task_id),
        )
        self._changed(transaction)
        row = transaction.connection.execute(_SELECT + "WHERE id = ?", (task_id,)).fetchone()
        return _task(row)

    def _changed(self, transaction: Transaction) -> None:
        if self._on_change is not None:
            transaction.after_commit(self._on_change)


def _task(row: tuple[Any, ...]) -> Task:
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in ("payload", "ask", "result"):
        values[name] = None if values[name] is None else msgspec.json.decode(values[name])
    if values["status"] == "submitted":
        values["claimed_at"] = None
    return Task(**values)


def _dump(value: Any) -> str:
    return msgspec.json.encode(value).decode()
