"""The sessions of one agent: those that are open here, and the store that keeps all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from inspan.agent.hook_events import SessionStart
from inspan.agent.session import Session, SessionGround
from inspan.agent.sessions.history import History
from inspan.agent.sessions.log import MemoryLog, SessionLog
from inspan.agent.sessions.records import FORMAT, Header, SessionSettings, SettingsKept
from inspan.agent.sessions.store import SessionInfo, SessionStore, copied
from inspan.model.errors import HarnessError, StoreError, UsageError
from inspan.model.ids import new_id

__all__ = ["OpenSessions"]


class OpenSessions:
    """Begins, resumes, forks, lists and deletes sessions.

    Args:
        ground: What each of them is given.
        store: Where they are kept; None keeps them in memory alone, and they end with the agent.
    """

    def __init__(self, ground: SessionGround, store: SessionStore | None) -> None:
        self._ground = ground
        self._store = store
        self._open: dict[str, Session] = {}

    @property
    def open(self) -> Mapping[str, Session]:
        """Those that are open, by id, as they are at any time."""
        return self._open

    async def begin(self, workspace: Path, settings: SessionSettings) -> Session:
        """Begins a session.

        Raises:
            StoreError: It cannot be kept.
        """
        header = Header(format=FORMAT, id=new_id("s"), workspace=str(workspace), created_at=datetime.now(UTC))
        kept = SettingsKept(at=header.created_at, settings=settings)
        log: SessionLog
        log = MemoryLog((header, kept)) if self._store is None else self._store.create(header, settings)
        return await self._hold(log, History((header, kept)), is_resumed=False)

    async def resume(self, session_id: str) -> Session:
        """Opens a session again. See `Agent.resume_session`."""
        while (known := self._open.get(session_id)) is not None:
            if not known.is_closed:
                return known
            await known.close()  # somebody closes it just now: it is opened anew when that is done
        if self._store is None:
            raise _missing()
        log, history = self._store.open(session_id)
        return await self._hold(log, history, is_resumed=True)

    async def fork(self, session_id: str) -> Session:
        """Begins a session with a copy of another one. See `Agent.fork_session`."""
        known = self._open.get(session_id)
        if self._store is None:
            if known is None:
                raise _missing()
            records = copied(known.records(), new_id("s"))
            return await self._hold(MemoryLog(records), History(records), is_resumed=False)
        original = known.records() if known is not None else self._store.read(session_id)
        log, history = self._store.begin_copy(original, new_id("s"))
        return await self._hold(log, history, is_resumed=False)

    def list(self) -> tuple[SessionInfo, ...]:
        """All that are kept, the last used first; where none are, the open ones."""
        if self._store is not None:
            return self._store.list()
        return tuple(_info(session) for session in reversed(self._open.values()))

    async def delete(self, session_id: str) -> None:
        """Closes a session if it is open here, and deletes it. See `Agent.delete_session`."""
        known = self._open.get(session_id)
        if known is not None:
            await known.close()
        if self._store is not None:
            self._store.delete(session_id)
        elif known is None:
            raise _missing()

    async def close(self) -> None:
        """Closes those that are open, each to its end whatever another one does."""
        closing = (session.close() for session in tuple(self._open.values()))
        for problem in await asyncio.gather(*closing, return_exceptions=True):
            if problem is not None:
                raise problem

    async def _hold(self, log: SessionLog, history: History, *, is_resumed: bool) -> Session:
        try:
            session = Session(self._ground, log=log, history=history, on_close=self._forget)
        except BaseException:
            log.close()
            raise
        self._open[session.id] = (
            session  # before anything is waited for: who asks for it meanwhile gets this one
        )
        try:
            await log.sync()
        except BaseException as error:
            was_closed = session.is_closed
            await session.close()
            if was_closed and isinstance(error, StoreError):
                raise _closed() from None
            raise
        if session.is_closed:
            raise _closed()
        await self._ground.hooks.emit(SessionStart(session_id=session.id, is_resumed=is_resumed))
        return session

    def _forget(self, session: Session) -> None:
        if self._open.get(session.id) is session:
            del self._open[session.id]


def _info(session: Session) -> SessionInfo:
    records = session.transcript
    now = datetime.now(UTC)
    return SessionInfo(
        id=session.id,
        workspace=str(session.workspace),
        title=session.title,
        created_at=records[0].at if records else now,
        updated_at=records[-1].at if records else now,
    )


def _missing() -> HarnessError:
    return HarnessError("There is no such session.", code="session_missing")


def _closed() -> UsageError:
    return UsageError("The session was closed while it was opened.", code="session_closed")
