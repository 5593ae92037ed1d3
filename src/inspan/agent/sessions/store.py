"""Where an agent's sessions are kept: one file each, in a folder that only their owner may read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from inspan.agent.conversation import UserMessage
from inspan.agent.private_folders import make_private
from inspan.agent.sessions.history import History, title_of
from inspan.agent.sessions.log import FileLog, read_file, store_error
from inspan.agent.sessions.records import (
    Header,
    MessageKept,
    PermissionKept,
    SessionRecord,
    SessionSettings,
    SettingsKept,
    TurnBegan,
    TurnFinished,
    decode_record,
)
from inspan.model.errors import HarnessError

__all__ = ["SESSION_ID", "SessionInfo", "SessionStore", "copied"]

SESSION_ID = re.compile(r"s_[0-9a-z]{10,40}")
"""A session's id, whole."""

_LOOKED_AT = 256 << 10


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A session as a list shows it.

    Attributes:
        id: The session; a secret in logs.
        workspace: The folder it works in.
        title: A few words of its first prompt; empty before it.
        created_at: UTC.
        updated_at: When its file was last written, UTC.
        forked_from: The session it was copied from, or empty.
    """

    id: str
    workspace: str
    title: str
    created_at: datetime
    updated_at: datetime
    forked_from: str = ""


class SessionStore:
    """Opens, lists, copies and deletes sessions. Nothing is made before the first session is.

    Args:
        folder: `<home>/agent/sessions`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, header: Header, settings: SessionSettings) -> FileLog:
        """Begins a session.

        Raises:
            StoreError: It cannot be kept.
        """
        return self._begin((header, SettingsKept(at=header.created_at, settings=settings)), header.id)

    def open(self, session_id: str) -> tuple[FileLog, History]:
        """Opens a session to go on with.

        Raises:
            HarnessError: `session_missing` or `session_in_use`.
            StoreError: It cannot be read.
        """
        log = FileLog(self._path(session_id), is_new=False)
        try:
            history = _whole(History(log.read()))
        except BaseException:
            log.close()
            raise
        return log, history

    def read(self, session_id: str) -> list[SessionRecord]:
        """The records of a session. One that another process has open is read up to the turn that runs there.

        Raises:
            HarnessError: `session_missing`.
            StoreError: It cannot be read.
        """
        try:
            log = FileLog(self._path(session_id), is_new=False)
        except HarnessError as error:
            if error.code != "session_in_use":
                raise
            return _without_open_turn(read_file(self._path(session_id)))
        try:
            return log.read()
        finally:
            log.close()

    def begin_copy(self, records: list[SessionRecord], new_id: str) -> tuple[FileLog, History]:
        """Begins a session with another one's records; see `copied`."""
        copy = copied(records, new_id)
        history = _whole(History(copy))  # before a file is made
        return self._begin(copy, new_id), history

    def delete(self, session_id: str) -> None:
        """Deletes a session.

        Raises:
            HarnessError: `session_missing` or `session_in_use`.
        """
        path = self._path(session_id)
        log = FileLog(path, is_new=False)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise store_error(error) from None
        finally:
            log.close()

    def list(self) -> tuple[SessionInfo, ...]:
        """All sessions, the last written first. What cannot be read is left out."""
        try:
            entries = [entry for entry in os.scandir(self._folder) if entry.name.endswith(".jsonl")]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise store_error(error) from None
        found = [info for entry in entries if (info := _info(Path(entry.path))) is not None]
        return tuple(sorted(found, key=lambda info: (info.updated_at, info.id), reverse=True))

    def _begin(self, records: Sequence[SessionRecord], session_id: str) -> FileLog:
        path = self._path(session_id)
        try:
            make_private(self._folder)
        except OSError as error:
            raise store_error(error) from None
        log = FileLog(path, is_new=True)
        try:
            log.append_all(records)
        except BaseException:
            log.close()
            path.unlink(missing_ok=True)
            raise
        return log

    def _path(self, session_id: str) -> Path:
        if not SESSION_ID.fullmatch(session_id):
            raise _missing()
        return self._folder / f"{session_id}.jsonl"


def copied(records: Sequence[SessionRecord], new_id: str) -> list[SessionRecord]:
    """A session's records as those of a new one. The permission log stays with the original.

    Raises:
        HarnessError: `session_missing`: there is no header.
    """
    header = next((one for one in records if isinstance(one, Header)), None)
    if header is None:
        raise _missing()
    copy = Header(
        format=header.format,
        id=new_id,
        workspace=header.workspace,
        created_at=datetime.now(UTC),
        forked_from=header.id,
    )
    return [copy, *(one for one in records if not isinstance(one, (Header, PermissionKept)))]


def _without_open_turn(records: list[SessionRecord]) -> list[SessionRecord]:
    """The records before the turn that has begun and not ended."""
    for index in range(len(records) - 1, -1, -1):
        match records[index]:
            case TurnFinished():
                break
            case TurnBegan():
                return records[:index]
            case _:
                pass
    return records


def _whole(history: History) -> History:
    if history.header is None or history.settings is None:
        raise _missing()
    history.settle()
    return history


def _info(path: Path) -> SessionInfo | None:
    try:
        with path.open("rb") as file:
            data = file.read(_LOOKED_AT)
            written_at = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    header: Header | None = None
    for line in data.split(b"\n"):
        try:
            record = decode_record(line)
        except msgspec.MsgspecError:
            break
        match record:
            case Header():
                header = record
            case MessageKept(message=UserMessage() as message) if header is not None:
                return _described(header, title_of(message), written_at)
            case _:
                pass
    return _described(header, "", written_at) if header is not None else None


def _described(header: Header, title: str, written_at: float) -> SessionInfo:
    return SessionInfo(
        id=header.id,
        workspace=header.workspace,
        title=title,
        created_at=header.created_at,
        updated_at=datetime.fromtimestamp(written_at, UTC),
        forked_from=header.forked_from,
    )


def _missing() -> HarnessError:
    return HarnessError(
        "There is no such session.", code="session_missing", hint="List the sessions that there are."
    )
