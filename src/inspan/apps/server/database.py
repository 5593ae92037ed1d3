"""The app's SQLite file: one writer at a time, readers that wait for nobody, and transactions that nested calls join.

Everything that one call changes (records, its idempotency key, its audit entry, events, tasks) is one transaction, so
that a process that dies at any instant leaves all of it or nothing. A commit survives the death of the process; it is
synced to the disk at checkpoints, so a power cut can take the last ones with it, whole.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import ContextVar
from pathlib import Path

from inspan.model.errors import StoreError

from .turns import Turns

__all__ = ["BusyError", "Database", "Transaction"]

_WAIT_S = 10.0
_EMPTY_VERSION = 1
_VERSION = 2

_SCHEMA = """
CREATE TABLE records (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  entity TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
  UNIQUE (entity, id)
);
CREATE TABLE events (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE TABLE tasks (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE, event TEXT NOT NULL, status TEXT NOT NULL,
  capability TEXT NOT NULL, payload TEXT NOT NULL,
  claimed_by TEXT, claimed_for TEXT, claimed_at TEXT,
  step TEXT, percent REAL, ask TEXT, result TEXT, reason TEXT,
  deliveries INTEGER NOT NULL DEFAULT 0,
  dedup_key TEXT NOT NULL, dedup_ends INTEGER NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX tasks_by_status ON tasks (status, updated_at);
CREATE INDEX tasks_by_dedup_key ON tasks (dedup_key);
CREATE TABLE idempotency (
  scope TEXT NOT NULL, key TEXT NOT NULL, record_id TEXT NOT NULL, at TEXT NOT NULL,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_time ON idempotency (at);
CREATE TABLE audit (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL, credential_id TEXT, agent_name TEXT, principal TEXT,
  target TEXT NOT NULL, record_id TEXT, outcome TEXT NOT NULL, code TEXT
);
"""


class BusyError(Exception):
    """Another writer held the file for too long. Nothing was done; the same call may be made again."""


class Transaction:
    """One transaction: its connection, whether it is open, and what is to follow once it is committed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.has_changed_records = False
        self.is_open = True
        self._followers: list[Callable[[], None]] = []

    def after_commit(self, follower: Callable[[], None]) -> None:
        """Calls `follower` once the transaction is committed, and never if it is not."""
        self._followers.append(follower)

    def follow(self) -> None:
        """Calls the followers; for the database alone."""
        for follower in self._followers:
            follower()


class Database:
    """The file and its two connections.

    Attributes:
        path: Where the file is.
        record_changes: How many transactions changed records since the file was opened.
        is_new: Whether what it is to hold at the beginning is not there yet; see `mark_filled`.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file, and makes it, mode 0600, where there is none.

        Raises:
            StoreError: It cannot be opened, is no database, or was written by a newer version.
        """
        self.path = path
        self.record_changes = 0
        self.is_new = False
        self._turns = Turns()
        self._current: ContextVar[Transaction | None] = ContextVar("transaction", default=None)
        self._is_read_only: ContextVar[bool] = ContextVar("is_read_only", default=False)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._writer = _connect(path)
            try:
                self._prepare()
                self._reader = _connect(path)
            except BaseException:
                self._writer.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{path} cannot be used: {error}.", hint="Give the app another data folder."
            ) from error

    def close(self) -> None:
        """Closes both connections; calling it twice is safe."""
        self._reader.close()
        self._writer.close()

    def mark_filled(self) -> None:
        """Says, as part of the transaction around it, that what is to be there at the beginning is there."""
        with self.writing() as transaction:
            transaction.connection.execute(f"PRAGMA user_version={_VERSION}")
            transaction.after_commit(self._note_filled)

    @property
    def is_in_transaction(self) -> bool:
        """Whether the running code is inside a transaction."""
        return self._joined() is not None

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A connection to read from: inside a transaction its own, so that it sees what it wrote."""
        current = self._joined()
        yield self._reader if current is None else current.connection

    @contextlib.contextmanager
    def read_only(self) -> Generator[None]:
        """In the block, and in threads and tasks that it starts, nothing can be written."""
        token = self._is_read_only.set(True)
        try:
            yield
        finally:
            self._is_read_only.reset(token)

    @contextlib.contextmanager
    def writing(self) -> Generator[Transaction]:
        """A transaction; inside another one, that one. It is rolled back where the block raises.

        Raises:
            BusyError: Another writer did not end in time.
            PermissionError: The running code is not to write.
        """
        current = self._joined()
        if current is not None:
            yield current
            return
        self._check_may_write()
        # On a loop nobody is waited for: that would keep the writer there from going on.
        if not self._turns.take(0 if _is_on_loop() else _WAIT_S):
            raise BusyError("Another operation is writing.")
        with self._transaction() as transaction:
            yield transaction

    @contextlib.asynccontextmanager
    async def writing_async(self) -> AsyncGenerator[Transaction]:
        """The same for code on an event loop, which goes on while this waits for another writer."""
        current = self._joined()
        if current is not None:
            yield current
            return
        self._check_may_write()
        if not await self._turns.take_async(_WAIT_S):
            raise BusyError("Another operation is writing.")
        with self._transaction() as transaction:
            yield transaction

    def _note_filled(self) -> None:
        self.is_new = False

    def _check_may_write(self) -> None:
        if self._is_read_only.get():
            raise PermissionError("A read-only operation writes.")

    def _joined(self) -> Transaction | None:
        """The transaction around the running code; a task that it left behind is in it no more."""
        current = self._current.get()
        return current if current is not None and current.is_open else None

    @contextlib.contextmanager
    def _transaction(self) -> Generator[Transaction]:
        """Runs the block as one transaction; the turn is ours, and is given back."""
        transaction = Transaction(self._writer)
        token = self._current.set(transaction)
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield transaction
                self._writer.execute("COMMIT")
            except BaseException:
                # A full disk has ended the transaction already.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            if transaction.has_changed_records:
                self.record_changes += 1
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise BusyError("Another process is writing.") from error
            raise
        finally:
            transaction.is_open = False
            self._current.reset(token)
            self._turns.give_back()
        transaction.follow()

    def _prepare(self) -> None:
        version = int(self._writer.execute("PRAGMA user_version").fetchone()[0])
        if version > _VERSION:
            raise StoreError(f"{self.path} was written by a newer version.", code="store_newer")
        self.is_new = version < _VERSION
        if version < _EMPTY_VERSION:
            self._writer.executescript(
                f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version={_EMPTY_VERSION};COMMIT;"
            )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
