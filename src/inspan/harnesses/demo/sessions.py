"""What the scripted agent keeps: conversations that outlive its process, and a count of every prompt."""

from __future__ import annotations

import json
import os
import re
import threading
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["Session", "SessionStore", "state_folder"]

_ID = re.compile(r"demo-[0-9a-f]{32}")


def state_folder() -> Path:
    """Where the agent keeps its state: INSPAN_DEMO_STATE, else below the XDG state folder."""
    if named := os.environ.get("INSPAN_DEMO_STATE"):
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "inspan-demo"


class Session:
    """One conversation.

    Its file has one JSON value a line: first a head, then every update in the order in which it was told.
    """

    def __init__(self, file: Path, head: dict[str, Any], history: list[dict[str, Any]]) -> None:
        self.id: str = head["id"]
        self.cwd: str = head["cwd"]
        self.title: str = head.get("title", "")
        self.mode = "default"
        self.always_allowed = False
        self.history = history
        self.turn: Turn | None = None
        self._file = file
        self._lock = threading.Lock()

    def add(self, update: dict[str, Any]) -> None:
        """Keeps one update."""
        line = json.dumps(update) + "\n"
        with self._lock:
            self.history.append(update)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(line)

    @property
    def updated_at(self) -> str:
        """When it last changed, as ISO 8601."""
        return datetime.fromtimestamp(self._file.stat().st_mtime, UTC).isoformat()


class Turn:
    """A turn that runs: it can be cancelled, and it waits for answers of the client."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()


class SessionStore:
    """All conversations below one folder; two agents may share it."""

    def __init__(self, folder: Path) -> None:
        self._sessions_folder = folder / "sessions"
        self._prompts_file = folder / "prompts.jsonl"
        self._open: dict[str, Session] = {}
        self._sessions_folder.mkdir(parents=True, exist_ok=True)

    def new(self, cwd: str) -> Session:
        """A new conversation."""
        head = {"id": f"demo-{uuid.uuid4().hex}", "cwd": cwd}
        file = self._file_of(head["id"])
        file.write_text(json.dumps(head) + "\n", encoding="utf-8")
        session = Session(file, head, [])
        self._open[session.id] = session
        return session

    def find(self, session_id: str) -> Session | None:
        """A conversation that is open here."""
        return self._open.get(session_id)

    def reopen(self, session_id: str) -> Session | None:
        """A conversation from its file, open from now on; `None` where there is none."""
        if (known := self._open.get(session_id)) is not None:
            return known
        session = self._read(session_id)
        if session is not None:
            self._open[session.id] = session
        return session

    def close(self, session_id: str) -> None:
        """Forgets a conversation; its file stays."""
        self._open.pop(session_id, None)

    def list(self, cwd: str | None) -> list[Session]:
        """All conversations, of one folder if it is named; the newest first."""
        ids = [path.stem for path in self._sessions_folder.glob("demo-*.jsonl")]
        found = [session for id_ in ids if (session := self._open.get(id_) or self._read(id_))]
        wanted = [session for session in found if cwd in (None, session.cwd)]
        return sorted(wanted, key=lambda session: session.updated_at, reverse=True)

    def count(self, session_id: str, text: str) -> None:
        """Notes that a prompt arrived, durably, before anything is answered: tests count these lines."""
        noted = {
            "at": datetime.now(UTC).isoformat(),
            "pid": os.getpid(),
            "session": session_id,
            "text": text,
        }
        line = (json.dumps(noted) + "\n").encode()
        # One write to a file opened for appending: two agents never mix their lines.
        handle = os.open(self._prompts_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, line)
            os.fsync(handle)
        finally:
            os.close(handle)

    def _file_of(self, session_id: str) -> Path:
        return self._sessions_folder / f"{session_id}.jsonl"

    def _read(self, session_id: str) -> Session | None:
        file = self._file_of(session_id)
        if not _ID.fullmatch(session_id) or not file.is_file():
            return None
        values: list[dict[str, Any]] = []
        raw = file.read_bytes()
        for line in raw.splitlines(keepends=True):
            if line.endswith(b"\n"):
                values.append(json.loads(line))
        if not raw.endswith(b"\n"):
            # The agent was killed in mid-write; what is whole counts, and a new line must not join the half.
            os.truncate(file, raw.rfind(b"\n") + 1)
        return Session(file, values[0], values[1:]) if values else None
