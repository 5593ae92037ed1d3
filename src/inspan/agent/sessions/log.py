"""One session's file while somebody has it open: appended to by one writer, locked against all others."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import msgspec

from inspan.agent.sessions.records import Header, SessionRecord, decode_record, encode_record
from inspan.model.errors import HarnessError, InspanError, StoreError

__all__ = ["FileLog", "MemoryLog", "SessionLog", "read_file", "read_records"]


class SessionLog(Protocol):
    """Takes a session's records."""

    def read(self) -> list[SessionRecord]:
        """All records so far.

        Raises:
            StoreError: They cannot be read.
        """
        ...

    def append(self, record: SessionRecord) -> None:
        """Adds a record. After it returns, the record survives the end of this process.

        Raises:
            StoreError: `store_full` or `store_failed`; nothing was added.
        """
        ...

    async def sync(self) -> None:
        """Returns when all that was appended survives the end of the machine.

        Raises:
            StoreError: It may not.
        """
        ...

    def close(self) -> None:
        """Lets go of the file. Calling it twice is safe."""
        ...


class MemoryLog:
    """Keeps records in memory, for an agent whose sessions end with it."""

    def __init__(self, records: Iterable[SessionRecord] = ()) -> None:
        self._records = list(records)

    def read(self) -> list[SessionRecord]:
        """All records."""
        return list(self._records)

    def append(self, record: SessionRecord) -> None:
        """Takes a record."""
        self._records.append(record)

    async def sync(self) -> None:
        """Returns at once."""

    def close(self) -> None:
        """Does nothing."""


class FileLog:
    """Appends to a file that only it may write.

    Args:
        path: The file.
        is_new: Whether it is made, 0600; it must not be there yet.

    Raises:
        HarnessError: `session_in_use`: another one has it open; `session_missing`: it is not there.
        StoreError: It cannot be opened or made.
    """

    def __init__(self, path: Path, *, is_new: bool) -> None:
        flags = (
            os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if is_new else 0)
        )
        try:
            self._file: int | None = os.open(path, flags, 0o600)
        except FileNotFoundError:
            if is_new:
                raise _failed("The folder of sessions is not there.") from None
            raise HarnessError("There is no such session.", code="session_missing") from None
        except OSError as error:
            raise store_error(error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(self._file).st_nlink == 0:
                raise HarnessError("There is no such session.", code="session_missing")
            self._size = os.fstat(self._file).st_size
        except BlockingIOError:
            self.close()
            raise HarnessError(
                "The session is open in another place.",
                code="session_in_use",
                hint="Close it there, or fork it.",
            ) from None
        except InspanError:
            self.close()
            raise

    def read(self) -> list[SessionRecord]:
        """All records. A torn end is cut off the file first, so that what is appended stands on a line of its own.

        Raises:
            StoreError: `store_corrupt` for a line in the middle, `store_newer` for a file of a later form.
        """
        file = self._open_file()
        data = _read_all(file, self._size)
        records, good = read_records(data)
        if good < len(data):
            try:
                os.ftruncate(file, good)
            except OSError as error:
                raise store_error(error) from None
            self._size = good
        return records

    def append(self, record: SessionRecord) -> None:
        """Adds a record. See `SessionLog.append`."""
        self.append_all((record,))

    def append_all(self, records: Iterable[SessionRecord]) -> None:
        """Adds records, all of them or none."""
        file = self._open_file()
        data = b"".join(map(encode_record, records))
        try:
            written = 0
            while written < len(data):
                written += os.write(file, memoryview(data)[written:])
        except OSError as error:
            try:
                os.ftruncate(file, self._size)
            except OSError:  # what is added after half a line could not be read: nothing is
                self.close()
            raise store_error(error) from None
        self._size += len(data)

    async def sync(self) -> None:
        """Returns when all that was appended is on the disk. See `SessionLog.sync`."""
        try:
            file = os.dup(self._open_file())
        except OSError as error:
            raise store_error(error) from None
        # The thread cannot be stopped: a cancelled caller leaves it to close its own copy.
        await asyncio.shield(asyncio.to_thread(_sync_and_close, file))

    def close(self) -> None:
        """Lets go of the file."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _open_file(self) -> int:
        if self._file is None:
            raise StoreError("The session is closed.", code="store_failed")
        return self._file


def read_file(path: Path) -> list[SessionRecord]:
    """The whole records of a file that somebody else may be writing; what is torn at its end is left out.

    Raises:
        HarnessError: `session_missing`.
        StoreError: As `read_records`, or it cannot be read.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise HarnessError("There is no such session.", code="session_missing") from None
    except OSError as error:
        raise store_error(error) from None
    try:
        records, _ = read_records(_read_all(file, os.fstat(file).st_size))
    finally:
        os.close(file)
    return records


def read_records(data: bytes) -> tuple[list[SessionRecord], int]:
    """The records in a file, and how many bytes of it hold whole ones.

    Raises:
        StoreError: `store_corrupt` or `store_newer`.
    """
    records: list[SessionRecord] = []
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        try:
            record = decode_record(data[start:end])
        except msgspec.MsgspecError:
            if data.find(b"\n", end + 1) < 0:
                break
            _check_format(records)
            raise StoreError(
                f"Line {len(records) + 1} of the session cannot be read.",
                code="store_corrupt",
                detail={"line": len(records) + 1},
            ) from None
        records.append(record)
        start = end + 1
    _check_format(records)
    return records, start


def _check_format(records: list[SessionRecord]) -> None:
    header = records[0] if records else None
    if isinstance(header, Header) and header.format > 1:
        raise StoreError("The session was written by a newer version.", code="store_newer")


def store_error(error: OSError) -> StoreError:
    """What the system said, as an error for the operator. Paths are left out."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError("There is no room on the disk for the session.", code="store_full")
    return _failed(f"The session could not be kept: {os.strerror(error.errno or errno.EIO)}.")


def _failed(fact: str) -> StoreError:
    return StoreError(fact, code="store_failed")


def _read_all(file: int, size: int) -> bytes:
    chunks: list[bytes] = []
    offset = 0
    while offset < size:
        chunk = os.pread(file, min(size - offset, 1 << 24), offset)
        if not chunk:
            break
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)


def _sync_and_close(file: int) -> None:
    try:
        getattr(os, "fdatasync", os.fsync)(file)
    except OSError as error:
        raise store_error(error) from None
    finally:
        os.close(file)
