"""The file: its tables, its version, and the connections to it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from inspan.model.errors import StoreError

__all__ = [
    "BUSY_TIMEOUT_S",
    "MIGRATIONS",
    "PROJECTION_MEANING",
    "PROJECTION_TABLES",
    "SCHEMA_VERSION",
    "check_version",
    "connect_reader",
    "connect_writer",
    "create_tables",
    "lay_out_wal",
    "migrate",
    "missing_log",
    "read_meta",
    "write_meta",
]

SCHEMA_VERSION = 2
"""The version of the tables. A newer file is refused, an older one is migrated."""

PROJECTION_MEANING = 1
"""Grows when events are folded in another way, while the shapes of states and records stay."""

BUSY_TIMEOUT_S = 2.0
"""How long a write waits for another process's lock on the file."""

PROJECTION_TABLES = ("seats", "deliveries", "turns", "permissions", "requests")
"""Tables that can be built anew from the events; the others are primary data."""

_WAL_LIMIT_BYTES = 64 * 1024 * 1024
"""To what size the write-ahead log is cut back after a burst."""

_WAL_AHEAD_BYTES = 6 * 1024 * 1024
"""To what size it is laid out: more than it holds when it is copied into the file and begun anew."""

_ROOM_BYTES = 256 * 1024 * 1024
"""With less room than this on the disk, nothing is laid out ahead."""

# An index entry ends with the row's id, which is the position: an index by seat is also in order of position.
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    seat TEXT NOT NULL,
    launch TEXT,
    session TEXT,
    turn TEXT,
    source TEXT NOT NULL,
    rule TEXT NOT NULL,
    type TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX events_by_seat ON events (seat);
CREATE TABLE cursors (
    launch TEXT PRIMARY KEY,
    seat TEXT NOT NULL,
    offset INTEGER NOT NULL,
    next_op INTEGER NOT NULL,
    snapshot BLOB NOT NULL
);
CREATE TABLE outbox (
    launch TEXT NOT NULL,
    op INTEGER NOT NULL,
    data BLOB NOT NULL,
    purpose TEXT NOT NULL,
    delivery TEXT,
    request TEXT,
    PRIMARY KEY (launch, op)
);
CREATE TABLE seats (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    state BLOB NOT NULL
);
"""

_RECORD_TABLE = """
CREATE TABLE {name} (
    id TEXT PRIMARY KEY,
    seat TEXT NOT NULL,
    position INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    record BLOB NOT NULL
);
CREATE INDEX {name}_by_seat ON {name} (seat, position);
CREATE INDEX {name}_open ON {name} (position) WHERE is_open;
"""


def _add_requests(database: sqlite3.Connection) -> None:
    for statement in _RECORD_TABLE.format(name="requests").split(";"):
        if statement.strip():
            database.execute(statement)


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _add_requests}
"""Schema version to the step that leads to the version after."""


def connect_writer(path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Opens the file for writing and makes it where it is missing (0600, in a 0700 folder).

    A commit returns once it is on the disk. The connection may be handed to another thread.
    """
    _create_file(path)
    database = _connect(f"{path.absolute().as_uri()}?mode=rw", busy_timeout_s)
    try:
        database.execute("PRAGMA journal_mode = WAL").fetchone()
        database.execute("PRAGMA synchronous = FULL")
        # Only macOS knows the difference: there, fsync alone leaves the data in the drive's cache.
        database.execute("PRAGMA fullfsync = ON")
        database.execute("PRAGMA checkpoint_fullfsync = ON")
        database.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
    except BaseException:
        database.close()
        raise
    return database


def lay_out_wal(path: Path) -> None:
    """Makes the write-ahead log as large as it will become, so that commits overwrite it instead of extending it.

    Making a file larger is a change to the file system, which a commit would have to wait for: one in a hundred
    takes ten times as long then. What lies behind the last frame is nothing to SQLite, as after every time that
    it begins the log anew. Call it while nobody writes; it does nothing where it cannot.
    """
    try:
        file = os.open(path.with_name(path.name + "-wal"), os.O_WRONLY)
    except OSError:
        return
    try:
        size_bytes = os.fstat(file).st_size
        room = os.fstatvfs(file)
        if room.f_bavail * room.f_frsize >= _ROOM_BYTES and size_bytes < _WAL_AHEAD_BYTES:
            # Written, not only reserved: the first write to what is reserved changes the file system, too.
            os.pwrite(file, bytes(_WAL_AHEAD_BYTES - size_bytes), size_bytes)
            os.fsync(file)
    except OSError:
        pass
    finally:
        os.close(file)


def connect_reader(path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Opens the file for reading, beside its writer or without one.

    Raises:
        StoreError: `store_failed` where there is no file.
    """
    if not path.exists():
        raise missing_log(path)
    uri = f"{path.absolute().as_uri()}?mode=ro"
    wal = path.with_name(path.name + "-wal")
    if not os.access(path.parent, os.W_OK) and not (wal.exists() and wal.stat().st_size):
        # SQLite wants to make its shared index beside the file. Nobody can write here, so none is needed.
        uri += "&immutable=1"
    return _connect(uri, busy_timeout_s)


def missing_log(path: Path) -> StoreError:
    """The error that says so."""
    return StoreError(
        f"There is no log at {path}.",
        code="store_failed",
        hint="Start the daemon once, or name another home.",
        detail={"file": str(path)},
    )


def create_tables(database: sqlite3.Connection) -> None:
    """Makes the tables of the current version in an empty file, in the open transaction."""
    records = (_RECORD_TABLE.format(name=name) for name in PROJECTION_TABLES if name != "seats")
    # `executescript` would commit the transaction that the caller has open.
    for statement in "".join((_TABLES, *records)).split(";"):
        if statement.strip():
            database.execute(statement)
    write_meta(database, "schema", SCHEMA_VERSION)


def check_version(database: sqlite3.Connection, *, current: int = SCHEMA_VERSION) -> int | None:
    """The version of the file's tables, `None` where it has none yet.

    Raises:
        StoreError: `store_newer`, or `store_corrupt` where the tables are not ours.
    """
    names = {str(row[0]) for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not names:
        return None
    version = read_meta(database, "schema") if "meta" in names else None
    if version is None:
        raise StoreError(
            "The file is an SQLite database, but not a log of Inspan.",
            code="store_corrupt",
            hint="Move it away, or name another home.",
        )
    if version > current:
        raise StoreError(
            f"The log has version {version}; this program knows versions up to {current}.",
            code="store_newer",
            hint="Install the newer Inspan that wrote it.",
            detail={"version": version},
        )
    return version


def migrate(
    database: sqlite3.Connection,
    *,
    current: int = SCHEMA_VERSION,
    steps: Mapping[int, Callable[[sqlite3.Connection], None]] = MIGRATIONS,
) -> None:
    """Brings the file to the current version, in one transaction: all steps, or none."""
    version = check_version(database, current=current)
    if version == current:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        if version is None:
            create_tables(database)
        else:
            for step in range(version, current):
                steps[step](database)
            write_meta(database, "schema", current)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def read_meta(database: sqlite3.Connection, key: str) -> int | None:
    """A number that the file keeps about itself."""
    row = database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else int(row[0])


def write_meta(database: sqlite3.Connection, key: str, value: int) -> None:
    """Sets a number that the file keeps about itself."""
    database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))


def _connect(uri: str, busy_timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )


def _create_file(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    # A file's name is durable only once its folder is.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
