"""Where the output of commands goes that is too long for a result: files of a session, which its tools may read."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
import threading
from pathlib import Path

__all__ = ["Spills"]


class Spills:
    """A folder of this agent's own, 0700, made at the first need. `close` removes it with all that is in it.

    May be used from any thread.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._is_closed = False
        self._making = threading.Lock()

    def folder_of(self, session_id: str) -> Path | None:
        """The folder of one session; None while it has none."""
        whole = self._folder
        if whole is None:
            return None
        folder = whole / _name_of(session_id)
        return folder if folder.is_dir() else None

    def open_file(self, session_id: str) -> tuple[int, Path]:
        """Makes a file for one output, 0600, and opens it for writing. The caller closes it.

        Raises:
            OSError: There is no room, or the agent is closed.
        """
        with self._making:  # the commands of several sessions ask at once
            if self._is_closed:
                raise FileNotFoundError("closed")
            if self._folder is None:
                self._folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="isp-out-")))
            folder = self._folder / _name_of(session_id)
            folder.mkdir(mode=0o700, exist_ok=True)
            path = folder / f"{secrets.token_hex(6)}.txt"
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), path

    def close(self) -> None:
        """Removes everything. A second call changes nothing."""
        with self._making:
            self._is_closed = True
            folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _name_of(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
