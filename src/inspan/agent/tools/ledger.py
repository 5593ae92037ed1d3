"""What each session has seen of files, so that no change goes over somebody else's."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from pathlib import Path

__all__ = ["FileLedger", "fingerprint"]

_SESSIONS = 256
_FILES = 4096


def fingerprint(data: bytes) -> bytes:
    """Stands for a file's content."""
    return hashlib.sha256(data).digest()


class FileLedger:
    """Remembers the content of each file as each session last read or wrote it, and lets one change happen at a time.

    It is kept in memory, for the last 256 sessions and 4,096 files each: what is forgotten has to be read again.
    May be used from any thread.
    """

    def __init__(self) -> None:
        self.changing = threading.Lock()
        """Held from the reading of a file to its replacement."""
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, OrderedDict[Path, bytes]] = OrderedDict()

    def note(self, session_id: str, path: Path, content: bytes) -> None:
        """Keeps that the session knows this content (a `fingerprint`) of this file."""
        with self._lock:
            files = self._seen.setdefault(session_id, OrderedDict())
            self._seen.move_to_end(session_id)
            files[path] = content
            files.move_to_end(path)
            while len(files) > _FILES:
                files.popitem(last=False)
            while len(self._seen) > _SESSIONS:
                self._seen.popitem(last=False)

    def known(self, session_id: str, path: Path) -> bytes | None:
        """The fingerprint of what the session last saw of the file; None if it never did."""
        with self._lock:
            files = self._seen.get(session_id)
            return files.get(path) if files else None
